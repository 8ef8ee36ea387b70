"""What does not compile says what, where, and what to do."""

from __future__ import annotations

import json
import re

import pytest
import torch
from torch._dynamo.utils import counters
from torch_spyre import _C
from torch_spyre.inductor import loop_program


def without_erf(x: torch.Tensor) -> torch.Tensor:
    return torch.erf(x) * 2


def test_unsupported_loops_name_operator_line_and_remedy(monkeypatch) -> None:
    monkeypatch.setattr(loop_program, "row_for", lambda *_: None)
    with pytest.raises(Exception, match=re.escape("torch.compile on spyre: there are no operations for")) as raised:
        torch.compile(without_erf)(torch.randn(8, device="spyre"))
    message = str(raised.value)
    assert "the op 'erf' of torch.float32" in message
    assert "aten.erf.default" in message
    assert "test_errors.py" in message
    assert "torch._dynamo.disable" in message


def test_unsupported_loops_run_eagerly_if_asked(monkeypatch) -> None:
    monkeypatch.setattr(loop_program, "row_for", lambda *_: None)
    monkeypatch.setenv("SPYRE_COMPILE_FALLBACK", "1")
    x = torch.randn(8, device="spyre")
    counters.clear()
    with pytest.warns(UserWarning, match="runs eagerly"):
        found = torch.compile(without_erf)(x)
    assert torch.equal(found.cpu(), without_erf(x).cpu())
    assert counters["spyre"]["compile_fallbacks"] == 1


@pytest.mark.parametrize(
    ("arguments", "inputs", "told"),
    [
        ([False], [], "no argument is on the device"),
        ([True], [("host", 1)] * 2, "no number among the arguments"),
        ([True], [("host", 0)] * 2, "no number among the arguments"),
        ([True], [("call", 0)] * 2, "no number of a call"),
        ([True], [("formula", 0)] * 2, "no number that a call computes"),
    ],
)
def test_programs_that_would_reach_beyond_their_arguments_are_refused(arguments, inputs, told) -> None:
    step = ("add", "float32", "float32", False, [0], 0, inputs, (0, "float32", 1, [2]))
    with pytest.raises(ValueError, match=told):
        _C.prepare_kernel(("kernel", arguments, [3, 0, 1], 0, 0, [], [("float32", [0])], [step]))


@pytest.mark.parametrize(
    ("leaves", "steps", "told"),
    [
        ([], [], "no operation gives it"),
        ([("host", 1, "float32")], [("exp", "float32", "float32", [0])], "no number among the arguments"),
        ([("host", 0, "float32")], [("exp", "float32", "float32", [0])], "no number among the arguments"),
        ([("number", 2, "float32")] * (1 << 15), [("exp", "float32", "float32", [0])], "too many operations"),
        ([("call", 0, "float32")], [("exp", "float32", "float32", [0])], "no number of a call"),
        ([("number", 2, "float16")], [("exp", "float16", "float16", [0])], "not computed with on the host"),
        ([("number", 2, "float32")], [("exp", "float32", "int8", [0])], "not computed with on the host"),
        ([("number", 2, "float32")], [("exp", "float32", "float32", [1])], "not known yet"),
        ([("number", 2, "float32")], [("add", "float32", "float32", [0])], "an op has other inputs"),
    ],
)
def test_numbers_that_follow_from_nothing_are_refused(leaves, steps, told) -> None:
    with pytest.raises(ValueError, match=told):
        _C.prepare_kernel(("kernel", [True], [], 0, 0, [(leaves, steps)], [], []))


def test_a_kernel_takes_tensors_of_the_device() -> None:
    inputs = [("view", 0, "float32", 1, [2])] * 2
    step = ("add", "float32", "float32", False, [0], 0, inputs, (0, "float32", 1, [2]))
    kernel = _C.prepare_kernel(("kernel", [True], [3, 0, 1], 0, 0, [], [], [step]))
    x = torch.ones(3, device="spyre")
    _C.launch_jobplan(kernel, x)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="tensor on cpu"):
        _C.launch_jobplan(kernel, torch.ones(3))


def test_calls_of_generated_code_check_their_arguments() -> None:
    step = ("add", "float32", "float32", False, [0], 0, [("view", 0, "float32", 2, [3])] * 2, (0, "float32", 2, [3]))
    kernel = _C.prepare_kernel(("kernel", [True], [0, 3, 0, 1], 1, 0, [], [], [step]))
    x = torch.ones(3, device="spyre")
    kernel(x, 3)
    assert (kernel.name, kernel.spec, x.tolist()) == ("kernel", None, [2, 2, 2])
    for call in (
        lambda: kernel(x, "3"),
        lambda: kernel(x, n=3),
        _C.launch_jobplan,
        lambda: _C.launch_jobplan(x, 3),
        lambda: _C.empty_strided((3,), (1,), "float32", 0),
        lambda: _C.empty_strided(3, (1,), torch.float32, 0),
        type(kernel),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="got 1 tensors and 0 numbers; expected 1 and 1"):
        kernel(x)


def test_a_tensor_that_does_not_lie_as_compiled_is_refused_as_by_pytorch() -> None:
    theirs, x = torch._C._dynamo.guards.assert_size_stride, torch.ones(1, 3, 4, device="spyre")
    assert _C.assert_size_stride(x, (1, 3, 4), (99, 4, 1), "input")  # of one row, no stride matters
    for sizes, strides in (((1, 3, 5), (12, 4, 1)), ((1, 3, 4), (12, 1, 3)), ((3, 4), (4, 1))):
        with pytest.raises(AssertionError) as expected:
            theirs(x, sizes, strides, "input")
        with pytest.raises(AssertionError, match=re.escape(str(expected.value))):
            _C.assert_size_stride(x, sizes, strides, "input")


def test_faults_are_raised_as_by_eager_code() -> None:
    x, zero = torch.ones(3, dtype=torch.int32, device="spyre"), torch.zeros(3, dtype=torch.int32, device="spyre")
    compiled = torch.compile(lambda x, y: x // y + 1)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, zero).cpu()
    assert compiled(x, x).cpu().tolist() == [2, 2, 2]


def test_failures_of_the_frontend_are_reported(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("TORCH_SPYRE_FFDC_DIR", str(tmp_path))
    monkeypatch.setenv("TORCH_SPYRE_FFDC", "1")
    monkeypatch.setattr(loop_program, "row_for", lambda *_: None)
    with pytest.raises(Exception, match="there are no operations"):
        torch.compile(lambda x: x.exp())(torch.ones(2, device="spyre"))
    reports = [json.loads(path.read_text()) for path in tmp_path.glob("*.json")]
    assert {(report["category"], report["error"]) for report in reports} == {("compile_frontend", "UnsupportedError")}
