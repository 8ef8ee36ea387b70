"""What the engine itself costs: recording, looking up, submitting, compiling."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch.utils import cpp_extension

from .measure import Result, interleaved

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build" / "benchmarks"
SMALL = 8
OPS = 1000
REPETITIONS = 400


def small_pair(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(SMALL).to(device), torch.ones(SMALL).to(device)


def median_of(measure: Callable[[], float], repetitions: int = 30) -> float:
    for _ in range(5):
        measure()
    return statistics.median(measure() for _ in range(repetitions))


def record_from_cpp() -> Result:
    BUILD.mkdir(parents=True, exist_ok=True)
    source = str(HERE / "record_from_cpp.cpp")
    extension = cpp_extension.load("record_from_cpp", [source], build_directory=str(BUILD), extra_cflags=["-O2"])

    def measure(device: str) -> float:
        x, y = small_pair(device)

        def once() -> float:
            torch.spyre.synchronize()
            return extension.nanoseconds_per_add(x, y, OPS)

        return median_of(once)

    cpu, spyre = measure("cpu"), measure("spyre")
    return Result(
        "record, from C++",
        "what does one recorded add of 8 elements cost, its tensor included?",
        seconds=spyre * 1e-9,
        ratio=spyre / cpu,
        gate="<= 250 ns",
        passed=spyre <= 250,
    )


def op_from_python() -> Result:
    """1000 adds and one wait: recording, and the op's share of flush and run."""

    def make(device: str) -> Callable[[], None]:
        x, y = small_pair(device)

        def step() -> None:
            for _ in range(OPS):
                x + y
            if device == "spyre":
                torch.spyre.synchronize()

        return step

    timings = interleaved({device: make(device) for device in ("cpu", "spyre")})
    ours, theirs = timings["spyre"], timings["cpu"]
    ratio = ours.median / theirs.median
    return Result(
        "op, from Python",
        "what does a whole add of 8 elements cost, with its share of flush and run?",
        seconds=ours.median / OPS,
        ratio=ratio,
        spread=max(ours.spread, theirs.spread),
        faults_per_step=ours.faults_per_step,
        gate="<= 0.65 x CPU",
        passed=ratio <= 0.65,
    )


def synchronize_seconds(record: Callable[[], object]) -> float:
    """Of one synchronize after `record`, which is not part of the time. What it returns stays alive until then."""

    def once() -> float:
        kept = record()
        start = time.perf_counter()
        torch.spyre.synchronize()
        took = time.perf_counter() - start
        del kept
        return took

    return median_of(once, REPETITIONS)


def plan_hit(ops: int, gate_microseconds: float) -> Result:
    """With arithmetic switched off, so that what is left is key, look-up, launch and completion."""
    x = torch.ones(SMALL, device="spyre")

    def record() -> torch.Tensor:
        y = x
        for step in range(ops):
            y = y + 1 if step % 2 else y * 2
        return y

    with torch.spyre.config(exec="null"):
        seconds = synchronize_seconds(record) - synchronize_seconds(lambda: None)
    return Result(
        f"plan hit, {ops} ops",
        "what do key, look-up and submission of a known trace cost?",
        seconds=seconds,
        gate=f"<= {gate_microseconds:g} us",
        passed=seconds <= gate_microseconds * 1e-6,
    )


def flush_to_result() -> Result:
    x = torch.ones(SMALL, device="spyre")
    seconds = synchronize_seconds(lambda: x + 1)
    return Result(
        "flush to result, 1 op",
        "how long does a wait for one small op take?",
        seconds=seconds,
        gate="<= 2.5 us",
        passed=seconds <= 2.5e-6,
    )


CHAINS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "3 ops": lambda x: (x * 2 + 1).abs(),
    "gelu, 9 ops": lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x))),
    "softmax": lambda x: torch.softmax(x, -1),
    "layer norm": lambda x: torch.nn.functional.layer_norm(x, (64,)),
    "40 ops": lambda x: chain_of(x, 40),
}


def chain_of(x: torch.Tensor, ops: int) -> torch.Tensor:
    for step in range(ops):
        x = x * 0.99 if step % 2 else torch.sigmoid(x)
    return x


def compile_time() -> Result:
    """The slowest kernel of a few, each compiled anew."""
    slowest, notes = 0.0, {}
    for name, chain in CHAINS.items():
        times = []
        for _ in range(5):
            torch.spyre.empty_cache()
            torch.spyre.reset_stats()
            chain(torch.ones(64, 64, device="spyre")).sum().item()
            stats = torch.spyre.stats()
            times.append(stats["compile_ns"] / max(stats["kernels_compiled"], 1) * 1e-9)
        notes[name] = statistics.median(times)
        slowest = max(slowest, notes[name])
    return Result(
        "compile one kernel",
        "how long does the slowest of five kernels take to compile?",
        seconds=slowest,
        gate="<= 1 ms",
        passed=slowest <= 1e-3,
        notes=dict(notes),
    )


def run() -> Iterator[Result]:
    yield record_from_cpp()
    yield op_from_python()
    yield plan_hit(16, 1.0)
    yield plan_hit(256, 3.0)
    yield flush_to_result()
    yield compile_time()
