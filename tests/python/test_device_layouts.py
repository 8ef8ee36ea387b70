"""Tensors that the card keeps in a chosen layout: whatever is done to them is what CPU gives."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch_spyre.layouts import DataFormats, SpyreTensorLayout


def layout_for(tensor: torch.Tensor, order: list[int]) -> SpyreTensorLayout:
    return SpyreTensorLayout(tensor.size(), tensor.contiguous().stride(), tensor.dtype, order)


@pytest.fixture(params=[[0, 1], [1, 0], [0, 1, -1]], ids=["rows", "columns", "sparse"])
def pair(request) -> tuple[torch.Tensor, torch.Tensor]:
    """A CPU tensor and the same one in sticks."""
    cpu = torch.randn(5, 70, generator=torch.Generator().manual_seed(1))
    return cpu, cpu.to("spyre", device_layout=layout_for(cpu, request.param))


def test_there_and_back(pair, stats):
    cpu, spyre = pair
    assert torch.equal(spyre.cpu(), cpu)
    assert stats()["relayouts"] == 0  # arranged on the host
    assert stats()["bytes_d2h"] == spyre.device_tensor_layout().nbytes


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.bool, torch.int64, torch.int32, torch.int16,
                                   torch.int8, torch.uint8, torch.float8_e4m3fn], ids=str)  # fmt: skip
def test_every_dtype_of_the_card(dtype):
    cpu = (torch.arange(350) % 100).reshape(5, 70).to(dtype)
    spyre = cpu.to("spyre", device_layout=layout_for(cpu, [1, 0]))
    assert torch.equal(spyre.cpu().view(torch.uint8), cpu.view(torch.uint8))


def test_operators_do_not_mind(pair):
    cpu, spyre = pair
    assert torch.equal((spyre * 2 + spyre).relu().cpu(), (cpu * 2 + cpu).relu())
    assert torch.equal(spyre.amax(1).cpu(), cpu.amax(1))
    assert torch.equal((spyre + cpu.to("spyre")).cpu(), cpu + cpu)
    torch.testing.assert_close((spyre @ spyre.T).cpu(), cpu @ cpu.T)
    assert torch.equal(torch.cat([spyre, spyre[1:3]]).cpu(), torch.cat([cpu, cpu[1:3]]))
    assert torch.equal(spyre.sort(1).values.cpu(), cpu.sort(1).values)
    assert torch.equal(spyre.mode(1).values.cpu(), cpu.mode(1).values)  # on the host
    assert spyre[3, 69].item() == cpu[3, 69].item()


def test_writes_in_place_and_through_views(pair):
    cpu, spyre = pair[0].clone(), pair[1]
    for tensor in (cpu, spyre):
        tensor[1:3] *= -1
        tensor.T[65:].fill_(3)
        tensor[:, ::2].copy_(torch.ones(5, 35))
        tensor.view(-1)[7:9].zero_()
        tensor.clamp_(max=2)
    assert torch.equal(spyre.cpu(), cpu)
    layout = spyre.device_tensor_layout()
    assert spyre[2:].device_tensor_layout() == layout


def test_a_remembered_call_sees_a_layout_that_comes_later(pair, stats):
    cpu, spyre = pair
    plain = cpu.to("spyre")
    for _ in range(3):  # ruled, remembered, remembered
        assert torch.equal((plain * 2).cpu(), cpu * 2)
    rulings = stats()["rulings_made"]
    assert torch.equal((spyre * 2).cpu(), cpu * 2)
    assert torch.equal((plain * 2).cpu(), cpu * 2)
    for tensor in (plain, spyre, spyre, plain):
        assert torch.equal(tensor.add_(1).cpu(), tensor.cpu())
    assert torch.equal(spyre.cpu(), cpu + 1 + 1)
    assert stats()["rulings_made"] - rulings <= 1  # of add_


def test_memory_of_sticks_does_not_serve_as_sticks_again(pair):
    cpu, spyre = pair
    layout = spyre.device_tensor_layout()
    before = torch.spyre.memory_allocated()
    kept = cpu.to("spyre", device_layout=layout)
    assert torch.spyre.memory_allocated() - before == layout.nbytes
    del kept
    assert torch.spyre.memory_allocated() == before
    fresh = [torch.full((5, 70), 7.0, device="spyre") for _ in range(4)]
    assert all(torch.equal(t.cpu(), torch.full((5, 70), 7.0)) for t in fresh)
    assert torch.equal(spyre.cpu(), cpu)


def test_modules_give_weights_the_layouts_of_upstream():
    model = torch.nn.ModuleDict(
        {"embed": torch.nn.Embedding(10, 64), "odd": torch.nn.Embedding(10, 40), "linear": torch.nn.Linear(64, 96)}
    )
    indices = torch.tensor([3, 9])
    expected = model["linear"](model["embed"](indices)).detach()
    parameters = list(model.parameters())
    model.to("spyre", device_layouts=True)
    assert [a is b for a, b in zip(model.parameters(), parameters, strict=True)] == [True] * 4
    linear, embed = model["linear"].weight, model["embed"].weight
    assert linear.device_tensor_layout() == SpyreTensorLayout([96, 64], [64, 1], torch.float32, [1, 0])
    assert embed.device_tensor_layout() == SpyreTensorLayout([10, 2, 32], [64, 32, 1], DataFormats.IEEE_FP32)
    assert model["odd"].weight.device_tensor_layout() == SpyreTensorLayout([10, 40], torch.float32)
    found = model["linear"](model["embed"](indices.to("spyre")))
    torch.testing.assert_close(found.detach().cpu(), expected)
    found.sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert linear.device_tensor_layout().device_size == [3, 64, 32]


def test_the_host_writes_too(pair):
    cpu, spyre = pair[0].clone(), pair[1]
    mask = torch.zeros(5, 70, dtype=torch.bool)
    mask[2, 60:] = True
    for tensor in (cpu, spyre):
        tensor.put_(torch.tensor([0, 349], device=tensor.device), torch.tensor([9.0, 8.0], device=tensor.device))
    assert torch.equal(spyre.cpu(), cpu)
    assert torch.equal(spyre.masked_select(mask.to("spyre")).cpu(), cpu.masked_select(mask))


def test_from_layout_to_layout(stats):
    cpu = torch.arange(350.0).reshape(5, 70)
    rows, columns = layout_for(cpu, [0, 1]), layout_for(cpu, [1, 0])
    first = cpu.to("spyre", device_layout=rows)
    assert first.to("spyre", device_layout=rows) is first
    assert first.to("spyre", device_layout=rows, copy=True) is not first
    second = first.to("spyre", device_layout=columns)
    assert stats()["relayouts"] == 1  # from sticks to sticks, without an image
    assert (first.device_tensor_layout(), second.device_tensor_layout()) == (rows, columns)
    assert torch.equal(second.cpu(), cpu)
    assert stats()["bytes_d2h"] == columns.nbytes
    half = first.to(torch.float16, device_layout=SpyreTensorLayout([5, 70], torch.float16))
    assert torch.equal(half.cpu(), cpu.half())


def test_empty_with_a_layout():
    layout = SpyreTensorLayout([5, 70], torch.float32)
    tensor = torch.empty(5, 70, device="spyre", device_layout=layout, requires_grad=True)
    assert tensor.device_tensor_layout() == layout
    assert tensor.requires_grad
    assert tensor.shape == (5, 70)
    assert torch.empty((2, 3)).device.type == "cpu"


def test_explicit_layouts():
    cpu = torch.arange(2400, dtype=torch.float16).reshape(40, 60)
    for device_size, stride_map in [
        ([1, 512, 64], [64, 60, 1]),
        ([38, 64], [64, 1]),
        ([24, 1, 2, 64], [60, 64, 1440, 1]),
    ]:
        layout = SpyreTensorLayout(device_size, stride_map, DataFormats.SEN169_FP16)
        spyre = cpu.to("spyre", device_layout=layout)
        assert torch.equal(spyre.cpu(), cpu)
        assert torch.equal((spyre + 1).cpu(), cpu + 1)


def test_autograd_passes_through():
    weight = torch.randn(5, 70, requires_grad=True)
    kept = weight.to("spyre", device_layout=layout_for(weight, [1, 0]))
    (kept * kept).sum().backward()
    torch.testing.assert_close(weight.grad, 2 * weight.detach())


def test_tensors_without_a_chosen_layout_have_the_cards():
    spyre = torch.zeros(5, 70, device="spyre")
    assert spyre.device_tensor_layout() == SpyreTensorLayout([5, 70], torch.float32)
    assert spyre[1:, ::2].device_tensor_layout() == spyre.device_tensor_layout()
    assert torch.zeros(5).device_tensor_layout() is None


def test_copies_resizes_and_pickles(pair):
    cpu, spyre = pair
    assert torch.equal(copy.deepcopy(spyre).cpu(), cpu)
    assert torch.equal(spyre.clone().cpu(), cpu)
    file = io.BytesIO()
    torch.save(spyre, file)
    file.seek(0)
    assert torch.equal(torch.load(file).cpu(), cpu)
    spyre.resize_(9, 70)
    assert torch.equal(spyre[:5].cpu(), cpu)


def test_what_does_not_fit_is_refused():
    cpu = torch.zeros(5, 70)
    with pytest.raises(ValueError, match="does not hold"):
        cpu.to("spyre", device_layout=SpyreTensorLayout([4, 70], torch.float32))
    with pytest.raises(TypeError, match="the card keeps"):
        cpu.to("spyre", device_layout=SpyreTensorLayout([5, 70], torch.float16))
    with pytest.raises(ValueError, match="expected a spyre device"):
        cpu.to(device_layout=SpyreTensorLayout([5, 70], torch.float32))


def test_what_takes_layouts_is_still_what_pytorch_lists(run_python):
    child = run_python("""
