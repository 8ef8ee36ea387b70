"""What the engine itself costs: recording, looking up, submitting, reading back, compiling, meeting new sizes."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from ..places import JaxPlace, Place
from ..row import Cost, Row, Step, function

HERE = Path(__file__).resolve().parent.parent
EXTENSIONS = HERE.parent / "build" / "benchmarks"
SPYRE = frozenset({"spyre"})
SMALL = 8
OPS = 1000
READS = 100
SAMPLES = 40
SIZES = 256


def small_pair(place: Place) -> tuple[Any, Any]:
    return place.normal(SMALL), place.normal(SMALL)


def op_from_python(place: Place) -> Step:
    """1000 adds and one wait: recording, and each op's share of flush and run."""
    x, y = small_pair(place)
    add = place.compiled(lambda x, y: x + y)

    def uncompiled() -> Any:
        for _ in range(OPS):
            z = x + y
        return z

    def through_function() -> Any:
        for _ in range(OPS):
            z = add(x, y)
        return z

    return place.without_gradients(through_function if place.compiles else uncompiled)


def add_from_cpp(place: Place) -> Step:
    from torch.utils import cpp_extension

    EXTENSIONS.mkdir(parents=True, exist_ok=True)
    source = str(HERE / "record_from_cpp.cpp")
    extension = cpp_extension.load("record_from_cpp", [source], build_directory=str(EXTENSIONS), extra_cflags=["-O2"])
    x, y = small_pair(place)
    return lambda: extension.nanoseconds_per_add(x, y, OPS)


def reported_nanoseconds(place: Place, step: Step, count: int) -> float:
    """Of what the step times itself; results that wait to be computed are not part of it."""
    times = []
    for _ in range(count):
        place.wait(None)
        times.append(step())
    return statistics.median(times) * 1e-9 * OPS


def body(x):
    """64 small operations, whatever library x is of."""
    y = x
    for step in range(32):
        y = y * 0.5 + x if step % 2 else (y + 0.25) * 0.9
    return y


def alternating(ops: int) -> Callable[[Place], Step]:
    def build(place: Place) -> Step:
        x = place.normal(SMALL)

        def record() -> torch.Tensor:
            y = x
            for step in range(ops):
                y = y + 1 if step % 2 else y * 2
            return y

        return record

    return build


def seconds_to_synchronize(record: Callable[[], Any], count: int) -> float:
    """After `record`, which is not part of the time. What it returns stays alive until then."""
    times = []
    for _ in range(count):
        kept = record()
        start = time.perf_counter()
        torch.spyre.synchronize()
        times.append(time.perf_counter() - start)
        del kept
    return statistics.median(times)


def submission(_place: Place, record: Step, count: int) -> float:
    """With arithmetic switched off, so that what is left is key, look-up, launch and completion."""
    with torch.spyre.config(exec="null"):
        return seconds_to_synchronize(record, count + 200) - seconds_to_synchronize(lambda: None, count + 200)


def flush_to_result(_place: Place, record: Step, count: int) -> float:
    return seconds_to_synchronize(record, count + 200)


KERNELS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    lambda x: (x * 2 + 1).abs(),
    lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x))),
    lambda x: torch.softmax(x, -1),
    lambda x: torch.nn.functional.layer_norm(x, (64,)),
    body,
)


def compile_each(place: Place) -> Step:
    x = place.normal(64, 64)

    def slowest() -> float:
        times = []
        for kernel in KERNELS:
            torch.spyre.empty_cache()
            torch.spyre.reset_stats()
            kernel(x).sum().item()
            stats = torch.spyre.stats()
            times.append(stats["compile_ns"] / max(stats["kernels_compiled"], 1))
        return max(times)

    return slowest


def slowest_compile(_place: Place, step: Step, _count: int) -> float:
    return statistics.median(step() for _ in range(5)) * 1e-9


def read_every_second(place: Place) -> Step:
    x = place.normal(64)
    halve = place.compiled(lambda x: (x * 0.5).sum())

    def step() -> Any:
        total = 0.0
        for _ in range(READS):
            total += halve(x).item()
        return total

    return place.without_gradients(step)


def read_every_second_jax(place: JaxPlace) -> Step:
    x = place.normal(64)
    halve = place.compiled(lambda x: (x * 0.5).sum())
    return lambda: place.jax.numpy.asarray(sum(halve(x).item() for _ in range(READS)))


def sized(x):
    y = x * 1.5 + 0.5
    y = y * y - x
    return ((y * 0.25).sum(-1) if y.ndim > 1 else y.sum()) + 1.0


def many_sizes(place: Place) -> Step:
    """One program on 256 random sizes: what a new size costs is in the first step."""
    rows = place.random.integers(1, 512, SIZES)
    inputs = [place.normal(int(row), 64) for row in rows]
    apply = place.compiled(sized)

    def step() -> Any:
        return [apply(x) for x in inputs]

    return place.without_gradients(step)


