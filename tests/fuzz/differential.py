"""python -m tests.fuzz.differential: one call of each registered operator after the other, on the CPU and on spyre.

Arguments are small and often fit. Told is what CPU does and the device does not, or with other types, sizes or values;
--errors tells exceptions of another type, --strides results that lie otherwise. Calls that end the process are told as
such, and some end it on the CPU, too: these are tests.fuzz.malformed's business.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import zip_longest
from multiprocessing import get_context
from random import Random
from typing import Any, NamedTuple

import torch

from . import malformed
from .malformed import Maker

SHAPES = [(3, 3), (2, 3), (4,), (3,), (), (2, 3, 4), (1, 2, 4, 4), (2, 2, 3, 3), (0,), (2, 0, 3), (5, 1)]
TYPES = [
    *[torch.float32] * 6,
    *[torch.int64] * 2,
    *(torch.float64, torch.int32, torch.bool, torch.float16, torch.bfloat16, torch.complex64, torch.uint8),
]
INDICES = [torch.int64, torch.float32, torch.bool, torch.int64, torch.int32]
# Random numbers, addresses, memory that nobody wrote, layouts that are not on the device, other devices' operators.
LEFT_OUT = (
    *("rand", "normal", "bernoulli", "dropout", "multinomial", "uniform", "exponential", "poisson", "geometric"),
    *("cauchy", "rrelu", "empty", "gamma", "dirichlet", "binomial", "resize", "flash", "efficient", "data_ptr"),
    *("philox", "seed", "shuffle", "cudnn", "miopen", "mkldnn", "quant", "nested", "sparse", "jagged", "lazy_clone"),
    *("pin", "record_stream", "fbgemm", "storage", "set", "csr", "csc", "bsr", "bsc", "mps", "vulkan", "to_mkl"),
    *("get_device", "fake_", "q_", "int_repr", "convolution_overrideable", "convolution_backward_overrideable"),
)


def operators() -> list[str]:
    """Public ones."""
    names = [name for name in malformed.operators() if not name.startswith("_")]
    return [name for name in names if not any(part in name for part in LEFT_OUT)]


class Tensors:
    """Tensors that often go together: most of a call's are of one shape and type. For one call."""

    def __init__(self, random: Random) -> None:
        self.shape, self.dtype = random.choice(SHAPES), random.choice(TYPES)

    def __call__(self, random: Random, device: str) -> torch.Tensor:
        shape, dtype = self.shape, self.dtype
        if random.random() < 0.35:
            shape = random.choice([shape, shape[:1], shape[::-1], (), (3,), (2, 3)])
        if random.random() < 0.25:
            dtype = random.choice(INDICES)
        values = [random.choice([0, 1, 2, 1, 2, 0.5, -1, 1.5, 3]) for _ in range(torch.Size(shape).numel())]
        tensor = torch.tensor(values, dtype=torch.float64).reshape(shape).to(dtype).to(device)
        look = random.randrange(8)
        if look == 0 and tensor.dim() > 1:
            return tensor.transpose(0, -1)
        return tensor[..., ::2] if look == 1 and tensor.dim() > 0 else tensor


MAKERS: dict[str, Maker] = {
    **malformed.MAKERS,
    **dict.fromkeys(("int", "SymInt"), lambda r, _: r.choice([0, 1, 1, 2, 2, 3, -1, 4])),
    "float": lambda r, _: r.choice([0.0, 1.0, 0.5, 2.0, -1.0, 0.1]),
    **dict.fromkeys(("number", "Scalar"), lambda r, _: r.choice([0, 1, 2, 3, 1.5, -1, 0.5, 2.0])),
    "str": lambda r, _: r.choice(["sum", "mean", "none", "floor", "trunc", "reflect", "ij", "tanh"]),
    "Device": lambda _, device: torch.device(device),
    "Generator": lambda *_: None,
    "Layout": lambda *_: torch.strided,
    "ScalarType": lambda r, _: r.choice(TYPES),
}


class Outcome(NamedTuple):
    error: str  # its type's name; empty if there was none
    text: str
    values: list[Any]  # results, and the arguments as they are after the call


def leaves(value: Any) -> list[Any]:
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def outcome(name: str, seed: int, device: str) -> Outcome:
    random = Random(f"{name} {seed}")
    positional, keywords = malformed.arguments(name, random, device, {**MAKERS, "Tensor": Tensors(random)})
    try:
        result = malformed.overload(name)(*positional, **keywords)
        values = leaves([result, positional, list(keywords.values())])
        return Outcome("", "", [(v.stride(), v.cpu()) if isinstance(v, torch.Tensor) else v for v in values])
    except Exception as error:
        for _ in range(2):  # what else the call left to be raised
            with contextlib.suppress(Exception):
                malformed.finish(device)
        return Outcome(type(error).__name__, str(error).partition("\n")[0], [])


def values_differ(expected: torch.Tensor, found: torch.Tensor) -> bool:
    tolerance = 2e-2 if expected.dtype in (torch.float16, torch.bfloat16) else 1e-4
    try:
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError:
        return True
    return False


def value_difference(expected: Any, found: Any, strides: bool) -> str | None:
    """Of one value that a call gave or changed. Devices and generators differ as they should."""
    if type(expected) is not type(found):
        return f"{expected} | {found}"
    if not isinstance(expected, tuple):
        number = isinstance(expected, (bool, int, float, complex))
        differ = number and values_differ(torch.tensor(expected), torch.tensor(found))
        return f"{expected} | {found}" if differ else None
    (laid, e), (laid_here, f) = expected, found
    if e.is_sparse:
        return None
    if strides and laid != laid_here:
        return f"strides {laid} | {laid_here}"
    if not values_differ(e, f):
        return None
    return f"{e.dtype} {tuple(e.shape)} {e.flatten()[:4]} | {f.dtype} {f.flatten()[:4]}"


def difference(name: str, seed: int, options: argparse.Namespace) -> str | None:
    expected, found = (outcome(name, seed, device) for device in ("cpu", "spyre"))
    if expected.error != found.error:
        serious = not expected.error
        told = f"{expected.error or 'no error'}: {expected.text} | {found.error or 'no error'}: {found.text}"
        return told if serious or options.errors else None
    pairs = zip_longest(expected.values, found.values)
    return next((told for e, f in pairs if (told := value_difference(e, f, options.strides))), None)


def differences(name: str, options: argparse.Namespace) -> list[str]:
    warnings.simplefilter("ignore")
    told = ((seed, difference(name, seed, options)) for seed in range(*options.seeds))
    return [f"{name} {seed}: {text}" for seed, text in told if text]


def run(names: list[str], options: argparse.Namespace) -> Iterator[str]:
    """In a process of its own, which is replaced when an operator ends it."""
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    for name in names:
        try:
            yield from pool.submit(differences, name, options).result()
        except BrokenProcessPool:
            yield f"{name}: the process ended"
            pool = ProcessPoolExecutor(1, get_context("spawn"))
    pool.shutdown()


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 8), metavar=("FIRST", "END"))
    parser.add_argument("--only", nargs="*", default=[], metavar="PART")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("--strides", action="store_true")
    options = parser.parse_args(words)
    names = [n for n in operators() if not options.only or any(part in n for part in options.only)]
    print(f"{len(names)} operators", flush=True)
    found = 0
    for text in run(names, options):
        found += 1
        print(text, flush=True)
    print(f"{found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
