"""Arguments that nobody should pass, for every operator that is registered: what they may cause is exceptions.

python -m tests.fuzz.malformed --seeds 1 20 --calls 8: runs them in processes that may die. An operator that ends or
hangs its process on spyre and does not on the CPU, with the same arguments, is a failure; so is one that leaves the
device unusable, or that breaks an invariant of ours.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import torch

from tests.ops.coverage.workers import Worker, WorkerEndedError

WORKER = (sys.executable, "-m", "tests.fuzz.malformed_worker")
PATIENCE, START_PATIENCE = 60, 900  # seconds without an answer

# They write files, wait for other processes, or end this one by design.
LEFT_OUT = {"from_file", "_cuda_getCurrentBlasHandle", "_assert_async", "_functional_assert_async", "set_data"}

SHAPES = [(), (0,), (1,), (3,), (5,), (2, 3), (3, 3), (2, 0, 3), (2, 3, 4), (1, 2, 4, 4), (2, 1, 3, 1, 2), (1,) * 9]
TYPES = [
    *[torch.float32] * 6,
    *[torch.int64] * 3,
    *(torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
    *(torch.complex64, torch.uint16, torch.float8_e4m3fn),
]
INTEGERS = [*range(-3, 8), *range(4), 2**31, -(2**31) - 1, 2**40, 2**62, 2**63 - 1, -(2**63)]
NUMBERS = [0.0, 1.0, -1.0, 0.5, 2.5, float("nan"), float("inf"), -float("inf"), 1e308, -1e-310]
WORDS = ["sum", "mean", "max", "none", "floor", "trunc", "reflect", "ij", "xyz", "", "tanh", "reduced", "nearest"]


def operators() -> list[str]:
    """Overloads of aten that take tensors and can be called on the device, by name."""
    names = (n.removeprefix("aten::") for n in torch._C._dispatch_get_all_op_names() if n.startswith("aten::"))
    return sorted(n for n in names if n.partition(".")[0] not in LEFT_OUT and takes_tensors(n))


def overload(name: str) -> Any:
    base, _, form = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), form or "default")


def takes_tensors(name: str) -> bool:
    try:
        schema = overload(name)._schema
    except (AttributeError, RuntimeError):  # of TorchScript alone
        return False
    kinds = [str(a.type) for a in schema.arguments]
    return any("Tensor" in k for k in kinds) and not any("Storage" in k or "Stream" in k for k in kinds)


def a_tensor(random: Random, device: str) -> torch.Tensor:
    shape, dtype = random.choice(SHAPES), random.choice(TYPES)
    count = torch.Size(shape).numel()
    values = torch.tensor([random.choice([0, 1, 2, 3, 1, 2, -1, 7, 10**12]) for _ in range(count)], dtype=torch.float64)
    tensor = values.reshape(shape).to(torch.float32 if dtype.itemsize == 1 and dtype.is_floating_point else dtype)
    place = random.choices([device, "cpu", "meta"], [30, 1, 1])[0]
    tensor = tensor.to(dtype).to(place)
    look = random.randrange(8)
    if look == 0 and tensor.dim() > 1:
        return tensor.transpose(0, -1)
    if look == 1 and tensor.dim() > 0:
        return tensor[:1].expand(shape)
    if look == 2 and tensor.dim() > 0:
        return tensor[..., ::2]
    if look == 3 and (dtype.is_floating_point or dtype.is_complex):
        return tensor.requires_grad_()
    return tensor


Maker = Callable[[Random, str], Any]
MAKERS: dict[str, Maker] = {
    "Tensor": a_tensor,
    "int": lambda r, _: r.choice(INTEGERS),
    "SymInt": lambda r, _: r.choice(INTEGERS),
    "float": lambda r, _: r.choice(NUMBERS),
    "bool": lambda r, _: r.random() < 0.5,
    "number": lambda r, _: r.choice([*INTEGERS, *NUMBERS, True, 1j]),
    "Scalar": lambda r, _: r.choice([*INTEGERS, *NUMBERS, True, 1j]),
    "str": lambda r, _: r.choice(WORDS),
    "Device": lambda r, device: torch.device(r.choice([device, device, "cpu", "meta"])),
    "Generator": lambda r, device: torch.Generator(r.choice([device, "cpu"])),
    "ScalarType": lambda r, _: r.choice(TYPES),
    "Layout": lambda r, _: r.choice([torch.strided, torch.strided, torch.sparse_coo]),
    "MemoryFormat": lambda r, _: r.choice([torch.contiguous_format, torch.channels_last, torch.preserve_format]),
}


def a_value(kind: str, random: Random, device: str, makers: dict[str, Maker]) -> Any:
    if kind.startswith("Optional["):
        return None if random.random() < 0.4 else a_value(kind[9:-1], random, device, makers)
    if kind.startswith("List["):
        return [a_value(kind[5:-1], random, device, makers) for _ in range(random.choice([0, 1, 2, 2, 3, 4]))]
    if random.random() < 0.01:
        return random.choice([None, "what", [], 3])
    return makers[kind](random, device)


def arguments(
    name: str, random: Random, device: str, makers: dict[str, Maker] = MAKERS
) -> tuple[list[Any], dict[str, Any]]:
    """Defaults are left alone half of the time; the first tensor is as good as any."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for a in overload(name)._schema.arguments:
        if a.has_default_value() and random.random() < 0.5:
            if not a.kwarg_only:
                positional.append(a.default_value)
            continue
        value = a_value(spelled(a), random, device, makers)
        if a.kwarg_only:
            keywords[a.name] = value
        else:
            positional.append(value)
    return positional, keywords


