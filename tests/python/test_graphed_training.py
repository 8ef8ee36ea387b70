"""Training in graphs: whole steps, and forward and backward of modules and functions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.functional import mse_loss

DEVICE = "spyre"
Stats = Callable[[], dict]


def network() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 1)).to(DEVICE)


def batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    torch.manual_seed(2)
    return [(torch.randn(32, 8), torch.randn(32, 1)) for _ in range(6)]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("foreach", [False, True])
def test_whole_training_steps(optimizer: str, foreach: bool) -> None:
    def losses(graphed: bool) -> list[float]:
        net = network()
        x, y = torch.zeros(32, 8, device=DEVICE), torch.zeros(32, 1, device=DEVICE)
        more = {"momentum": 0.9} if optimizer == "SGD" else {"capturable": True}
        opt = getattr(torch.optim, optimizer)(net.parameters(), lr=0.01, foreach=foreach, **more)

        def step() -> torch.Tensor:
            opt.zero_grad(set_to_none=False)
            loss = mse_loss(net(x), y)
            loss.backward()
            opt.step()
            return loss

        step()  # makes gradients and the optimizer's state
        graph = torch.spyre.SpyreGraph()
        if graphed:
            with torch.spyre.graph(graph):
                loss = step()
        found = []
        for new_x, new_y in batches():
            x.copy_(new_x)
            y.copy_(new_y)
            if graphed:
                graph.replay()
            else:
                loss = step()
            found.append(loss.item())
        return found

    assert losses(graphed=True) == losses(graphed=False)


def test_warmed_up_on_another_stream() -> None:
    """The recipe of PyTorch's documentation for torch.cuda."""
    net, (x, y) = network(), (t.to(DEVICE) for t in batches()[0])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    side = torch.spyre.Stream()
    side.wait_stream(torch.spyre.current_stream())
    with torch.spyre.stream(side):
        for _ in range(2):
            opt.zero_grad(set_to_none=True)
            mse_loss(net(x), y).backward()
            opt.step()
    torch.spyre.current_stream().wait_stream(side)
    graph = torch.spyre.SpyreGraph()
    opt.zero_grad(set_to_none=True)
    with torch.spyre.graph(graph):
        loss = mse_loss(net(x), y)
        loss.backward()
        opt.step()
    first = None
    for _ in range(5):
        graph.replay()
        first = first or loss.item()
    assert loss.item() < first


class TestGraphedCallables:
    def test_training_equals_eager(self) -> None:
        def losses(graphed: bool) -> list[float]:
            net = network()
            opt = torch.optim.SGD(net.parameters(), lr=0.05)
            if graphed:
                net = torch.spyre.make_graphed_callables(net, (torch.zeros(32, 8, device=DEVICE),))
            found = []
            for x, y in batches():
                opt.zero_grad()
                loss = mse_loss(net(x.to(DEVICE)), y.to(DEVICE))
                loss.backward()
                opt.step()
                found.append(loss.item())
            return found

        assert losses(graphed=True) == losses(graphed=False)

    def test_several_functions_structures_and_gradients_of_inputs(self) -> None:
        def first(a: torch.Tensor, pair: tuple[torch.Tensor, torch.Tensor]) -> dict[str, torch.Tensor]:
            return {"sum": a * pair[0], "difference": pair[1] - a}

        def second(a: torch.Tensor) -> torch.Tensor:
            return a.tanh()

        def sample(*, grad: bool = False) -> torch.Tensor:
            return torch.randn(5, device=DEVICE, requires_grad=grad)

        samples = ((sample(grad=True), (sample(), sample())), (sample(grad=True),))
        one, two = torch.spyre.make_graphed_callables((first, second), samples)
        a, b, c = torch.randn(5, requires_grad=True), torch.randn(5), torch.randn(5)
        x = a.detach().to(DEVICE).requires_grad_()
        results = one(x, (b.to(DEVICE), c.to(DEVICE)))
        two(results["sum"] + results["difference"]).sum().backward()
        wanted = first(a, (b, c))
        second(wanted["sum"] + wanted["difference"]).sum().backward()
        assert torch.allclose(x.grad.cpu(), a.grad, atol=1e-6)

    def test_a_module_in_another_mode_runs_eagerly(self, stats: Stats) -> None:
        net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.9)).to(DEVICE)
        graphed = torch.spyre.make_graphed_callables(net, (torch.ones(2, 4, device=DEVICE),))
        assert graphed is net
        before = stats()["graph_replays"]
        net.eval()(torch.ones(2, 4, device=DEVICE))
        assert stats()["graph_replays"] == before
        net.train()(torch.ones(2, 4, device=DEVICE))
        assert stats()["graph_replays"] == before + 1

    def test_wrong_arguments_are_refused(self) -> None:
        graphed = torch.spyre.make_graphed_callables(torch.sin, (torch.ones(3, device=DEVICE),))
        with pytest.raises(ValueError, match=r"got torch.float32 \[4\].*graph is for torch.float32 \[3\]"):
            graphed(torch.ones(4, device=DEVICE))
        with pytest.raises(TypeError, match="not structured"):
            graphed([torch.ones(3, device=DEVICE)])
        with pytest.raises(TypeError, match="tensors on spyre only"):
            torch.spyre.make_graphed_callables(torch.sin, (torch.ones(3),))
        with pytest.raises(ValueError, match="2 callables need as many"):
            torch.spyre.make_graphed_callables((torch.sin, torch.cos), ((torch.ones(3, device=DEVICE),),))
