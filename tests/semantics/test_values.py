"""Numbers at the edges: NaN, infinities, signed zeros, denormals, overflow, division by zero, types that meet."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.utils._pytree import tree_map_only

from ..ops.compare import assert_same as assert_same_bits
from .same import assert_same, numbers, outcome, same

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 0.5, -2.5, 1e-3, 1e30]


def special(dtype: torch.dtype, device: str, extreme: bool = True) -> torch.Tensor:
    info = torch.finfo(dtype)
    values = [*SPECIAL, info.eps]
    if extreme:
        values += [info.max, info.min, info.tiny, info.tiny / 4, -info.tiny / 2]
    return torch.tensor(values, dtype=torch.float64).to(dtype).to(device)


BINARY = [
    *(torch.add, torch.sub, torch.mul, torch.div, torch.atan2, torch.pow, torch.copysign, torch.nextafter),
    *(torch.eq, torch.lt, torch.ge, torch.ne, torch.logical_and, torch.floor_divide, torch.xlogy, torch.heaviside),
]
#: CPU divides on the way: of a large number and a small one comes NaN.
DIVIDING = [torch.fmod, torch.remainder]
#: Which zero CPU takes depends on where in the tensor it stands.
CHOOSING = [torch.maximum, torch.minimum, torch.fmax, torch.fmin]
UNARY = [
    *(torch.abs, torch.neg, torch.sign, torch.sqrt, torch.rsqrt, torch.reciprocal, torch.floor, torch.ceil),
    *(torch.trunc, torch.round, torch.frac, torch.exp, torch.expm1, torch.log, torch.log1p, torch.sin, torch.tanh),
    *(torch.sigmoid, torch.erf, torch.isnan, torch.isinf, torch.isfinite, torch.signbit, torch.relu, torch.nan_to_num),
    *(torch.square, torch.asinh, torch.acosh, torch.atanh, torch.cosh, torch.logit, torch.sinc, torch.positive),
]


def signs(t: torch.Tensor) -> torch.Tensor:
    return torch.where(t.isnan(), False, t.signbit()) if t.dtype.is_floating_point else t < 0


MEETINGS = [
    pytest.param(operator, dtype, id=f"{operator.__name__} {dtype}")
    for operator in BINARY
    for dtype in FLOATS
    if (operator, dtype) != (torch.nextafter, torch.float16)  # which CPU has not
]


@pytest.mark.parametrize(("operator", "dtype"), MEETINGS)
def test_special_values_meet(operator, dtype):
    found, expected = (operator(t[:, None], t[None]) for t in (special(dtype, "spyre"), special(dtype, "cpu")))
    assert_same_bits(found, expected, ulp=4)
    assert torch.equal(signs(found.cpu()), signs(expected))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", DIVIDING, ids=lambda f: f.__name__)
def test_special_values_leave_remainders(operator, dtype):
    moderate = [special(dtype, device, extreme=False) for device in ("spyre", "cpu")]
    divisors = [
        torch.tensor([1.0, -2.0, 0.0, math.inf, -math.inf, math.nan], dtype=dtype)[:, None].to(d)
        for d in ("spyre", "cpu")
    ]
    found, expected = (operator(x[x.abs() != 1e30], y) for x, y in zip(moderate, divisors, strict=True))
    assert_same_bits(found, expected)
    assert torch.equal(signs(found.cpu()), signs(expected))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", CHOOSING, ids=lambda f: f.__name__)
def test_the_greater_and_the_lesser_of_special_values(operator, dtype):
    found, expected = (operator(t[:, None], t[None]) for t in (special(dtype, "spyre"), special(dtype, "cpu")))
    assert_same_bits(found, expected)
    zeros = torch.tensor([0.0, -0.0], dtype=dtype, device="spyre")
    assert operator(zeros, zeros.flip(0)).signbit().tolist() == [operator in (torch.minimum, torch.fmin)] * 2


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("operator", UNARY, ids=lambda f: f.__name__)
def test_special_values(operator, dtype):
    extreme = operator is not torch.erf  # CPU's erf of a denormal bfloat16 is zero
    found, expected = (operator(special(dtype, device, extreme)) for device in ("spyre", "cpu"))
    assert_same_bits(found, expected, ulp=4)
    assert torch.equal(signs(found.cpu()), signs(expected))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_special_values_are_reduced(dtype):
    def program(device):
        x = special(dtype, device, extreme=False).repeat(3, 1)
        x[1].nan_to_num_(0, 1, -1)
        x[1].clamp_(-8, 8)
        return (
            *(f(x, 1) for f in (torch.sum, torch.prod, torch.amax, torch.amin, torch.argmax, torch.argmin)),
            *(f(x, 1) for f in (torch.any, torch.all, torch.nansum, torch.logsumexp, torch.cumsum, torch.sort)),
            *(f(x, 1) for f in (torch.max, torch.min, torch.softmax, torch.count_nonzero, torch.cummax)),
            x.median(1),
            x.norm(dim=1),
            x.unique(),
        )

    same(program, rtol=1e-2 if dtype.itemsize == 2 else 1e-5, atol=0)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_wrap(dtype):
    info = torch.iinfo(dtype)
    values = torch.tensor([info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max], dtype=dtype)

    def program(device):
        x = values.to(device)
        a, b = x[:, None], x[None]
        return (
            *(f(a, b) for f in (torch.add, torch.sub, torch.mul, torch.bitwise_xor, torch.maximum)),
            *(f(x) for f in (torch.neg, torch.abs, torch.square, torch.bitwise_not, torch.sign)),
            *(f(a, x[3:6]) for f in (torch.floor_divide, torch.remainder, torch.fmod)),
            *(torch.div(a, x[3:6], rounding_mode=m) for m in ("trunc", "floor", None)),
            x.sum(),
            x.prod(),
            x.cumsum(0),
            x.pow(3),
            a << x[3:5],
            a >> x[3:5],
            x[2:6].float().mean(),
            x + 300 if dtype.itemsize > 1 else x + 100,
        )

    same(program)


@pytest.mark.parametrize("operator", ["floor_divide", "remainder", "fmod"])
def test_integer_division_by_zero(operator):
    same(lambda d: getattr(torch, operator)(torch.ones(3, dtype=torch.int32, device=d), 0).tolist(), raises=True)
    zeros = torch.tensor([1, 0, 2], dtype=torch.int64)
    same(lambda d: getattr(torch, operator)(torch.ones(3, dtype=torch.int64, device=d), zeros.to(d)).cpu(), raises=True)


ALL = [*FLOATS, *INTEGERS, torch.bool, torch.complex64]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", ALL, ids=str)
def test_types_that_meet(first):
    def program(device):
        results = []
        for second in ALL:
            x = torch.ones(2, dtype=first, device=device)
            y = torch.full((2,), 1, dtype=second, device=device)
            for a, b in itertools.product((x, x[0]), (y, y[0])):
                results += [(a + b).dtype, torch.where(x.bool(), a, b).dtype, torch.result_type(a, b)]
            results += [(x * n).dtype for n in (2, 2.5, True, 1j)]
            results += [(x / y).dtype, torch.stack([x.to(first), y.to(first)]).dtype, torch.cat([x, y]).dtype]
        return [str(r) for r in results]

    same(program)


@pytest.mark.parametrize("first", ALL, ids=str)
def test_types_that_do_not_fit_in_place(first):
    for second in ALL:

        def program(device, second=second):
            return torch.ones(2, dtype=first, device=device).add_(torch.ones(2, dtype=second, device=device))

        same(program, raises=not torch.can_cast(second, first))


def test_where_with_numbers():
    def program(device):
        c = torch.tensor([True, False, True], device=device)
        x = torch.arange(3, device=device)
        return (
            torch.where(c, 1.5, x),
            torch.where(c, x, 2),
            torch.where(c, 1, 2),
            torch.where(c, 1.0, 2),
            torch.where(c, x.half(), 2.5),
            torch.where(c, torch.tensor(3.0), x.to(torch.int32)),
            x.masked_fill(c, 7),
            torch.where(c),
        )

    same(program)


def test_a_scalar_of_the_cpu_mixes():
    def program(device):
        x = torch.arange(4, device=device)
        two, half = torch.tensor(2), torch.tensor(0.5, dtype=torch.float64)
        return x * two, two * x, x / half, half - x, x > two, torch.maximum(x, two.to(device)), x.add_(two)

    same(program)


def test_denormals_are_kept_on_every_thread():
    """Flush-to-zero is a register of each thread: elements of every slice have to survive."""
    x = torch.full((1 << 20,), 1e-40, device="spyre")
    assert bool((x * 0.5 > 0).all())
    assert bool((x.exp() - 1 >= 0).all())
    assert int((x.view(1024, 1024).sum(1) > 0).sum()) == 1024
    assert bool(((x.view(1024, 1024) @ torch.eye(1024, device="spyre")) > 0).all())


def test_set_flush_denormal_is_the_host_s_business():
    x = torch.full((8,), 1e-40, device="spyre")
    if not torch.set_flush_denormal(True):
        pytest.skip("this CPU cannot")
    try:
        y = (x * 0.5).view(torch.int32)
    finally:
        torch.set_flush_denormal(False)
    assert bool((y > 0).all())


def test_sorting_is_stable_and_puts_nans_last():
    def program(device):
        x = torch.tensor([1.0, 0.0, -0.0, math.nan, 1.0, 0.0, -1.0, math.nan], device=device)
        y = torch.randint(0, 4, (200,), generator=torch.Generator().manual_seed(0)).to(device)
        return (
            torch.sort(x, stable=True),
            torch.argsort(x, descending=True, stable=True),
            torch.sort(y, stable=True),
            torch.argsort(y, stable=True, descending=True),
            x.topk(3)[0],
            torch.unique(y, return_inverse=True, return_counts=True),
        )

    same(program)


def test_conversions_to_integers():
    def program(device):
        x = torch.tensor([1.9, -1.9, 0.5, 254.7, 100.0, -0.0], device=device)
        return (
            [x.abs().to(t) for t in INTEGERS]
            + [x[[0, 1, 2]].to(t) for t in INTEGERS[1:]]
            + [x.bool(), x.to(torch.half)]
        )

    same(program)


def test_reading_values():
    def program(device):
        x = numbers(3, device=device)
        i = torch.tensor([5], device=device)
        return (
            float(x[0]), int(i), bool(i), i.item(), x.tolist(), f"{x[1]:.3f}", [1, 2, 3, 4, 5, 6][i],
            x[i.sub(3)].item(),
            hash(x) == hash(x), x[0] in x, len(x), 2.0 in torch.full((2,), 2.0, device=device), list(range(i)), abs(-x),
            torch.equal(x, x.clone()), torch.allclose(x, x + 1e-9), math.floor(i), round(float(x[0]), 2),
        )  # fmt: skip

    same(program)


def test_truth_of_many_elements():
    same(lambda d: bool(torch.ones(2, device=d)), raises=True)
    same(lambda d: torch.ones(2, device=d).item(), raises=True)
    same(lambda d: int(torch.tensor(math.inf, device=d)), raises=True)


FOREIGN = [torch.uint16, torch.uint32, torch.uint64, torch.complex64, torch.complex32, torch.float8_e4m3fn]
CALLS = [
    *(torch.special.entr, torch.special.ndtr, torch.exp, torch.sum, torch.mean, torch.softmax, torch.amax, torch.any),
    *(torch.add, torch.mul, torch.eq, torch.special.xlog1py, torch.xlogy, torch.maximum, torch.pow, torch.atan2),
    *(torch.where, torch.lerp, torch.addcmul, torch.clamp, torch.masked_fill, torch.cumsum, torch.matmul, torch.cat),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", FOREIGN, ids=str)
@pytest.mark.parametrize("call", CALLS, ids=lambda f: f.__name__)
def test_types_that_the_device_has_no_form_of(call, dtype):
    """They meet those that it has, or are refused as on CPU."""
    foreign = torch.tensor([1, 2, 3, 0]).to(dtype)
    for arguments in ARGUMENTS[call](foreign, torch.tensor([0.5, 2.0, 1.0, 3.0])):

        def program(device, arguments=arguments):
            return call(*tree_map_only(torch.Tensor, lambda t: t.to(device), arguments))

        assert_same(outcome(program, "spyre"), outcome(program, "cpu"))


def ways_to_mix(f: torch.Tensor, x: torch.Tensor) -> dict:
    """Arguments of each number of tensors."""
    mask = x > 1
    return {
        1: [(f,)],
        2: [(f, f), (f, x), (x, f), (f[0], x), (x, f[0]), (f, 2)],
        3: [(f, f, f), (f, x, x), (x, f, x), (x, x, f), (x, f, f)],
        "where": [(mask, f, x), (mask, x, f), (f, x, x)],
        "dim": [(f, 0)],
        "fill": [(f, mask, 2), (x, f, 2.0)],
        "list": [([f, x],), ([x, f],), ([f, f],)],
    }


KINDS = [*[1] * 5, "dim", 1, 1, *[2] * 8, "where", 3, 3, 3, "fill", "dim", 2, "list"]
ARGUMENTS = {call: (lambda f, x, kind=kind: ways_to_mix(f, x)[kind]) for call, kind in zip(CALLS, KINDS, strict=True)}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_products_without_elements(dtype):
    def program(device):
        x = torch.ones(0, 3, dtype=dtype, device=device)
        return x @ x.mT, x.mT @ x, torch.ones(2, 3, dtype=dtype, device=device) @ x.mT

    same(program)
