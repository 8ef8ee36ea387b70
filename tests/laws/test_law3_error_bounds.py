"""Law 3: exact ops agree with CPU bit for bit; every other op keeps the bound in ulp that its row states.

The calls are derived from the op table: each overload of each row, with the arguments that select that row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
import torch_spyre
from torch.testing import make_tensor

EXACT_ULP = 0.5
SAMPLES = 4096
NUMBER = 2.0  # for a scalar argument that nothing fixes; products with it are exact
# Correctly rounded here; CPU takes them from a library that is not, for contiguous tensors.
ROUNDED_BY_CPU = {"sqrt", "pow_half"}
# CPU's vector code gives +0 where the same kernel's last elements give -0.
ZERO_SIGN_VARIES_ON_CPU = {"softshrink"}
REFUSED = (RuntimeError, NotImplementedError, TypeError)


@dataclass(frozen=True)
class Call:
    """One overload, called so that the engine takes `row` for it."""

    row: dict
    overload: object
    tensors: tuple[str, ...]  # names of its tensor arguments
    numbers: dict[str, object]

    def __str__(self) -> str:
        return f"{self.row['name']}-{self.overload}"

    def has_numbers(self) -> bool:
        """Whether it gets Python numbers, by default or from this test."""
        return any(str(a.type) in {"number", "float"} for a in self.overload._schema.arguments)

    def run(self, inputs: list[torch.Tensor]) -> torch.Tensor:
        return self.overload(**dict(zip(self.tensors, inputs, strict=True)), **self.numbers)


def chosen(select: str) -> dict[str, str | None]:
    """Argument -> the text it must equal, or None if it must only be given."""
    terms = [term.strip() for term in select.split(",") if term.strip() and not term.startswith("!")]
    return {name: (text if sign else None) for name, sign, text in (term.partition("=") for term in terms)}


def value_of(argument, text: str | None) -> object:
    if text is None:
        return NUMBER
    if "str" in str(argument.type):
        return text
    return {"true": True, "false": False}.get(text.lower()) if text.isalpha() else float(text)


def call_for(row: dict, overload) -> Call | None:
    """None if the overload needs an argument that this test has no value for."""
    wanted, tensors, numbers = chosen(row["select"]), [], {}
    for argument in overload._schema.arguments:
        kind = str(argument.type)
        if argument.has_default_value() and argument.name not in wanted:
            continue
        if kind in {"Tensor", "Optional[Tensor]"}:
            tensors.append(argument.name)
        elif argument.name in wanted or kind in {"number", "float", "Optional[number]"}:
            numbers[argument.name] = value_of(argument, wanted.get(argument.name))
        else:
            return None
    return Call(row, overload, tuple(tensors), numbers) if tensors else None


def overloads(row: dict) -> list:
    names = [name.partition(".") for name in row["aten"].split(";") if name]
    return [getattr(getattr(torch.ops.aten, packet), overload or "default") for packet, _, overload in names]


CALLS = [call for row in torch_spyre._C.op_table() for o in overloads(row) if (call := call_for(row, o)) is not None]


def arguments(call: Call, dtype: torch.dtype) -> list[torch.Tensor]:
    """Seeded numbers of many sizes, zeros and signs."""
    torch.manual_seed(len(call.tensors))
    samples = []
    for position, _ in enumerate(call.tensors):
        low = 0 if dtype in {torch.bool, torch.uint8} else -6
        x = make_tensor(SAMPLES, dtype=dtype, device="cpu", low=low, high=6)
        if dtype.is_floating_point:
            x[:: 7 + position] /= 1000
        x[:: 11 + position] = 0
        samples.append(x)
    return samples


def spacing(x: torch.Tensor) -> torch.Tensor:
    """The unit in the last place of float32 at |x|."""
    size = x.abs().to(torch.float32)
    return (torch.nextafter(size, torch.tensor(math.inf)) - size).double()


def assert_within(found: torch.Tensor, exact: torch.Tensor, unit: torch.Tensor, bound: float) -> None:
    """NaN and infinity where they belong; everything else within `bound` units."""
    wanted = exact.to(torch.float32)
    assert torch.equal(found.isnan(), wanted.isnan())
    assert torch.equal(found[wanted.isinf()], wanted[wanted.isinf()])
    finite = wanted.isfinite()
    errors = ((found.double() - exact).abs() / unit)[finite]
    worst = errors.max().item() if errors.numel() else 0.0
    assert worst <= bound, f"{worst:.2f} ulp, allowed {bound}"


def accepted(call: Call, dtype: torch.dtype) -> torch.Tensor | None:
    """What CPU makes of the call in that type; None if it refuses."""
    try:
        return call.run(arguments(call, dtype))
    except REFUSED:
        return None


def calls_of(rows: list[Call], dtype: torch.dtype, floating: bool) -> list:
    """Calls that the engine takes this row for, that CPU accepts, and whose result is floating or not, as asked."""
    chosen_calls = []
    for call in rows:
        expected = accepted(call, dtype)
        if expected is not None and expected.is_floating_point() == floating:
            chosen_calls.append(pytest.param(call, dtype, id=f"{call}-{str(dtype).removeprefix('torch.')}"))
    return chosen_calls


def takes_floats(call: Call) -> bool:
    return "float32" in call.row["computes"]


FLOAT_CALLS = [call for call in CALLS if takes_floats(call)]
EXACT = [call for call in FLOAT_CALLS if call.row["max_ulp"] <= EXACT_ULP and call.row["name"] not in ROUNDED_BY_CPU]
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool)


def test_the_table_is_covered():
    """So that an empty derivation does not pass for a kept law."""
    assert len({call.row["name"] for call in CALLS}) > 60


@pytest.mark.parametrize(("call", "dtype"), calls_of(FLOAT_CALLS, torch.float32, floating=True))
def test_error_bound_against_float64(call, dtype, stats):
    inputs = arguments(call, dtype)
    exact = call.run([x.double() for x in inputs])
    found = call.run([x.to("spyre") for x in inputs])
    assert stats()["fallbacks"] == {}
    unit = spacing(exact)
    if call.row["cancels"]:
        unit = spacing(torch.stack([*inputs, torch.ones(SAMPLES)]).abs().amax(0)).maximum(unit)
    bound = max(call.row["max_ulp"], EXACT_ULP)
    if call.has_numbers():
        bound += EXACT_ULP  # a number of Python's becomes a float32 before anything is computed
    assert_within(found.cpu(), exact, unit, bound)


@pytest.mark.parametrize(
    ("call", "dtype"), [p for dtype in FLOATS for floating in (True, False) for p in calls_of(EXACT, dtype, floating)]
)
def test_exact_ops_are_bitwise_equal_to_cpu(call, dtype):
    inputs = arguments(call, dtype)
    expected = call.run(inputs)
    found = call.run([x.to("spyre") for x in inputs]).cpu()
    assert found.dtype == expected.dtype
    assert torch.equal(found.isnan(), expected.isnan())
    numbers = ~expected.isnan()
    assert torch.equal(found[numbers], expected[numbers])
    if call.row["name"] not in ZERO_SIGN_VARIES_ON_CPU:
        assert torch.equal(found[numbers].signbit(), expected[numbers].signbit()), "a zero has the other sign"


@pytest.mark.parametrize(("call", "dtype"), [p for dtype in INTEGERS for p in calls_of(CALLS, dtype, floating=False)])
def test_integers_are_equal_to_cpu(call, dtype):
    inputs = arguments(call, dtype)
    expected = call.run(inputs)
    found = call.run([x.to("spyre") for x in inputs]).cpu()
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
