"""python -m torch_spyre.plans: list, show, bind, launch and verify plans.

Exits with 0 if all went well, 1 if a plan or its results are not as they should be, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from ..config import config
from ..streams import Event, synchronize
from .bounds import dtype_named
from .describe import one_line, plan_text
from .errors import PlanError
from .folder import is_plan, read_plan
from .launch import Plan, bind, load
from .model import Argument, PlanSpec

OK, FAILED, WRONG_USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except (PlanError, RuntimeError, IndexError, MemoryError) as error:
        print(f"{options.folder}: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m torch_spyre.plans", description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(required=True, metavar="command")
    for run, told in (
        (_list, "the plans in a folder, a line each"),
        (_show, "a plan's arguments, steps and kernels"),
        (_bind, "which argument each given tensor becomes, or why it does not fit"),
        (_launch, "run a plan; the outputs, and how long the card would take"),
        (_verify, "check the folder, then outputs: against given ones, or machine code against the interpreter"),
    ):
        command = commands.add_parser(run.__name__.removeprefix("_"), help=told, description=told)
        command.set_defaults(run=run)
        command.add_argument("folder", type=_existing)
        if run in {_bind, _launch, _verify}:
            command.add_argument(
                "-i", "--input-file", type=_existing, required=run is _bind, help="tensors, torch.save"
            )
        if run in {_launch, _verify}:
            command.add_argument("-o", "--output-file", type=Path, help="to write (launch), to compare with (verify)")
            command.add_argument("--seed", type=int, default=0, help="of inputs that are not given")
        if run is _verify:
            command.add_argument("--exact", action="store_true", help="equal bits, not the tolerance of each type")
    return parser


def _existing(text: str) -> Path:
    path = Path(text)
    if not path.exists():
        raise argparse.ArgumentTypeError(f"there is no {text}")
    return path


def _list(options: Any) -> int:
    folders = [options.folder] if is_plan(options.folder) else sorted(filter(is_plan, options.folder.iterdir()))
    failed = 0
    for folder in folders:
        try:
            print(f"{folder}: {one_line(read_plan(folder))}")
        except PlanError as error:
            print(f"{folder}: {error}", file=sys.stderr)
            failed = FAILED
    return failed


def _show(options: Any) -> int:
    print(plan_text(read_plan(options.folder)), end="")
    return OK


def _bind(options: Any) -> int:
    plan = read_plan(options.folder)
    tensors = _tensors(options.input_file)
    bind(plan, tensors)
    for arg, tensor in zip(plan.inputs, tensors, strict=True):
        print(f"{arg.arg_index}: {arg.name} = {arg.dtype}{list(tensor.shape)}")
    return OK


def _launch(options: Any) -> int:
    plan = load(options.folder)
    results, milliseconds = _timed(plan, _inputs(plan.text, options))
    for arg, result in zip(plan.text.outputs, results, strict=True):
        print(f"{arg.name} = {result.cpu()}")
    print(f"modelled time: {milliseconds * 1000:.1f} us")
    if options.output_file is not None:
        torch.save([result.cpu() for result in results], options.output_file)
    return OK


def _verify(options: Any) -> int:
    plan = load(options.folder)
    inputs = _inputs(plan.text, options)
    results = [result.cpu() for result in _timed(plan, [tensor.clone() for tensor in inputs])[0]]
    exact = options.exact or options.output_file is None
    if options.output_file is not None:
        expected = _tensors(_existing(str(options.output_file)))
    else:
        with config(exec="scalar"):
            expected = [result.cpu() for result in _timed(plan, inputs)[0]]
    if len(expected) != len(results):
        raise PlanError.at(str(options.output_file), f"{len(results)} tensors", len(expected))
    for arg, result, wanted in zip(plan.text.outputs, results, expected, strict=True):
        tolerance = 0.0 if exact else None  # None: the type's own
        try:
            torch.testing.assert_close(result, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            print(f"{arg.name}: {error}", file=sys.stderr)
            return FAILED
        print(f"{arg.name}: {'equal' if exact else 'close'}")
    return OK


def _timed(plan: Plan, inputs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], float]:
    """The outputs, and the card's milliseconds from the first step to the last."""
    tensors = [tensor.to("spyre") for tensor in inputs]
    synchronize()
    start, end = Event(enable_timing=True), Event(enable_timing=True)
    start.record()
    results = plan(*tensors)
    end.record()
    synchronize()
    return [results] if isinstance(results, torch.Tensor) else list(results), start.elapsed_time(end)


def _inputs(plan: PlanSpec, options: Any) -> list[torch.Tensor]:
    if options.input_file is not None:
        return _tensors(options.input_file)
    generator = torch.Generator().manual_seed(options.seed)
    return [_random(arg, generator) for arg in plan.inputs]


def _random(arg: Argument, generator: torch.Generator) -> torch.Tensor:
    """Normal floats; zeros for integers, which may be positions."""
    tensor = torch.empty_strided(arg.shape, arg.strides, dtype=dtype_named(arg.dtype))
    return tensor.normal_(generator=generator) if tensor.is_floating_point() else tensor.zero_()


def _tensors(path: Path) -> list[torch.Tensor]:
    """A tensor, or a list of them, from a file that may hold nothing else."""
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, EOFError, RuntimeError) as error:
        raise PlanError(f"{path}: no tensors: {str(error).splitlines()[0]}") from None
    tensors = list(found) if isinstance(found, (list, tuple)) else [found]
    if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        raise PlanError.at(str(path), "a tensor or a list of tensors", type(found).__name__)
    return tensors


if __name__ == "__main__":
    sys.exit(main())
