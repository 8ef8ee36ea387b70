"""Every operator that PyTorch describes does on spyre what it does on CPU: values, types, strides, errors; called
plainly, in place, with out=, and backward.

SPYRE_OP_DB=full tries every type and more samples, for some minutes; tests.ops.coverage tries everything.
"""

from __future__ import annotations

import itertools
import os

import pytest
import torch

from . import op_db, op_outcomes
from .exclusions import EXCLUSIONS, exclusion

FULL = os.environ.get("SPYRE_OP_DB") == "full"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
TYPES = [*FLOATS, torch.complex64, torch.int64, torch.int32, torch.uint8, torch.bool]
FEW = {"forward": 2, "in place": 2, "out": 1, "gradient": 1, "second gradient": 1, "tangent": 1, "errors": 9}
SAMPLES = dict.fromkeys(op_db.WAYS, 8) if FULL else FEW
QUICK = {torch.float32: tuple(FEW), torch.int64: ("forward",)}


def is_tried(way: str, name: str, dtype: torch.dtype) -> bool:
    if not op_db.applies(way, op_db.OPERATORS[name], dtype):
        return False
    if way == "errors":  # the same for all types
        return dtype == torch.float32
    return FULL or way in QUICK.get(dtype, ())


def tries(name: str) -> list[tuple[str, torch.dtype]]:
    return [(way, dtype) for way, dtype in itertools.product(op_db.WAYS, TYPES) if is_tried(way, name, dtype)]


def complaints(way: str, name: str, dtype: torch.dtype) -> list[str]:
    excluded = exclusion(way, name, str(dtype).removeprefix("torch."))
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


def test_exclusions_are_of_calls_that_there_are():
    for e in EXCLUSIONS:
        assert all(op_db.applies(way, op_db.OPERATORS[e.operator], torch.float32) for way in e.ways), e


def test_a_difference_is_found():
    half = op_outcomes.difference(torch.tensor([1.0, 0.5]), torch.tensor([1.0, 1.0]))
    assert half is not None
    assert op_outcomes.difference(torch.ones(2), torch.ones(2)) is None
    assert op_outcomes.difference(torch.ones(2), torch.ones(2, dtype=torch.float64)) is not None
    assert op_outcomes.difference(op_outcomes.Refusal(TypeError, ""), op_outcomes.Refusal(RuntimeError, "")) is not None
    assert op_outcomes.difference(torch.ones(2), op_outcomes.Refusal(RuntimeError, "")) is not None
