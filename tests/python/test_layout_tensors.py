"""Upstream's helpers of torch_spyre._C for tensors and their layouts, and its rule for element arrangements."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from torch_spyre import _C as upstream  # noqa: N811
from torch_spyre import layout_tensors
from torch_spyre._layout_use import UPSTREAM_TENSORS
from torch_spyre.layouts import ElementArrangement, SpyreTensorLayout, is_ea_compatible

COLUMNS = SpyreTensorLayout([512, 256], [256, 1], torch.float16, [1, 0])
ROWS = SpyreTensorLayout([512, 256], torch.float16)


def numbers():
    return torch.arange(512 * 256, dtype=torch.float32).remainder(1000).to(torch.float16).reshape(512, 256)


def test_a_tensors_layout_can_be_asked_for_and_changed():
    x = numbers().to("spyre")
    assert upstream.get_spyre_tensor_layout(x) == ROWS
    upstream.set_spyre_tensor_layout(x, COLUMNS)
    assert upstream.get_spyre_tensor_layout(x) == x.device_tensor_layout() == COLUMNS
    assert torch.equal(x.cpu(), numbers())
    assert torch.equal((x + 1).cpu(), numbers() + 1)
    with pytest.raises(ValueError, match="on cpu has no device layout"):
        upstream.get_spyre_tensor_layout(numbers())
    with pytest.raises(ValueError, match="on cpu has no device layout"):
        upstream.set_spyre_tensor_layout(numbers(), COLUMNS)


def test_a_parameter_keeps_its_gradient_when_its_layout_changes():
    weight = torch.nn.Parameter(numbers().to("spyre"))
    upstream.set_spyre_tensor_layout(weight, COLUMNS)
    weight.sum().backward()
    assert weight.is_leaf
    assert torch.equal(weight.grad.cpu(), torch.ones(512, 256, dtype=torch.float16))


def test_a_tensor_is_made_in_a_layout():
    x = upstream.spyre_empty_with_layout([512, 256], [256, 1], torch.float16, COLUMNS)
    assert x.device_tensor_layout() == COLUMNS
    assert x.shape == (512, 256)
    with pytest.raises(ValueError, match="contiguous"):
        upstream.spyre_empty_with_layout([512, 256], [1, 512], torch.float16, COLUMNS)


def test_views_have_the_layout_of_their_memory():
    x = numbers().to("spyre", device_layout=COLUMNS).requires_grad_()
    flat = upstream.reinterpret_tensor(x, [256], [1], 256)
    assert torch.equal(flat.cpu(), numbers()[1])
    assert not flat.requires_grad
    assert torch.equal(upstream.reinterpret_tensor(flat, [256], [1], 256).cpu(), numbers()[2])
    for view in (
        upstream.as_strided_with_layout(x, [2, 3], [256, 1], 5, COLUMNS),
        upstream.reinterpret_tensor_with_layout(x, [2, 3], [256, 1], 5, COLUMNS),
    ):
        assert torch.equal(view.detach().cpu(), numbers()[:2, 5:8])
    for helper in (upstream.as_strided_with_layout, upstream.reinterpret_tensor_with_layout):
        with pytest.raises(ValueError, match="copy to another one with"):
            helper(x, [2, 3], [256, 1], 5, ROWS)


def test_copies_and_fills_are_of_the_view():
    x = torch.zeros(4, 6, device="spyre")
    assert upstream.fill_tensor(x[1], 2.5) is not None
    upstream.copy_tensor(torch.ones(6), x[2], False)
    upstream.copy_tensor(x[2], x[3])
    assert x.cpu().tolist() == [[0] * 6, [2.5] * 6, [1] * 6, [1] * 6]
    with pytest.raises(AttributeError, match="has no attribute 'free_runtime'"):
        _ = upstream.free_runtime


def test_which_element_arrangements_meet():
    standard, wide, narrow = (
        ElementArrangement.STANDARD,
        ElementArrangement.DL16_TO_FP32,
        ElementArrangement.FP32_TO_DL16,
    )
    exx2 = ElementArrangement.EXX2
    assert is_ea_compatible([standard, standard])
    assert is_ea_compatible([wide, wide, wide])
    assert is_ea_compatible([exx2, exx2])
    assert not is_ea_compatible([wide, standard])
    assert is_ea_compatible([wide, standard, wide, standard], [False, True, False, True])
    assert not is_ea_compatible([wide, standard, standard], [False, True, False])
    assert not is_ea_compatible([wide, narrow], [True, True])
    assert not is_ea_compatible([exx2, standard], [False, True])
    assert is_ea_compatible([])
    assert not is_ea_compatible([ROWS.with_element_arrangement(wide), ROWS])
    assert is_ea_compatible([ROWS, COLUMNS])
    with pytest.raises(ValueError, match="2 operands, and 1 words"):
        is_ea_compatible([wide, wide], [True])


def test_names_are_known_without_the_module_that_has_them():
    assert set(layout_tensors.__all__) == UPSTREAM_TENSORS
    program = """
import sys
import torch, torch_spyre
from torch_spyre import _C
assert not hasattr(_C, "nothing")
assert "torch_spyre.layouts" not in sys.modules
assert _C.copy_tensor is sys.modules["torch_spyre.layout_tensors"].copy_tensor
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
