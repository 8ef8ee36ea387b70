"""Derivatives of attention in short types are as right as CPU's, which keeps scores and their gradients in float32."""

from __future__ import annotations

import pytest
import torch

from . import op_db
from .op_outcomes import Refusal

NAME = "nn.functional.scaled_dot_product_attention"
SHORT = (torch.float16, torch.bfloat16)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["gradient", "second gradient"])
@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_gradients(way: str, dtype: torch.dtype) -> None:
    """CPU's fused kernel has no second derivative: there, ours are no difference of values."""
    found = op_db.differences(way, NAME, dtype, 100)
    assert [text for text in found if not text.startswith("did not raise")] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", SHORT, ids=str)
def test_forward_mode(dtype: torch.dtype) -> None:
    """Wherever CPU has it: not in its fused kernel."""
    op = op_db.OPERATORS[NAME]
    asked = 0
    for which, sample in enumerate(op_db.samples_of(op, dtype, range(100), True)):
        if isinstance(op_db.seeded(op_db.tangent, op, sample, "cpu"), Refusal):
            continue
        asked += 1
        (trial,) = op_db.trials("tangent", NAME, dtype, range(which, which + 1))
        assert trial.difference is None, (which, trial.difference)
    assert asked > 9