#: Schemas write these as int.
DISGUISED = {"dtype": "ScalarType", "layout": "Layout", "memory_format": "MemoryFormat"}


def spelled(argument: Any) -> str:
    kind = str(argument.type)
    disguise = DISGUISED.get(argument.name)
    return kind.replace("int", disguise) if disguise and kind in ("int", "Optional[int]") else kind


def call(name: str, seed: int, device: str) -> str | None:
    """Calls it once; what it raised of ours that it must not."""
    random = Random(f"{name} {seed}")
    torch.manual_seed(seed)
    try:
        positional, keywords = arguments(name, random, device)
        overload(name)(*positional, **keywords)
        finish(device)
    except Exception as error:
        return str(error) if "broken invariant" in str(error) else None
    return None


def finish(device: str) -> None:
    if device == "spyre":
        torch.spyre.synchronize()


def usable(device: str) -> str | None:
    """What is wrong with the device; a fault of the last call may still be there to be raised."""
    for _ in range(2):
        try:
            finish(device)
        except Exception:
            continue
    try:
        values = (torch.ones(2, device=device) + 1).tolist()
    except Exception as error:
        return f"the device is unusable: {error}"
    return None if values == [2, 2] else f"one and one are {values}"


@dataclass(frozen=True)
class Finding:
    """`seed` and the operator's name make the call again."""

    operator: str
    seed: int
    text: str


def started() -> Worker:
    """A worker that has said that it is there: what ends it now is a call."""
    worker = Worker(WORKER, PATIENCE)
    worker.patience = START_PATIENCE
    worker.answer()
    return worker


def runs(names: list[str], seeds: range, device: str) -> Iterator[Finding]:
    """Every operator with every seed; a process that ends is replaced by one that goes on after it."""
    todo = list(itertools.product(names, seeds))
    worker: Worker | None = None
    while todo:
        worker = worker or started()
        worker.ask([device, todo])
        done = 0
        try:
            while (answer := worker.answer()) is not None:
                if answer["wrong"]:
                    yield Finding(*todo[done], answer["wrong"])
                done += 1
            break
        except WorkerEndedError as end:
            worker.stop()
            worker = None
            yield Finding(*todo[done], str(end))
            todo = todo[done + 1 :]
    if worker is not None:
        worker.stop()


def failures(names: list[str], seeds: range) -> Iterator[Finding]:
    """What happens again in a process of its own, and on spyre only.

    CPU's own kernels may die of such arguments, too, or spoil memory that a later call dies of.
    """
    for finding in runs(names, seeds, "spyre"):
        alone = ([finding.operator], range(finding.seed, finding.seed + 1))
        if any(runs(*alone, "spyre")) and not any(runs(*alone, "cpu")):
            yield finding


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 4), metavar=("FIRST", "END"))
    parser.add_argument("--only", nargs="*", default=[], metavar="PART")
    options = parser.parse_args()
    names = [n for n in operators() if not options.only or any(part in n for part in options.only)]
    print(f"{len(names)} operators", flush=True)
    found = 0
    for finding in failures(names, range(*options.seeds)):
        found += 1
        print(finding, flush=True)
    print(f"{found} failures")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
