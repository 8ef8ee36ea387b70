"""What a kernel does twice is done once, unless something it reads has changed, or what it left is overwritten."""

from __future__ import annotations

import torch
from torch_spyre.inductor.common_operations import without_repetitions
from torch_spyre.inductor.kernel_spec import ConstantArg, OpSpec, TensorArg

from .compare import assert_same_bits
from .test_ops import numbers

X, Y, OUT, A, B, C = range(6)  # arguments, then temporaries
OWN = (A, B, C)


def at(buffer: int, offset: int = 0) -> TensorArg:
    return TensorArg(buffer, "float32", offset, (1,))


def op(output: int, *inputs: int | float, offset: int = 0) -> OpSpec:
    args = tuple(at(value) if isinstance(value, int) else ConstantArg(value) for value in inputs)
    return OpSpec("mul", "float32", "float32", (8,), args, at(output, offset))


def test_who_reads_the_second_result_reads_the_first() -> None:
    assert without_repetitions([op(A, X, 2.0), op(B, X, 2.0), op(C, A, 1.0), op(OUT, B, 1.0)], OWN) == [
        op(A, X, 2.0),
        op(C, A, 1.0),
        op(OUT, A, 1.0),
    ]


def test_the_two_zeros_are_two_numbers() -> None:
    two = [op(A, X, 0.0), op(B, X, -0.0), op(OUT, A, 1.0), op(Y, B, 1.0)]
    assert list(map(repr, without_repetitions(two, OWN))) == list(map(repr, two))


def test_results_of_equal_operations_make_operations_equal() -> None:
    assert without_repetitions([op(A, X, 2.0), op(B, X, 2.0), op(C, A, A), op(OUT, B, B)], OWN)[1:] == [
        op(C, A, A),
        op(OUT, A, A),
    ]


def test_what_is_written_into_an_argument_serves_temporaries() -> None:
    assert without_repetitions([op(OUT, X, 2.0), op(A, X, 2.0), op(Y, A, 3.0)], OWN) == [
        op(OUT, X, 2.0),
        op(Y, OUT, 3.0),
    ]


def test_other_operations_stay() -> None:
    for kept in (
        [op(A, X, 2.0), op(B, X, 3.0)],  # another number
        [op(A, X, 2.0), op(B, X, 2.0, offset=1)],  # elsewhere
        [op(OUT, X, 2.0), op(Y, X, 2.0)],  # both are seen outside
        [op(A, X, 2.0), op(X, A, 1.0), op(B, X, 2.0)],  # what it reads has changed
        [op(OUT, X, 2.0), op(A, X, 2.0), op(OUT, A, 1.0)],  # what it left is overwritten
        [op(A, X, 2.0), op(B, X, 2.0), op(B, A, 1.0)],  # the second result is
    ):
        assert without_repetitions(kept, OWN) == kept


def test_a_mean_divides_once(stats) -> None:
    def norm(x: torch.Tensor) -> torch.Tensor:
        centred = x - x.mean(-1, keepdim=True)
        return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)

    for dtype in (torch.float32, torch.bfloat16):
        assert_same_bits(norm, numbers(4, 6, 8, dtype=dtype))
    compiled, x = torch.compile(norm), numbers(4, 6, 8).to("spyre")
    compiled(x).cpu()
    torch.spyre.reset_stats()
    compiled(x).cpu()
    assert stats()["duplicate_ops"] == 0
