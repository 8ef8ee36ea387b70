"""Tensors that leave and come back: copies of modules, pickles, files, shared weights, loaders, other libraries."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from .same import numbers, same


class Tied(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(10, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.head = torch.nn.Linear(4, 10, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.embed(ids)))


def tied(device: str) -> Tied:
    torch.manual_seed(0)
    return Tied().to(device)


def is_tied(model: Tied) -> bool:
    return model.head.weight is model.embed.weight


def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer, device: str) -> torch.Tensor:
    optimizer.zero_grad()
    loss = model(torch.arange(10, device=device)).square().mean()
    loss.backward()
    optimizer.step()
    return loss


def deep_copies(device):
    model = tied(device)
    other = copy.deepcopy(model)
    step(other, torch.optim.SGD(other.parameters(), lr=1.0), device)
    tensors = [numbers(4, device=device)] * 2
    views = [tensors[0], tensors[0][1:]]
    first, second = copy.deepcopy(tensors)
    base, view = copy.deepcopy(views)
    base.zero_()
    return is_tied(other), is_tied(model), first is second, view, list(other.parameters()), list(model.parameters())


def pickles(device):
    x = numbers(3, 4, device=device)
    parts = pickle.loads(pickle.dumps({"x": x, "view": x.t()[1:], "parameter": torch.nn.Parameter(x), "gradient": x}))
    model = pickle.loads(pickle.dumps(tied(device)))
    parts["x"].zero_()
    return (
        parts["view"],
        parts["view"].stride(),
        parts["x"].device.type == device,
        is_tied(model),
        list(model.parameters()),
    )


def state_dicts(device):
    model, other = tied(device), tied(device)
    state = model.state_dict()
    shares = state["embed.weight"].data_ptr() == model.embed.weight.data_ptr()
    kept = copy.deepcopy(state)
    step(model, torch.optim.SGD(model.parameters(), lr=1.0), device)
    follows = torch.equal(state["head.weight"], model.head.weight)
    other.load_state_dict(kept)
    keys = other.load_state_dict({"embed.weight": kept["embed.weight"]}, strict=False)
    assigned = tied(device)
    assigned.load_state_dict({k: v.clone() for k, v in kept.items()}, assign=True)
    return (
        shares,
        follows,
        list(other.parameters()),
        sorted(keys.missing_keys),
        [p.shape for p in assigned.parameters()],
    )


def a_state_of_the_host(device):
    model = tied(device)
    model.load_state_dict(tied("cpu").double().state_dict())
    return model.head.weight.dtype, model.head.weight.device.type == device, is_tied(model)


def a_wrong_state(device):
    tied(device).load_state_dict({"embed.weight": torch.zeros(3, 3)})


def checkpoints(device):
    """Saved in the middle of training, loaded elsewhere, trained on."""
    model = tied(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step(model, optimizer, device)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    loaded = torch.load(file, map_location="cpu", weights_only=True)
    other = tied(device)
    again = torch.optim.SGD(other.parameters(), lr=0.5)
    other.load_state_dict(loaded["model"])
    again.load_state_dict(loaded["optimizer"])
    losses = [step(m, o, device) for m, o in ((model, optimizer), (other, again))]
    return losses, list(other.parameters()), is_tied(other)


def modules_that_move(device):
    model = tied("cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weights = list(model.parameters())
    model.to(device)
    same_objects = all(a is b for a, b in zip(weights, model.parameters(), strict=True))
    step(model, optimizer, device)
    there = model.head.weight.device.type == device
    model.cpu()
    half = copy.deepcopy(model).half()
    meta = copy.deepcopy(model).to("meta").to_empty(device=device)
    return same_objects, there, list(model.parameters()), half.head.weight.dtype, is_tied(meta), meta.head.weight.shape


def non_blocking_copies(device):
    x = numbers(1000, device="cpu")
    results = [x.to(device, non_blocking=True) * i for i in range(5)]
    host = torch.empty(1000)
    host.copy_(results[3], non_blocking=True)
    if device == "spyre":
        torch.spyre.synchronize()
    return results, host


def arrays(device):
    x = numbers(3, 4, device=device)
    array = np.arange(6.0).reshape(2, 3)
    up = torch.from_numpy(array).to(device, copy=True)
    array += 1
    return (
        x.cpu().numpy().tolist(),
        up,
        torch.tensor(array, device=device),
        torch.as_tensor(array, device=device),
        (
            torch.asarray(array, device=device, dtype=torch.float32) + x[:2, :3],
            np.asarray(x.t()[1:].cpu()).shape,
            torch.from_dlpack(x.cpu()).to(device),
            (x * np.float32(2.5)).dtype,
            x.new_tensor(array).dtype,
        ),
    )


PROGRAMS = [
    deep_copies,
    pickles,
    state_dicts,
    a_state_of_the_host,
    checkpoints,
    modules_that_move,
    non_blocking_copies,
    arrays,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-4, atol=1e-5)


def test_a_state_that_does_not_fit():
    same(a_wrong_state, raises=True)


def test_safetensors(tmp_path):
    torch_files = pytest.importorskip("safetensors.torch")
    x = {"a": numbers(3, 4, device="spyre"), "b": numbers(5, device="spyre").to(torch.bfloat16)}
    torch_files.save_file(x, tmp_path / "x.safetensors")
    # It knows devices by a list of names that ends before ours; a number means the accelerator's.
    for name, device in (("cpu", "cpu"), (0, "spyre")):
        loaded = torch_files.load_file(tmp_path / "x.safetensors", device=name)
        assert all(loaded[k].device.type == device and torch.equal(loaded[k].cpu(), x[k].cpu()) for k in x)
    torch_files.save_model(tied("spyre"), str(tmp_path / "model.safetensors"))
    other = Tied().to("spyre")
    torch_files.load_model(other, str(tmp_path / "model.safetensors"))
    assert torch.equal(other.head.weight.cpu(), tied("cpu").head.weight)
    assert is_tied(other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("workers", [0, 2])
def test_loaders(workers):
    data = TensorDataset(torch.arange(20.0).view(10, 2), torch.arange(10))
    seen = []
    for x, y in DataLoader(data, batch_size=4, num_workers=workers, pin_memory=True, persistent_workers=workers > 0):
        assert x.is_pinned()
        seen.append((x.to("spyre", non_blocking=True).sum(1) + y.to("spyre", non_blocking=True)).cpu())
    assert torch.cat(seen).tolist() == [5.0 * i + 1 for i in range(10)]


def test_a_loader_of_device_tensors():
    data = TensorDataset(torch.arange(6.0, device="spyre"))
    assert [b[0].tolist() for b in DataLoader(data, batch_size=3)] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("call", [torch.Tensor.numpy, np.asarray, memoryview])
def test_the_host_cannot_see_device_memory(call):
    with pytest.raises(TypeError):
        call(torch.ones(2, device="spyre"))
