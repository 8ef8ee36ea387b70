"""Numbers that follow from numbers of the host: computed once a call, with the bits of the card, and not recorded."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch_spyre.inductor.host_operations import with_host_operations
from torch_spyre.inductor.kernel_spec import Arg, ConstantArg, HostArg, HostOp, OpSpec, TensorArg

from .compare import compare_with_cpu
from .test_kernel_text import Texts, ones, texts  # noqa: F401 — a fixture
from .test_ops import numbers

X, COUNT, OUT, A, B, C = range(6)  # arguments, then temporaries
OWN = (A, B, C)


def at(buffer: int, dtype: str = "float32") -> TensorArg:
    return TensorArg(buffer, dtype, 0, (1,))


def op(name: str, output: int, *args: Arg, dtype: str = "float32") -> OpSpec:
    return OpSpec(name, dtype, dtype, (8,), args, at(output, dtype))


POWER = op("pow", A, ConstantArg(0.5), HostArg(COUNT))
NUMBER = HostOp("pow", "float32", "float32", (ConstantArg(0.5), HostArg(COUNT)))


def test_who_reads_a_number_takes_it_as_one() -> None:
    assert with_host_operations([POWER, op("mul", OUT, at(X), at(A))], OWN) == [op("mul", OUT, at(X), NUMBER)]


def test_numbers_of_numbers_are_numbers() -> None:
    steps = [POWER, op("sqrt", B, at(A)), op("sub", OUT, at(X), at(B))]
    (left,) = with_host_operations(steps, OWN)
    assert left.args == (at(X), HostOp("sqrt", "float32", "float32", (NUMBER,)))


@pytest.mark.parametrize(
    "reader",
    [
        OpSpec("reduce.sum", "float32", "float32", (8,), (at(A),), at(OUT), reduced=(0,)),
        OpSpec("add", "int32", "int32", (8,), (at(X, "int32"), at(A, "int32")), at(OUT, "int32")),
    ],
    ids=["a reduction", "the same bits as another type"],
)
def test_what_is_read_in_memory_is_computed_there(reader: OpSpec) -> None:
    both = [POWER, op("mul", C, at(X), at(A)), reader]
    assert with_host_operations(both, OWN) == both


@pytest.mark.parametrize(
    "step",
    [
        op("pow", OUT, ConstantArg(0.5), HostArg(COUNT)),
        op("pow", A, ConstantArg(0.5), ConstantArg(2.0)),
        op("pow", A, ConstantArg(0.5), HostArg(COUNT), dtype="float16"),
    ],
    ids=["a result", "the same at every call", "a type that numbers do not have"],
)
def test_what_stays_an_operation(step: OpSpec) -> None:
    both = [step, op("mul", OUT, at(X), at(A))]
    assert with_host_operations(both, OWN) == both


TEXT = """\
kernel spyre_fused_mul_pow_rsub_0(arg1_1, arg0_1, buf0)
  buf0[1] = mul.float32(arg1_1[1], sub.float32(1.0, pow.float32(0.5, arg0_1.item()))) over [3]
"""


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_the_text_of_a_kernel(texts: Texts) -> None:  # noqa: F811
    assert texts(lambda step, x: x * (1 - 0.5**step), torch.tensor(2.0), ones(3)) == TEXT


PROGRAMS: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
    "corrections": lambda n, x: (x / (1 - 0.9**n).sqrt(), x * (1 - 0.999**n).reciprocal().neg(), x + n.exp().log1p()),
    "choices": lambda n, x: x * torch.where(n > 2, n.sin(), -n) + (n.long() % 3) * x + (n == 2) * x,
    "number first": lambda n, x: n * x + (n % 3) * x + torch.where(n > 2, x, -x),
    "wide": lambda n, x: (x.double() * (n.double() / 3).tan()).float(),
    "halves": lambda n, x: x.half() * (n.half() / 3) + (n / 7).half(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_follow_the_numbers(name: str) -> None:
    compiled = torch.compile(PROGRAMS[name])
    for count in (1.0, 2.0, 2.0, 7.5, float("inf")):
        n, x = torch.tensor(count), numbers(4, 8)
        found, expected = compiled(n, x.to("spyre")), PROGRAMS[name](n, x)
        torch.testing.assert_close(found, expected, check_device=False, equal_nan=True, rtol=1e-3, atol=1e-3)


def test_the_bits_of_the_card() -> None:
    def program(n: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return x * (1 - 0.999**n).sqrt().reciprocal().sin()

    compiled, x = torch.compile(program), numbers(4, 8).to("spyre")
    for count in (1.0, 3.0, 1000.0):
        on_card = torch.tensor([count], device="spyre")
        assert torch.equal(compiled(torch.tensor(count), x).cpu(), program(on_card, x).cpu())


def test_numbers_that_sizes_give() -> None:
    for size in (3, 4, 9):
        compare_with_cpu(lambda x: x * torch.tensor(x.shape[0] + 0.5), numbers(size, 4), dynamic=True)


def test_an_optimizer_records_no_numbers(stats) -> None:
    """As eager code, whose numbers are Python's."""

    def operations(compiled: bool) -> int:
        parameter = torch.nn.Parameter(torch.ones(4, 4, device="spyre"))
        parameter.grad = torch.ones(4, 4, device="spyre")
        step = torch.optim.Adam([parameter], foreach=False).step
        if compiled:
            step = torch.compile(step)
        for _ in range(3):
            step()
        torch.spyre.synchronize()
        torch.spyre.reset_stats()
        step()
        torch.spyre.synchronize()
        return stats()["ops_planned"]

    assert operations(compiled=True) <= operations(compiled=False)
