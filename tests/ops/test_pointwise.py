"""Every pointwise op of the table against CPU: types, layouts, in-place, out=, promotion, gradients, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
from torch_spyre.testing import to_device

from .compare import ALL_TYPES, FLOATS, compare_gradients, compare_with_cpu, layouts, same_error, sample

NAMES = {str(t).removeprefix("torch."): t for t in ALL_TYPES}

# Where a function is defined, or where CPU's own result is accurate.
DOMAINS = {
    "log": (0.1, 8), "log2": (0.1, 8), "log10": (0.1, 8), "log1p": (-0.9, 8), "sqrt": (0, 9), "rsqrt": (0.1, 9),
    "acos": (-1, 1), "asin": (-1, 1), "atanh": (-0.95, 0.95), "acosh": (1, 9), "logit": (0.05, 0.95),
    "xlogy": (0.1, 8), "pow": (0.1, 4), "lgamma": (0.6, 8), "special_entr": (0.1, 8), "special_xlog1py": (0.1, 8),
}  # fmt: skip
# CPU's own result is not the nearest: square roots come from a vector library, constants are float32 ones.
INEXACT_ON_CPU = {"sqrt": 1, "rsqrt": 2, "hardsigmoid_backward": 1e9, "hardswish_backward": 1e9}
# CPU's own error on these is larger than the table's bound for ours.
LOOSE = {"lgamma", "logaddexp", "logaddexp2", "sinc", "angle", "mish", "special_entr"}


def overloads() -> dict[str, list[dict]]:
    """Table rows by dispatcher overload."""
    from torch_spyre import _C

    found: dict[str, list[dict]] = {}
    for row in _C.op_table():
        for name in filter(None, row["aten"].split(";")):
            found.setdefault(name, []).append(row)
    return found


OVERLOADS = overloads()


def operator(name: str) -> torch._ops.OpOverload:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def required(name: str) -> list[torch._C.Argument]:
    """The arguments that tests give: those without a default, and both bounds of clamp."""
    bounds = ("min", "max") if name.startswith("clamp") else ()
    return [a for a in operator(name)._schema.arguments if not a.has_default_value() or a.name in bounds]


def caller(name: str, form: str) -> Callable:
    """`form` of the operator, called with the values of required()."""
    keywords = [a.name for a in required(name) if a.kwarg_only]

    def call(*values: object) -> object:
        split = len(values) - len(keywords)
        return operator(form)(*values[:split], **dict(zip(keywords, values[split:], strict=True)))

    return call


def domain(name: str) -> tuple[float, float]:
    return DOMAINS.get(name.partition(".")[0], (-4, 4))


def argument(kind: str, dtype: torch.dtype, bounds: tuple[float, float], seed: int, make: Callable) -> object:
    if kind == "Tensor":
        return make(dtype, *bounds, seed)
    return 2 if not dtype.is_floating_point else 1.5


def arguments(name: str, dtype: torch.dtype, make: Callable) -> list[object]:
    low, high = domain(name)
    values = []
    for i, a in enumerate(required(name)):
        if a.name in ("condition", "mask"):
            values.append(make(torch.bool, low, high, i))
        elif name == "masked_fill.Tensor" and a.name == "value":
            values.append(make(dtype, low, high, i).sum().to(dtype))
        elif a.name in ("min", "max"):
            bound = -1 if a.name == "min" else 2
            tensor = "Tensor" in str(a.type)
            values.append(make(dtype, low, high, i) if tensor else bound)
        elif str(a.type) == "Optional[str]":
            values.append("floor")
        elif not dtype.is_floating_point and i > 0 and str(a.type) == "Tensor":
            values.append(make(dtype, 1, 4, i))  # divisors, shifts and exponents
        else:
            values.append(argument(str(a.type), dtype, (low, high), i, make))
    return values


def tolerance(name: str, dtype: torch.dtype) -> dict:
    strides = name != "pow.Scalar"  # CPU makes this one contiguous
    return {"strides": strides, **error_bound(name, dtype)}


def error_bound(name: str, dtype: torch.dtype) -> dict:
    rows = OVERLOADS[name]
    if dtype in (torch.float16, torch.bfloat16):
        eps = torch.finfo(dtype).eps
        exact = all(r["max_ulp"] <= 0.5 and not r["transcendental"] for r in rows)
        return {"ulp": 0} if exact else {"rtol": 2 * eps, "atol": 2 * eps}
    if any(r["cancels"] for r in rows) or name.partition(".")[0] in LOOSE:
        scale = torch.finfo(dtype).eps if dtype.is_floating_point else 1e-6
        return {"rtol": 64 * scale, "atol": 64 * scale}
    if name in INEXACT_ON_CPU:
        return {"ulp": INEXACT_ON_CPU[name]}
    bound = max(r["max_ulp"] for r in rows)
    # CPU's vector functions (SLEEF u10) may err by one, too.
    transcendental = any(r["transcendental"] for r in rows) or bound > 0.5
    return {"ulp": 2 * bound + 2} if transcendental else {"ulp": 0}


def is_native(name: str, dtype: torch.dtype) -> bool:
    return any(str(dtype).removeprefix("torch.") in row["computes"] for row in OVERLOADS[name])


def cpu_accepts(call: Callable, values: list[object]) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(*values)
    except (RuntimeError, NotImplementedError, TypeError):
        return False
    return True


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
@pytest.mark.parametrize("name", OVERLOADS)
def test_types(name: str, dtype: torch.dtype) -> None:
    def make(t, low, high, seed):
        return sample((4, 33), t, low, high, seed)

    call, values = caller(name, name), arguments(name, dtype, make)
    if not cpu_accepts(call, values):
        same_error(call, *values, text=False)
    elif is_native(name, dtype):
        compare_with_cpu(call, *values, **tolerance(name, dtype))


@pytest.mark.parametrize("layout", layouts(torch.float32))
@pytest.mark.parametrize("name", OVERLOADS)
def test_layouts(name: str, layout: str) -> None:
    dtype = torch.float32 if is_native(name, torch.float32) else torch.int32

    def make(t, low, high, seed):
        return layouts(t, low, high, seed)[layout]

    compare_with_cpu(caller(name, name), *arguments(name, dtype, make), **tolerance(name, dtype))


def in_place_name(name: str) -> str | None:
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base + "_", None)
    return f"{base}_.{overload or 'default'}" if packet and (overload or "default") in packet.overloads() else None


@pytest.mark.parametrize("name", [n for n in OVERLOADS if in_place_name(n)])
def test_in_place(name: str) -> None:
    dtype = torch.float32 if is_native(name, torch.float32) else torch.int32

    def make(t, low, high, seed):
        return layouts(t, low, high, seed)["transposed"].clone()

    call, values = caller(name, in_place_name(name)), arguments(name, dtype, make)
    if cpu_accepts(call, [v.clone() if isinstance(v, torch.Tensor) else v for v in values]):
        compare_with_cpu(call, *values, **tolerance(name, dtype))


@pytest.mark.parametrize("other", ["row", "column", "scalar", "leading"])
@pytest.mark.parametrize("name", ["add.Tensor", "mul.Tensor", "div.Tensor", "maximum", "eq.Tensor", "where.self"])
def test_broadcasting(name: str, other: str) -> None:
    shape = {"row": (7,), "column": (5, 1), "scalar": (), "leading": (2, 3, 5, 7)}[other]
    values = [sample((3, 5, 7), torch.float32), sample(shape, torch.float32, seed=1)]
    if name == "where.self":
        values.insert(0, sample((3, 1, 7), torch.bool))
    compare_with_cpu(operator(name), *values)


@pytest.mark.parametrize("b", ALL_TYPES, ids=str)
@pytest.mark.parametrize("a", ALL_TYPES, ids=str)
@pytest.mark.parametrize(
    "fn", [torch.add, torch.mul, torch.true_divide, torch.lt, torch.maximum], ids=lambda f: f.__name__
)
def test_promotion(fn: Callable, a: torch.dtype, b: torch.dtype) -> None:
    x, y = sample((4, 9), a, 1, 4), sample((4, 9), b, 1, 4, seed=1)
    compare_with_cpu(fn, x, y)
    compare_with_cpu(fn, x, sample((), b, 1, 4, seed=2))


@pytest.mark.parametrize("number", [2, 0.1, True, -3, 1e-8, 3.0])
@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_python_numbers(dtype: torch.dtype, number: float) -> None:
    x = sample((4, 9), dtype, 1, 4)
    for fn in (
        lambda t: t * number,
        lambda t: t + number,
        lambda t: t / number,
        lambda t: t > number,
        lambda t: number * t,
    ):
        compare_with_cpu(fn, x)


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int32], ids=str)
def test_alpha(dtype: torch.dtype) -> None:
    x, y = sample((5, 17), dtype), sample((5, 17), dtype, seed=1)
    alpha = 3 if not dtype.is_floating_point else 0.3
    compare_with_cpu(lambda a, b: torch.add(a, b, alpha=2), x, y)
    # CPU rounds the product as well; the device does not.
    tolerance = (
        {} if not dtype.is_floating_point else {"rtol": torch.finfo(dtype).eps * 2, "atol": torch.finfo(dtype).eps * 4}
    )
    compare_with_cpu(lambda a, b: torch.sub(a, b, alpha=alpha), x, y, **tolerance)


def test_powers() -> None:
    x = sample((5, 17), torch.float32, 0.5, 3)
    for exponent in (0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5):
        compare_with_cpu(lambda t, e=exponent: t**e, x, ulp=2)
    whole = sample((5, 17), torch.int64, 1, 4)
    compare_with_cpu(lambda t: t**3, whole)
    compare_with_cpu(lambda t: 2**t, whole)
    compare_with_cpu(lambda t: t**2.0, whole, ulp=2)


@pytest.mark.parametrize("out_dtype", [torch.float32, torch.float64, torch.float16], ids=str)
def test_out(out_dtype: torch.dtype) -> None:
    x, y = sample((5, 7), torch.float32), sample((7,), torch.float32, seed=1)
    compare_with_cpu(lambda a, b, o: torch.mul(a, b, out=o), x, y, torch.zeros(5, 7, dtype=out_dtype))
    compare_with_cpu(lambda a, b, o: torch.mul(a, b, out=o), x, y, torch.empty(0, dtype=out_dtype))
    compare_with_cpu(lambda a, b, o: torch.mul(a, b, out=o), x, y, torch.zeros(7, 5, dtype=out_dtype).t())
    compare_with_cpu(lambda a, o: torch.exp(a, out=o), x, torch.zeros(5, 7, dtype=out_dtype), rtol=1e-3, atol=1e-3)


def test_in_place_on_views() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x[1:3].mul_(2)
        x.t()[0].add_(x.t()[1])
        x[::2].copy_(x[1::2].clone())
        x[:, 1] += x[:, 2]
        x.view(-1)[3:9].relu_()
        return x.t().sub_(1).clone()

    compare_with_cpu(program, sample((4, 6), torch.float32))


def test_in_place_with_shared_memory() -> None:
    compare_with_cpu(lambda x: x.add_(x), sample((4, 6), torch.float32))
    x = sample((5, 5), torch.float32)[:4, :4]  # CPU reads what it has just written here
    assert torch.equal(x.to("spyre").mul_(x.to("spyre").t()).cpu(), x * x.t())
    y = to_device(x)
    assert torch.equal(y.mul_(y.t()).cpu(), x * x.t())
    same_error(lambda x: x[1:].add_(x[:-1]), sample((9,), torch.float32))
    same_error(lambda x: x.expand(4, 3).add_(1), sample((3,), torch.float32))


GRADIENTS: dict[str, Callable] = {
    "mul": lambda x, y: x * y, "div": lambda x, y: x / (y.abs() + 1), "sub": lambda x, y: x - 2 * y,
    "exp": lambda x, y: x.exp() + y, "tanh": lambda x, y: x.tanh() * y, "sigmoid": lambda x, y: x.sigmoid() * y,
    "gelu": lambda x, y: torch.nn.functional.gelu(x) * y,
    "gelu_tanh": lambda x, y: torch.nn.functional.gelu(x, approximate="tanh") * y,
    "silu": lambda x, y: torch.nn.functional.silu(x) * y, "relu": lambda x, y: x.relu() * y,
    "leaky_relu": lambda x, y: torch.nn.functional.leaky_relu(x) * y,
    "elu": lambda x, y: torch.nn.functional.elu(x) * y, "softplus": lambda x, y: torch.nn.functional.softplus(x) * y,
    "hardswish": lambda x, y: torch.nn.functional.hardswish(x) * y,
    "mish": lambda x, y: torch.nn.functional.mish(x) * y,
    "logsigmoid": lambda x, y: torch.nn.functional.logsigmoid(x) * y, "clamp": lambda x, y: x.clamp(-1, 1) * y,
    "where": lambda x, y: torch.where(x > 0, x, y), "pow": lambda x, y: (x.abs() + 0.5) ** 1.5 * y,
    "lerp": lambda x, y: torch.lerp(x, y, 0.3), "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "maximum": torch.maximum, "log": lambda x, y: (x.abs() + 0.5).log() * y,
    "sqrt": lambda x, y: (x.abs() + 0.5).sqrt() * y, "abs": lambda x, y: x.abs() * y,
    "broadcast": lambda x, y: x * y[0] + y[:, :1], "erf": lambda x, y: x.erf() * y,
    "sin": lambda x, y: x.sin() * y.cos(),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, 2.0) * y, "atan2": lambda x, y: torch.atan2(x, y.abs() + 1),
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    x, y = sample((6, 13), torch.float32), sample((6, 13), torch.float32, seed=1)
    compare_gradients(GRADIENTS[name], x, y, rtol=1e-5, atol=2e-6)


def test_refusals() -> None:
    x = sample((3, 4), torch.float32)
    same_error(lambda t: t + torch.ones(5, device=t.device), x)
    same_error(lambda t: t.add_(torch.ones(2, 3, 4, device=t.device)), x)
    same_error(lambda t: t.to(torch.int64).add_(1.5), x)
    same_error(lambda t: torch.add(t.to(torch.int64), t.to(torch.int64), alpha=1.5), x)
    same_error(lambda t: t & t, x)
    same_error(lambda t: t.bool() - t.bool(), x)
    same_error(lambda t: -t.bool(), x)
    same_error(lambda t: t.clamp(), x)
    same_error(lambda t: t.to(torch.int64) ** -1, x)
    same_error(lambda t: torch.where(t, t, t), x)
    same_error(lambda t: t.masked_fill(t, 1.0), x)
    same_error(lambda t: torch.mul(t, t, out=torch.zeros(3, 4, dtype=torch.int64, device=t.device)), x)
    with pytest.raises(RuntimeError, match="same device"):
        x.to("spyre") + x
    with pytest.raises(RuntimeError, match="same device"):
        x.to("spyre").add_(x)
    with pytest.raises(RuntimeError, match="same device"):
        torch.where(x.to("spyre") > 0, x, x.to("spyre"))


def test_integer_division_by_zero_is_a_fault() -> None:
    x = torch.tensor([4, 5, 6], device="spyre")
    zero = torch.tensor([1, 0, 2], device="spyre")
    with pytest.raises(RuntimeError, match="division by zero; recorded at"):
        torch.div(x, zero, rounding_mode="floor").cpu()
    assert (x + 1).tolist() == [5, 6, 7]


def test_high_rank_takes_the_host() -> None:
    x = torch.ones([1] * 14 + [3])
    y = x.to("spyre") * 2
    assert y.cpu().sum().item() == 6
