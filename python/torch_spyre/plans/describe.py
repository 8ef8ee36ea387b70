"""Plans as text, for people."""

from __future__ import annotations

from ..inductor.kernel_text import kernel_text
from .check import used_windows
from .model import Argument, CallStep, Items, KernelStep, PlanSpec, TheCard, TorchName, Use, Value

__all__ = ["one_line", "plan_text"]


def one_line(plan: PlanSpec) -> str:
    """Name, and how much of what."""
    calls = sum(isinstance(step, CallStep) for step in plan.program.steps)
    launches = len(plan.program.steps) - calls
    inputs = ", ".join(map(_shape, plan.inputs))
    outputs = ", ".join(map(_shape, plan.outputs))
    return f"{plan.launch_spec.kernel_name}({inputs}) -> {outputs}: {launches} kernels, {calls} calls"


def plan_text(plan: PlanSpec) -> str:
    """Arguments, steps and kernels."""
    lines = [one_line(plan), f"pool of {plan.launch_spec.pool_size} bytes"]
    lines += [_argument(arg) for arg in plan.launch_spec.args]
    for step in plan.program.steps:
        if isinstance(step, KernelStep):
            lines.append(
                f"  {plan.kernels[step.kernel].name}({', '.join(_window(plan, place) for place in step.args)})"
            )
            continue
        results = ", ".join("_" if place is None else _window(plan, place) for place in step.results)
        named = [f"{option.name}={_value(plan, option.value)}" for option in step.options]
        lines.append(f"  {results} = {step.op}({', '.join([*(_value(plan, value) for value in step.args), *named])})")
    return "\n".join(lines) + "\n\n" + "\n".join(map(kernel_text, plan.kernels))


def _shape(arg: Argument) -> str:
    return f"{arg.dtype}{list(arg.shape)}"


def _argument(arg: Argument) -> str:
    sticks = f", on a card {list(arg.layout.device_size)} of {arg.layout.device_dtype}" if arg.layout else ""
    return f"  {arg.arg_index}: {arg.role} {arg.name} {_shape(arg)} strides {list(arg.strides)}{sticks}"


def _window(plan: PlanSpec, place: int) -> str:
    window = plan.program.windows[place]
    names = {plan.program.windows[arg.window].buffer: arg.name for arg in (*plan.inputs, *plan.parameters)}
    start = f"{window.offset} + " if window.offset else ""
    return f"{names.get(window.buffer, f'buffer_{window.buffer}')}[{start}{', '.join(map(str, window.strides))}]"


def _value(plan: PlanSpec, value: Value) -> str:
    if isinstance(value, Use):
        return next(_window(plan, place) for place in used_windows(value))
    if isinstance(value, Items):
        return f"[{', '.join(_value(plan, item) for item in value.items)}]"
    if isinstance(value, TorchName):
        return value.name
    return "card" if isinstance(value, TheCard) else repr(value)
