"""Every operator that PyTorch describes does on spyre what it does on CPU: values, types, strides, errors; called
plainly, in place, with out=, and backward.

SPYRE_OP_DB=full tries every type and more samples, for some minutes.
"""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

import pytest
import torch

from . import op_db

FULL = os.environ.get("SPYRE_OP_DB") == "full"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
TYPES = [*FLOATS, torch.complex64, torch.int64, torch.int32, torch.uint8, torch.bool]
QUICK = {torch.float32: tuple(op_db.WAYS), torch.int64: ("forward",)}
SAMPLES = dict.fromkeys(op_db.WAYS, 8) if FULL else {"forward": 2, "in place": 2, "out": 1, "gradient": 1, "errors": 9}


class Exclusion(NamedTuple):
    """Held to: an excluded call that works fails the test."""

    operator: str
    ways: tuple[str, ...]
    why: str
    types: tuple[torch.dtype, ...] | None = None  # None: whatever the type


NOT_STRIDED = "only strided tensors are on the device"
ON_HOST = "which parts there are is read on the host: it has to be a CPU tensor, as on CUDA"
LOST = "PyTorch loses results on their way to a tensor that is not contiguous"
EXCLUSIONS = [
    Exclusion("sparse.sampled_addmm", ("forward", "out", "gradient"), NOT_STRIDED),
    Exclusion("sparse.mm.reduce", ("forward", "gradient"), NOT_STRIDED),
    Exclusion("to_sparse", ("forward", "gradient"), NOT_STRIDED),
    Exclusion("tensor_split", ("forward", "gradient"), ON_HOST),
    Exclusion("narrow_copy", ("errors",), "CPU's error is an assertion of its own; ours is an IndexError"),
    Exclusion("nansum", ("out",), "CPU computes it for integers, but not into them", FLOATS),
    Exclusion("nanmean", ("out",), "CPU has another error for results that are no floats", FLOATS),
    Exclusion("fft.ihfft2", ("out",), LOST),
    Exclusion("fft.ihfftn", ("out",), LOST),
]
EXCLUDED = {(e.operator, way): e for e in EXCLUSIONS for way in e.ways}


def exclusion(way: str, name: str, dtype: torch.dtype) -> Exclusion | None:
    found = EXCLUDED.get((name, way))
    return found if found and (found.types is None or dtype in found.types) else None


def is_tried(way: str, name: str, dtype: torch.dtype) -> bool:
    if not op_db.applies(way, op_db.OPERATORS[name], dtype):
        return False
    if way == "errors":  # the same for all types
        return dtype == torch.float32
    return FULL or way in QUICK.get(dtype, ())


def tries(name: str) -> list[tuple[str, torch.dtype]]:
    return [(way, dtype) for way, dtype in itertools.product(op_db.WAYS, TYPES) if is_tried(way, name, dtype)]


def complaints(way: str, name: str, dtype: torch.dtype) -> list[str]:
    excluded = exclusion(way, name, dtype)
    samples = 10_000 if excluded else SAMPLES[way]
    differences = op_db.differences(way, name, dtype, samples)
    if excluded:
        return [] if differences else [f"works, but is excluded: {excluded.why}"]
    return list(dict.fromkeys(differences))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """The samples are small: CPU's threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", op_db.OPERATORS)
def test_operators_do_what_they_do_on_cpu(name: str):
    found = [f"{way}, {dtype}: {text}" for way, dtype in tries(name) for text in complaints(way, name, dtype)]
    assert not found, "\n".join(found)


def test_exclusions_are_of_calls_that_are_tried():
    for e in EXCLUSIONS:
        assert {way for way, _ in tries(e.operator)} >= set(e.ways), e


def test_a_difference_is_found():
    half = op_db.difference(torch.tensor([1.0, 0.5]), torch.tensor([1.0, 1.0]))
    assert half is not None
    assert op_db.difference(torch.ones(2), torch.ones(2)) is None
    assert op_db.difference(torch.ones(2), torch.ones(2, dtype=torch.float64)) is not None
    assert op_db.difference(op_db.Refusal(TypeError, ""), op_db.Refusal(RuntimeError, "")) is not None
    assert op_db.difference(torch.ones(2), op_db.Refusal(RuntimeError, "")) is not None
