"""Saving, loading, copying and pickling."""

from __future__ import annotations

import copy
import io
import pickle

import pytest
import torch


def saved(value) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return file


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64], ids=str)
def test_save_and_load_keep_device_and_values(dtype):
    x = torch.arange(6).view(2, 3).to(dtype).to("spyre")
    loaded = torch.load(saved(x))
    assert loaded.device == x.device
    assert loaded.cpu().equal(x.cpu())


def test_map_location():
    file = saved({"a": torch.ones(3, device="spyre")})
    assert torch.load(file, map_location="cpu")["a"].device.type == "cpu"
    assert torch.load(saved(torch.ones(3)), map_location="spyre").device.type == "spyre"
    file.seek(0)
    assert torch.load(file, map_location="spyre:0")["a"].tolist() == [1, 1, 1]


def test_views_share_their_storage_after_loading():
    base = torch.arange(10.0, device="spyre")
    loaded, view = torch.load(saved((base, base[2:5])))
    view.fill_(-1)
    assert loaded.tolist() == [0, 1, -1, -1, -1, 5, 6, 7, 8, 9]


def test_modules_and_optimizers_round_trip():
    model = torch.nn.Linear(4, 2).to("spyre")
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 4, device="spyre")).sum().backward()
    optimizer.step()
    other = torch.nn.Linear(4, 2).to("spyre")
    other.load_state_dict(torch.load(saved(model.state_dict())))
    assert other.weight.cpu().equal(model.weight.detach().cpu())
    again = torch.optim.Adam(other.parameters())
    again.load_state_dict(torch.load(saved(optimizer.state_dict())))
    assert next(iter(again.state.values()))["exp_avg"].is_spyre


def test_deepcopy_and_pickle():
    x = torch.arange(4.0, device="spyre").requires_grad_()
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x.detach()))):
        assert other.device == x.device
        assert other.tolist() == [0, 1, 2, 3]
        assert other.data_ptr() != x.data_ptr()
    assert copy.deepcopy(x).requires_grad
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).to("spyre")
    assert copy.deepcopy(model)[0].weight.is_spyre
    shared = copy.deepcopy([x.detach(), x.detach()[1:]])
    shared[1].fill_(9)
    assert shared[0].tolist() == [0, 9, 9, 9]


def test_storages_copy():
    storage = torch.arange(3.0, device="spyre").untyped_storage()
    assert storage.device.type == "spyre"
    assert list(storage.cpu()) == list(torch.arange(3.0).untyped_storage())
    assert list(storage.clone().cpu()) == list(storage.cpu())


def test_numpy_and_lists():
    x = torch.ones(2, device="spyre")
    with pytest.raises(TypeError, match="spyre"):
        x.numpy()
    assert x.cpu().numpy().tolist() == x.tolist() == [1, 1]
    assert torch.as_tensor([1, 2], device="spyre").tolist() == [1, 2]
