"""What computes a value for an argument writes it there, unless somebody still wants what stands there."""

from __future__ import annotations

import dataclasses

import torch
from torch_spyre.inductor.direct_stores import with_direct_stores
from torch_spyre.inductor.kernel_spec import OpSpec, TensorArg

from .compare import assert_same_bits
from .test_common_operations import OUT, OWN, A, B, X, Y, at, op
from .test_ops import numbers


def copy(output: int, source: int) -> OpSpec:
    return dataclasses.replace(op(output, source), op="cast")


def test_a_copied_result_is_written_where_it_belongs() -> None:
    assert with_direct_stores([op(A, X, 2.0), copy(OUT, A)], OWN) == [op(OUT, X, 2.0)]


def test_readers_of_the_temporary_read_the_argument() -> None:
    assert with_direct_stores([op(A, X, 2.0), op(B, A, 3.0), op(Y, B, A), copy(X, A)], OWN) == [
        op(X, X, 2.0),
        op(B, X, 3.0),
        op(Y, B, X),
    ]


def test_copies_of_copies_and_a_second_copy() -> None:
    assert with_direct_stores([op(A, X, 2.0), copy(B, A), copy(OUT, B), copy(Y, A)], OWN) == [
        op(OUT, X, 2.0),
        copy(Y, OUT),
    ]


def converted(output: int, source: int, result: str) -> OpSpec:
    return dataclasses.replace(copy(output, source), result=result, output=at_type(output, result))


def at_type(buffer: int, dtype: str) -> TensorArg:
    return dataclasses.replace(at(buffer), dtype=dtype)


def test_what_is_converted_is_computed_as_that() -> None:
    half = dataclasses.replace(op(OUT, X, 2.0), result="float16", output=at_type(OUT, "float16"))
    assert with_direct_stores([op(A, X, 2.0), converted(OUT, A, "float16")], OWN) == [half]


def test_conversions_that_stay() -> None:
    half = dataclasses.replace(op(A, X, 2.0), compute="float16", result="float16", output=at_type(A, "float16"))
    wider = dataclasses.replace(
        converted(OUT, A, "float32"), compute="float16", args=(at_type(A, "float16"),), output=at(OUT)
    )
    for kept in (
        [op(A, X, 2.0), op(Y, A, 3.0), converted(OUT, A, "float16")],  # somebody reads the wider one
        [op(A, X, 2.0), converted(OUT, A, "int32")],  # no float
        [half, wider],  # what was rounded stays so
    ):
        assert with_direct_stores(kept, OWN) == kept


def test_a_mean_rounds_once(stats) -> None:
    assert_same_bits(lambda x: x.mean(-1) * 2, numbers(4, 8))
    assert_same_bits(lambda x: (x.double() / 3).half() * 2, numbers(4, 8))
    compiled, x = torch.compile(lambda x: x.mean(-1)), numbers(4, 8).to("spyre")
    compiled(x).cpu()
    torch.spyre.reset_stats()
    compiled(x).cpu()
    assert stats()["dispatches"] == 2  # sum, division


def test_other_copies_stay() -> None:
    elsewhere = TensorArg(X, "float32", 1, (1,))
    shifted = dataclasses.replace(op(A, X, 2.0), args=(elsewhere, at(X)))
    narrow = dataclasses.replace(copy(OUT, A), output=TensorArg(OUT, "float16", 0, (1,)))
    part = dataclasses.replace(copy(OUT, A), iteration_space=(4,))
    faults = dataclasses.replace(op(A, X, 2.0), may_fault=True)
    for kept in (
        [op(A, X, 2.0), op(Y, X, 3.0), copy(X, A)],  # somebody reads what stood there
        [op(A, X, 2.0), op(X, Y, 3.0), copy(X, A)],  # or writes
        [op(A, X, 2.0), op(A, A, 3.0), copy(OUT, A)],  # two steps make the value
        [shifted, copy(X, A)],  # an element is read after it would be written
        [op(A, X, 2.0), narrow],  # a conversion
        [op(A, X, 2.0), part],  # not all of it
        [op(A, X, 2.0), op(Y, A, 2.0), dataclasses.replace(op(B, A), args=(at(A, 1),)), copy(OUT, A)],
        [faults, copy(OUT, A)],  # what a fault leaves undone is the temporary
        [copy(Y, X)],  # of an argument
    ):
        assert with_direct_stores(kept, OWN) == kept


def test_elements_that_lie_otherwise_are_read_point_by_point_alone() -> None:
    dense, rows = TensorArg(A, "float32", 0, (8, 1)), TensorArg(X, "float32", 0, (16, 1))
    makes = dataclasses.replace(op(A, Y, 2.0), output=dense, iteration_space=(4, 8))
    moves = dataclasses.replace(copy(X, A), args=(dense,), output=rows, iteration_space=(4, 8))
    reads = dataclasses.replace(op(B, A, 3.0), args=(dense, *op(B, A, 3.0).args[1:]), iteration_space=(4, 8))
    assert len(with_direct_stores([makes, reads, moves], OWN)) == 2
    windows = dataclasses.replace(reads, iteration_space=(2, 16))
    assert with_direct_stores([makes, windows, moves], OWN) == [makes, windows, moves]


def test_windows_over_a_value_that_goes_into_a_view() -> None:
    def update(base: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = base[:, :8]
        a = x * 2
        b = a.as_strided((2, 16), (8, 1)) + 1
        x.copy_(a)
        return b, base

    assert_same_bits(update, numbers(4, 16))


def test_states_are_updated_in_place(stats) -> None:
    def update(x: torch.Tensor, moment: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, ...]:
        moment.lerp_(gradient, 0.25)
        x.sub_(moment * 0.5)
        return x * 2, x, moment

    assert_same_bits(update, numbers(4, 8), numbers(4, 8), numbers(4, 8))
    compiled, tensors = torch.compile(update), [numbers(4, 8).to("spyre") for _ in range(3)]
    compiled(*tensors)[0].cpu()
    torch.spyre.reset_stats()
    compiled(*tensors)[0].cpu()
    assert stats()["dispatches"] == 4  # lerp; mul, sub; mul
