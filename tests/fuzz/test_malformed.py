"""Arguments that nobody should pass cause exceptions; what once ended the process stays mended."""

from __future__ import annotations

import os

import pytest
import torch

from . import malformed

SEEDS = int(os.environ.get("SPYRE_MALFORMED_SEEDS", "1"))


def test_every_operator_survives_malformed_arguments() -> None:
    assert list(malformed.failures(malformed.operators(), range(SEEDS))) == []


ROWS, CUBE = (2, 7), (2, 1, 3)
REFUSED = {
    "_thnn_fused_gru_cell": lambda o, t: o(t(CUBE), t(CUBE), t(CUBE)),
    "_thnn_fused_gru_cell_backward": lambda o, t: o(t(ROWS), t(ROWS), False),
    "_thnn_fused_lstm_cell": lambda o, t: o(t(ROWS), t(ROWS), t(ROWS)),
    "_thnn_fused_lstm_cell_backward_impl": lambda o, t: o(None, None, t(ROWS), t(ROWS), t(ROWS), True),
    "convolution_overrideable": lambda o, t: o(t(CUBE), t(CUBE), None, [1], [], [1], False, [0], 1),
    "convolution_backward_overrideable": lambda o, t: o(
        t(CUBE), t(CUBE), t(CUBE), [], [0], [1], False, [0], 1, [True, True, True]
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_ended_the_process_is_refused(name: str) -> None:
    operator = getattr(torch.ops.aten, name)
    with pytest.raises(RuntimeError):
        REFUSED[name](operator, lambda shape: torch.ones(shape, device="spyre"))


def test_a_result_that_is_too_large_is_refused_at_once() -> None:
    number = torch.ones(1, dtype=torch.uint8, device="spyre")
    with pytest.raises(RuntimeError, match="overflowed"):
        torch.linalg.vander(number, N=2**62)


@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_composites_over_raw_memory_run_on_the_host() -> None:
    weight = torch.ones(4, 4)
    expected = torch.fbgemm_linear_quantize_weight(weight)[0]
    assert torch.equal(torch.fbgemm_linear_quantize_weight(weight.to("spyre"))[0].cpu(), expected)
    assert torch.ops.aten._saturate_weight_to_fp16((weight * 1e6).to("spyre")).tolist() == [[65504.0] * 4] * 4
    shape = torch.tensor([2, 8], device="spyre")
    numbers = torch.ones((), dtype=torch.int64, device="spyre")
    assert torch.ops.aten.range.out_(0.0, 3, out=numbers).tolist() == [0, 1, 2, 3]
    assert torch.ops.aten._reshape_from_tensor(weight.to("spyre"), shape).shape == (2, 8)


def test_a_call_that_ends_its_process_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys, os; print('{}', flush=True); sys.stdin.readline(); os.abort()"
    monkeypatch.setattr(malformed, "WORKER", (malformed.WORKER[0], "-c", script))
    found = list(malformed.runs(["sum"], range(2), "spyre"))
    assert [(f.operator, f.seed, f.text) for f in found] == [("sum", seed, "crashes: SIGABRT") for seed in (0, 1)]
