"""The second call of a kind takes a shorter way than the first: it must mean the same."""

from __future__ import annotations

import pytest
import torch

AGAIN = 3


def on(device: str, tensors):
    return [t.to(device) if isinstance(t, torch.Tensor) else t for t in tensors]


def same(function, *arguments):
    """`function` gives the same on both devices each time."""
    for _ in range(AGAIN):
        results = [function(*on(device, arguments)) for device in ("cpu", "spyre")]
        for expected, found in zip(*(r if isinstance(r, tuple) else (r,) for r in results), strict=True):
            assert found.dtype == expected.dtype
            assert found.stride() == expected.stride()
            torch.testing.assert_close(found.cpu(), expected, equal_nan=True)


def numbers(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = torch.Size(sizes).numel()
    return torch.arange(1, count + 1).reshape(sizes).to(dtype)


CALLS = {
    "same shape": (torch.add, numbers(3, 4), numbers(3, 4)),
    "broadcast": (torch.mul, numbers(3, 1), numbers(4)),
    "transposed": (torch.sub, numbers(3, 4).t(), numbers(3, 4).t()),
    "mixed order": (torch.sub, numbers(4, 3).t(), numbers(3, 4)),
    "channels last": (torch.relu, numbers(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)),
    "integer and float": (torch.add, numbers(3, dtype=torch.int64), numbers(3)),
    "zero dimensions": (torch.add, torch.tensor(2.0), numbers(3, dtype=torch.float16)),
    "number": (torch.mul, numbers(3, dtype=torch.int32), 2.5),
    "whole number": (torch.mul, numbers(3, dtype=torch.int32), 2),
    "bool number": (torch.add, numbers(3), True),
    "compare": (torch.lt, numbers(3), 2.0),
    "divide integers": (torch.div, numbers(3, dtype=torch.int64), 4),
    "bfloat16 number": (torch.mul, numbers(3, dtype=torch.bfloat16), 0.1),
    "expanded": (torch.add, numbers(1, 4).expand(3, 4), numbers(3, 1).expand(3, 4)),
    "where": (torch.where, numbers(4) > 2, numbers(4), -numbers(4)),
    "addcmul": (torch.addcmul, numbers(4), numbers(4), numbers(4)),
    "power of a number": (lambda x: 2.0**x, numbers(3, 4).t()),
    "bounds": (lambda x: (x.clamp(2), x.clamp(max=5), x.clamp(2, 5)), numbers(8)),
    "text": (lambda x: tuple(torch.nn.functional.gelu(x, approximate=a) for a in ("none", "tanh")), numbers(8)),
    "rounding": (
        lambda x: tuple(torch.div(x, 4, rounding_mode=m) for m in (None, "trunc", "floor")),
        -numbers(8),
    ),
    "powers": (lambda x: tuple(x**n for n in (2, 3, 0.5, -1, 1.7, 2, -2)), numbers(8)),
    "factors": (lambda x: tuple(torch.add(x, x, alpha=n) for n in (1, 2, 1, 0.5)), numbers(8)),
    "numbers to replace": (lambda x: (x.nan_to_num(), x.nan_to_num(1.0), x.nan_to_num(1.0, 2.0)), numbers(8).log() / 0),
    "empty": (torch.add, numbers(0), numbers(0)),
    "six dimensions": (torch.neg, numbers(1, 2, 1, 2, 1, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_repeated(name):
    function, *arguments = CALLS[name]
    same(function, *arguments)


def test_numbers_and_offsets_are_those_of_the_call():
    x = torch.arange(10.0, device="spyre")
    for begin in (0, 3, 5, 0):
        for factor in (2, 3):
            assert (x[begin : begin + 2] * factor).tolist() == [begin * factor, (begin + 1) * factor]
    assert torch.add(x[:2], x[2:4], alpha=2).tolist() == [4, 7]
    assert torch.add(x[:2], x[2:4], alpha=-1).tolist() == [-2, -2]


def test_the_default_type_is_that_of_the_call():
    x = torch.arange(3, device="spyre")
    assert (x * 0.5).dtype == torch.float32
    assert (x * 0.5).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert (x * 0.5).dtype == torch.float64
        assert torch.sqrt(x).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.sqrt(x).dtype == torch.float32


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_in_place_forms_judge_overlap_each_time(device):
    x = torch.arange(8.0, device=device)
    for _ in range(AGAIN):
        x[:4].add_(x[4:])
        x.mul_(x)
        x[2:6].sub_(x[2:6])
        with pytest.raises(RuntimeError, match="single"):
            x[:4].add_(x[1:5])
    assert x[2:6].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_out_forms(device):
    a, b = torch.arange(4.0, device=device), torch.ones(4, device=device)
    out = torch.empty(4, device=device)
    for n in range(AGAIN):
        assert torch.add(a, b, alpha=n, out=out) is out
        assert out.tolist() == [i * 2**n + n for i in range(4)]
        torch.mul(a, 2, out=a)
    assert a.tolist() == [0, 8, 16, 24]
    for _ in range(2):
        small = torch.empty(0, device=device)
        torch.add(a, b, out=small)
        assert small.shape == (4,)


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_an_output_that_shares_memory_is_judged_each_time(device):
    x, apart = torch.arange(8.0, device=device), torch.empty(4, device=device)
    for _ in range(AGAIN):
        torch.add(x[:4], 1, out=apart)
        assert apart.tolist() == [1, 2, 3, 4]
        with pytest.raises(RuntimeError, match="single"):
            torch.add(x[:4], 1, out=x[1:5])
    every_second = x[::2]
    for _ in range(AGAIN):
        torch.neg(every_second, out=apart)
        torch.neg(every_second, out=x[:4])
        assert x[:4].tolist() == apart.tolist()


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_tensors_that_overlap_themselves_are_judged_each_time(device):
    plain, repeated = torch.zeros(3, 4, device=device), torch.zeros(1, 4, device=device).expand(3, 4)
    for _ in range(AGAIN):
        plain.add_(1)
        with pytest.raises(RuntimeError, match="more than one element"):
            repeated.add_(1)
        with pytest.raises(RuntimeError, match="more than one element"):
            torch.add(plain, 1, out=repeated)
    assert plain[2, 3].item() == AGAIN


def test_errors_are_raised_each_time():
    x, y = torch.ones(3, device="spyre"), torch.ones(4, device="spyre")
    whole = torch.ones(3, dtype=torch.int64, device="spyre")
    for _ in range(AGAIN):
        with pytest.raises(RuntimeError, match="must match the size"):
            x + y
        with pytest.raises(RuntimeError, match="can't be cast"):
            whole.add_(x)
        with pytest.raises(RuntimeError, match="alpha"):
            torch.add(whole, whole, alpha=1.5)
        with pytest.raises(RuntimeError, match=r"(?i)negative"):
            whole.pow(-1)
        assert whole.pow(2).tolist() == [1, 1, 1]


# What CPU takes and what it refuses by the number alone: the second call of a kind has the first one's key.
REFUSED = {
    "divisor": (torch.int32, lambda x, n: x // n, 2, 0),
    "divisor in place": (torch.int32, lambda x, n: x.clone().floor_divide_(n), 2, 0),
    "divisor that wraps": (torch.int8, torch.remainder, 3, 256),
    "divisor without dimensions": (torch.int32, lambda x, n: torch.fmod(x, torch.tensor(n)), 2, 0),
    "factor": (torch.int8, lambda x, n: torch.add(x, x, alpha=n), 2, 1000),
    "factor in place": (torch.int8, lambda x, n: x.clone().sub_(x, alpha=n), 2, 1000),
    "factor of halves": (torch.float16, lambda x, n: torch.add(x, x, alpha=n), 2.0, 1e6),
    "value": (torch.uint8, lambda x, n: torch.masked_fill(x, x > 1, n), 2, 256),
    "bound": (torch.uint8, lambda x, n: torch.clamp(x, n, 200), 2, 300),
    "threshold": (torch.int8, lambda x, n: torch.nn.functional.threshold(x, 1, n), 3, 300),
    "exponent": (torch.int32, lambda x, n: x**n, 2, -1),
    "unsigned bound": (torch.uint8, lambda x, n: torch.nn.functional.hardtanh(x, n, 200), 2, -1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_numbers_are_judged_each_time(name):
    dtype, function, good, bad = REFUSED[name]
    x = torch.tensor([1, 2, 3], dtype=dtype)
    with pytest.raises((RuntimeError, TypeError, ValueError)) as expected:
        function(x, bad)
    for _ in range(AGAIN):
        assert function(x.to("spyre"), good).tolist() == function(x, good).tolist()
        with pytest.raises(expected.type) as found:
            function(x.to("spyre"), bad)
        assert str(found.value).splitlines()[0] == str(expected.value).splitlines()[0]


def test_a_division_may_fault_each_time():
    x, two, zero = (torch.full((3,), n, dtype=torch.int32, device="spyre") for n in (5, 2, 0))
    for _ in range(AGAIN):
        assert torch.div(x, two, rounding_mode="trunc").tolist() == [2, 2, 2]
        before = x + 1
        torch.div(before, zero, rounding_mode="trunc")  # nobody reads it
        with pytest.raises(RuntimeError, match="test_repeated_calls"):
            torch.spyre.synchronize()
        assert before.tolist() == [6, 6, 6]


def test_what_repeats_is_ruled_once(stats):
    """Or the tests above would not take the shorter way at all."""
    x, y = torch.arange(1, 9, device="spyre"), torch.arange(8.0, device="spyre")
    calls = [
        lambda n: x // n,
        lambda n: torch.div(x, x * n, rounding_mode="trunc"),
        lambda n: torch.add(x, x, alpha=n),
        lambda n: x**n,
        lambda n: y.clamp(max=n),
        lambda n: torch.nn.functional.gelu(y + n),
        y.add_,
        lambda n: torch.add(y, n, out=y),
    ]
    for call in calls:
        call(4)
        before = stats()["rulings_made"]
        for n in (5, 6, 7):
            call(n)
        assert stats()["rulings_made"] == before


def test_autograd_and_inference_mode():
    x = torch.ones(3, device="spyre", requires_grad=True)
    for _ in range(AGAIN):
        x.grad = None
        (x * 2 + x).sum().backward()
        assert x.grad.tolist() == [3, 3, 3]
        with torch.inference_mode():
            assert (x * 2).is_inference()
        with torch.no_grad():
            assert not (x * 2).requires_grad


def test_results_do_not_share_memory():
    x = torch.zeros(4, device="spyre")
    results = [x + n for n in range(6)]
    results[2].add_(100)
    assert [r[0].item() for r in results] == [0, 1, 102, 3, 4, 5]
    assert len({r.data_ptr() for r in results}) == 6