import torch
torch.spyre.SpyreTensorLayout
torch.set_default_device("spyre")
x = torch.nn.Linear(2, 3).weight
double = torch.compile(lambda t: t.to(torch.float64) * 2, fullgraph=True, backend="eager")
print(x.device, double(x).dtype, torch.empty(2).device)
""")
    assert child.stdout.split() == ["spyre:0", "torch.float64", "spyre:0"], child.stderr


def test_torch_is_untouched_until_a_layout_is_named(run_python):
    child = run_python(
        "import torch; before = torch.empty, torch.Tensor.to; torch.zeros(3, device='spyre').cpu();"
        "print(before == (torch.empty, torch.Tensor.to)); torch.spyre.SpyreTensorLayout;"
        "print(before == (torch.empty, torch.Tensor.to))"
    )
    assert child.stdout.split() == ["True", "False"], child.stderr


@pytest.mark.parametrize("variables", [{"SPYRE_MODE": "eager"}, {"SPYRE_EXEC": "scalar"}, {"SENCORES": "1"}])
def test_the_same_bits_however_it_runs(run_python, variables):
    code = (
        "import torch; from torch_spyre.layouts import SpyreTensorLayout as L; import hashlib;"
        "torch.manual_seed(0); layout = L([33, 70], [70, 1], torch.float32, [1, 0]);"
        "x = torch.randn(33, 70).to('spyre', device_layout=layout);"
        "x[3:9] += 1; y = (x.softmax(1) * x.exp()).sum(0) + x.mean(0);"
        "print(hashlib.sha256(y.cpu().numpy().tobytes() + x.cpu().numpy().tobytes()).hexdigest())"
    )
    assert run_python(code, **variables).stdout == run_python(code).stdout != ""
