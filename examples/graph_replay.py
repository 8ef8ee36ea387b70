"""A training step recorded once and replayed, beside the same step recorded anew each time."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import cross_entropy

STEPS = 300
Step = Callable[..., torch.Tensor]


def training_step() -> tuple[torch.Tensor, torch.Tensor, Step]:
    """A small classifier, its two inputs, and one step of training on them."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10)).to("spyre")
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, capturable=True)
    images, labels = torch.rand(64, 64).to("spyre"), torch.randint(10, (64,)).to("spyre")

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=False)
        loss = cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss

    step()  # makes gradients and the optimizer's state
    return images, labels, step


def timed(run: Step) -> tuple[list[float], float]:
    """The losses of STEPS runs on new data, and microseconds a step."""
    torch.manual_seed(1)
    data = [(torch.rand(64, 64), torch.randint(10, (64,))) for _ in range(STEPS)]
    torch.spyre.synchronize()
    begin = time.perf_counter()
    losses = [run(*batch).detach().clone() for batch in data]
    torch.spyre.synchronize()
    spent = time.perf_counter() - begin
    return torch.stack(losses).tolist(), 1e6 * spent / STEPS


def eager(images: torch.Tensor, labels: torch.Tensor, step: Step) -> Step:
    """Records every step."""

    def run(new_images: torch.Tensor, new_labels: torch.Tensor) -> torch.Tensor:
        images.copy_(new_images)
        labels.copy_(new_labels)
        return step()

    return run


def graphed(images: torch.Tensor, labels: torch.Tensor, step: Step) -> Step:
    """Records one step, and replays it."""
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        loss = step()

    def run(new_images: torch.Tensor, new_labels: torch.Tensor) -> torch.Tensor:
        images.copy_(new_images)
        labels.copy_(new_labels)
        graph.replay()
        return loss

    return run


def main() -> None:
    """Prints the time of a step both ways, and whether the losses are the same bits."""
    results = {}
    for name, make in (("eager", eager), ("replayed", graphed)):
        timed(make(*training_step()))  # finds its plans
        results[name] = timed(make(*training_step()))
        print(f"{name:9} {results[name][1]:7.0f} us a step, last loss {results[name][0][-1]:.4f}")
    same = results["eager"][0] == results["replayed"][0]
    print(f"{STEPS} losses: {'the same bits' if same else 'different'}")
    assert same


if __name__ == "__main__":
    main()