BATCH, WIDTH = 8192, 512


def overlap(copies: bool, computes: bool) -> Callable[[Place], Step]:
    """The next batch is copied to the device while the last one is computed with."""

    def build(place: Place) -> Step:
        host = torch.from_numpy(place.random.standard_normal((BATCH, WIDTH), dtype="float32")).pin_memory()
        weight = place.normal(WIDTH, WIDTH, scale=WIDTH**-0.5)
        state = {"batch": host.to(place.device)}

        def step() -> Any:
            batch = state["batch"]
            if copies:
                state["batch"] = host.to(place.device, non_blocking=True)
            return torch.relu(batch @ weight) if computes else state["batch"]

        return place.without_gradients(step)

    return build


COPIED, COMPUTED = "batch of 16 MiB copied", "batch of 16 MiB computed with"
MEDIAN_WHEN_BUSY = "4 softmaxes, 4096 x 1024, beside 4 busy processes, median"


def four_softmaxes(*inputs: torch.Tensor) -> list[torch.Tensor]:
    """Work for longer than the slice of time that the system gives a thread."""
    return [torch.softmax(x, -1) for x in inputs]


@contextlib.contextmanager
def busy_processes(count: int) -> Iterator[None]:
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def quantile_when_busy(quantile: float) -> Callable[[Place, Step, int], float]:
    """A clock that gives a quantile of many single steps, taken while others want the processors, too."""

    def clock(place: Place, step: Step, _count: int) -> float:
        times = []
        with busy_processes(4):
            for _ in range(SAMPLES):
                start = time.perf_counter()
                held = step()
                place.wait(held)
                times.append(time.perf_counter() - start)
                del held
        return sorted(times)[int(quantile * (len(times) - 1))]

    return clock


ROWS = (
    Row(
        "8-element add, from C++",
        "what does one recorded add cost, its tensor included?",
        build=add_from_cpp,
        steps_in_one=OPS,
        clock=reported_nanoseconds,
        only=frozenset({"spyre", "eager", "lazy_ts"}),
        family="add from C++",
    ),
    Row(
        "8-element add, from Python",
        "what does one add cost, with its share of flush and run?",
        build=op_from_python,
        jax=op_from_python,
        steps_in_one=OPS,
        family="add from Python",
    ),
    Row(
        "body of 64 ops on 8 elements",
        "what does a small repeated program cost?",
        build=function(body, (SMALL,)),
        jax=function(body, (SMALL,)),
    ),
    *(
        Row(
            f"plan hit, {ops} ops",
            "what do key, look-up and submission of a known trace cost?",
            build=alternating(ops),
            clock=submission,
            only=SPYRE,
            family=f"plan hit, {ops}",
        )
        for ops in (16, 256)
    ),
    Row(
        "flush to result, 1 op",
        "how long does a wait for one small op take?",
        build=alternating(1),
        clock=flush_to_result,
        only=SPYRE,
        family="flush to result",
    ),
    Row(
        "compile, the slowest of 5 kernels",
        "how long does one kernel take to compile?",
        build=compile_each,
        clock=slowest_compile,
        only=SPYRE,
        family="compile",
    ),
    Row(
        "scalar read every 2 ops",
        "what does a value that Python looks at cost?",
        build=read_every_second,
        jax=read_every_second_jax,
        steps_in_one=READS,
        family="scalar reads",
    ),
    Row(
        "256 random sizes of one program",
        "what does a new size cost?",
        build=many_sizes,
        jax=many_sizes,
        family="sizes",
        cost=Cost(bytes=4 * 64 * 256 * SIZES),
    ),
    *(
        Row(name, "part of the overlap", overlap(copies=name == COPIED, computes=name == COMPUTED), only=SPYRE)
        for name in (COPIED, COMPUTED)
    ),
    Row(
        "next batch copied while this one is computed with",
        "do the transfer and compute pipelines overlap?",
        overlap(copies=True, computes=True),
        only=SPYRE,
        family="overlap",
        parts=(COPIED, COMPUTED),
    ),
    Row(
        MEDIAN_WHEN_BUSY,
        "what do threads cost that have to wait for a processor?",
        build=function(four_softmaxes, *4 * ((4096, 1024),)),
        clock=quantile_when_busy(0.5),
        only=SPYRE,
    ),
    Row(
        "4 softmaxes, 4096 x 1024, beside 4 busy processes, 99th percentile",
        "does a step ever wait for a thread that has lost its processor?",
        build=function(four_softmaxes, *4 * ((4096, 1024),)),
        clock=quantile_when_busy(0.99),
        only=SPYRE,
        family="tail on a busy machine",
        parts=(MEDIAN_WHEN_BUSY,),
    ),
)
