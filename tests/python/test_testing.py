"""torch_spyre.testing: what it lets pass, what it tells, what it counts."""

from __future__ import annotations

import pytest
import torch
from torch_spyre.testing import compare_with_cpu, counting, to_device, ulps_apart


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.GELU(), torch.nn.Linear(8, 2))


def test_a_module_agrees_and_stays_where_it_was():
    layers, x = model(), torch.randn(5, 6, requires_grad=True)
    counted = compare_with_cpu(layers, x, backward=True, fallbacks=(), rtol=1e-4, atol=1e-5)
    assert counted["dispatches"] > 4
    assert {parameter.device.type for parameter in layers.parameters()} == {"cpu"}
    assert x.grad is None
    assert int(layers[1].num_batches_tracked) == 0


def test_structures_and_changes_in_place_are_compared():
    def program(tensors, layers):
        tensors["x"].mul_(2)
        return {"sum": tensors["x"].sum(0), "also": [layers[0](tensors["x"]), 3, "text"]}

    compare_with_cpu(program, {"x": torch.randn(4, 3).T}, (torch.nn.Linear(4, 2),), rtol=1e-4, atol=1e-5)


def wrong_on(device: str, **how):
    """A function that errs on one device."""

    def program(x, y):
        if x.device.type == device:
            how.get("spoil", lambda *_: None)(x, y)
        return x + how.get("off", 0) if x.device.type == device else x + 0, y * 2

    return program


def test_a_wrong_result_is_told_by_its_place():
    with pytest.raises(AssertionError, match=r"(?s)spyre is not as CPU is.*result\[0\]: .*Mismatched elements: 3 / 3"):
        compare_with_cpu(wrong_on("spyre", off=1), torch.ones(3), torch.ones(2))


def test_a_wrong_change_in_place_is_told():
    with pytest.raises(AssertionError, match=r"inputs\[1\]: "):
        compare_with_cpu(wrong_on("cpu", spoil=lambda _, y: y.add_(1)), torch.ones(3), torch.ones(2))


def test_a_wrong_gradient_is_told():
    def program(layer, x):
        y = layer(x)
        if x.device.type == "spyre":
            y.register_hook(lambda gradient: gradient * 2)
        return y

    with pytest.raises(AssertionError, match=r"gradient of inputs\[0\]\.weight: "):
        compare_with_cpu(program, torch.nn.Linear(3, 2), torch.ones(4, 3), backward=True)


def test_bounds_in_ulps():
    x = torch.linspace(-3, 3, 100)
    compare_with_cpu(torch.exp, x, ulp=2)
    with pytest.raises(AssertionError, match="units in the last place apart, 2 are allowed"):
        compare_with_cpu(wrong_on("spyre", off=1e-3), x, x, ulp=2)
    assert ulps_apart(torch.tensor([1.0, float("nan")]), torch.tensor([1.0 + 2**-23, float("nan")])) == 1
    for found, expected in [(1.0, float("inf")), (float("nan"), float("inf")), (float("-inf"), float("inf"))]:
        assert ulps_apart(torch.tensor([found]), torch.tensor([expected])) == float("inf")


def sums_on_the_host(x: torch.Tensor) -> torch.Tensor:
    return torch.segment_reduce(x, "sum", lengths=torch.full((1,), x.shape[0], device=x.device))


def test_work_on_the_host_is_told_if_it_is_not_allowed():
    x = torch.tensor([1.0, 1.0, 2.0])
    assert compare_with_cpu(sums_on_the_host, x)["fallbacks"] == {"aten::segment_reduce": 1}
    compare_with_cpu(sums_on_the_host, x, fallbacks=["aten::segment_reduce"])
    with pytest.raises(AssertionError, match="ran on the host: aten::segment_reduce"):
        compare_with_cpu(sums_on_the_host, x, fallbacks=())


def test_backward_needs_something_to_go_back_to():
    with pytest.raises(ValueError, match="set requires_grad on an input"):
        compare_with_cpu(torch.exp, torch.ones(3), backward=True)


def test_counting_is_about_the_block():
    x = torch.ones(7, device="spyre")
    sums_on_the_host(x)
    (x * 3 + 1).sum().item()
    with counting() as counted:
        (x * 3 + 1).sum().item()
    assert counted["plan_cache"]["hits"] == 1
    assert counted["kernels_compiled"] == 0
    assert counted["fallbacks"] == {}
    assert counted["flushes"]["item"] == 1


def test_copies_keep_their_arrangement():
    x = torch.arange(24.0).view(4, 6)[1:, ::2].T.requires_grad_()
    moved = to_device([x, 1])[0]
    assert (moved.device.type, moved.stride(), moved.storage_offset()) == ("spyre", x.stride(), x.storage_offset())
    assert moved.requires_grad
    assert moved.is_leaf
