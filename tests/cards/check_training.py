"""Programs that keep several cards busy: split models, replicas, graphs, compiled code; same bits everywhere."""

from __future__ import annotations

import copy
import gc
import threading

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from tests.laws.programs import PROGRAMS, digest

A, B, C = "spyre:0", "spyre:1", "spyre:2"


def net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))


def batches(count: int):
    torch.manual_seed(1)
    return [(torch.rand(8, 16), torch.randint(4, (8,))) for _ in range(count)]


class Pipeline(nn.Module):
    """The layers in stages, one a device."""

    def __init__(self, layers: nn.Sequential, devices: list[str]) -> None:
        super().__init__()
        self.devices = devices
        self.stages = nn.ModuleList(
            nn.Sequential(*part).to(device) for part, device in zip((layers[:3], layers[3:]), devices, strict=True)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for stage, device in zip(self.stages, self.devices, strict=True):
            x = stage(x.to(device))
        return x


def losses(devices: list[str], steps: int = 12) -> list[float]:
    model = Pipeline(net(), devices)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    told = []
    for x, y in batches(steps):
        optimizer.zero_grad()
        loss = cross_entropy(model(x.to(devices[0])), y.to(devices[-1]))
        loss.backward()
        optimizer.step()
        told.append(loss.detach())
    return [loss.item() for loss in told]


def test_a_model_over_two_cards_trains_as_on_one():
    on_one = losses([A, A])
    assert losses([A, B]) == on_one
    assert losses([C, B]) == on_one
    assert on_one[-1] < on_one[0]


@pytest.mark.parametrize("threads", [False, True])
def test_gradients_cross_cards(threads):
    x = torch.ones(3, device=A, requires_grad=True)
    devices = []
    with torch.autograd.set_multithreading_enabled(threads):
        y = x.to(B) * torch.arange(3.0, device=B)
        y.register_hook(lambda g: devices.append((g.device.index, torch.spyre.current_device())))
        (y.to(C).sum() + x.sum().to(C)).backward()
    assert x.grad.device == torch.device(A)
    assert x.grad.tolist() == [1, 2, 3]
    assert devices == [(1, 1)]


def test_replicas_agree_with_one_model():
    model = net().to(A)
    x, y = (torch.cat(parts) for parts in zip(*batches(3), strict=True))
    cross_entropy(model(x.to(A)), y.to(A)).backward()
    replicas = [copy.deepcopy(model).to(device) for device in (A, B, C)]
    for replica, part, wanted in zip(replicas, x.chunk(3), y.chunk(3), strict=True):
        replica.zero_grad()
        device = next(replica.parameters()).device
        (cross_entropy(replica(part.to(device)), wanted.to(device)) / 3).backward()
    for parameter, *others in zip(model.parameters(), *(r.parameters() for r in replicas), strict=True):
        summed = sum(other.grad.to(A) for other in others)
        torch.testing.assert_close(summed.cpu(), parameter.grad.cpu())


def test_a_thread_a_card():
    results: dict[str, list[float]] = {}
    threads = [threading.Thread(target=lambda d=device: results.update({d: losses([d, d], 6)})) for device in (A, B, C)]
    for device in (A, B, C):  # modules are made under one seed: not at once
        losses([device, device], 1)
    for thread in threads:
        thread.start()
        thread.join()
    assert results[A] == results[B] == results[C]


def test_graphs_replay_on_their_card():
    with torch.spyre.device(1):
        x = torch.ones(8, device="spyre")
        y = x * 2
        graph = torch.spyre.SpyreGraph()
        with torch.spyre.graph(graph):
            y = x * 2 + torch.rand(8, device="spyre") * 0
        x.fill_(5)
        graph.replay()
        assert y.device == torch.device(B)
        assert y.tolist() == [10] * 8
        with pytest.raises(RuntimeError, match="capture"), torch.spyre.graph(torch.spyre.SpyreGraph()):
            x.to(A)
    torch.spyre.synchronize(1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_compiled_code_runs_on_its_card():
    function = torch.compile(lambda x, y: torch.softmax(x * 2 + y, -1).sum(0))
    x, y = torch.rand(8, 16), torch.rand(16)
    expected = function(x.to(A), y.to(A)).cpu()
    torch.spyre.reset_stats()
    result = function(x.to(B), y.to(B))
    assert result.device == torch.device(B)
    assert torch.equal(result.cpu(), expected)
    assert torch.spyre.stats(0)["dispatches"] == 0


def test_the_same_bits_on_every_card():
    for name, program in PROGRAMS.items():
        torch.manual_seed(0)
        first = digest(program(A))
        torch.manual_seed(0)
        assert digest(program(B)) == first, name


def test_an_endless_loop_runs_in_constant_memory():
    x = torch.ones(1 << 16, device=A)
    for _ in range(300):
        x = (x.to(B) * 1.0001).to(A)
    gc.collect()
    for index in (0, 1):
        assert torch.spyre.memory_reserved(index) <= 64 << 20
    assert x.isfinite().all().item()
