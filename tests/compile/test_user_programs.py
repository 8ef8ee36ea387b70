"""Programs as users write them, compiled: CPU's results, while batches grow and lengths change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters

from tests.models.zoo import READERS, WRITERS, make_inputs, make_model

from .compare import tensors
from .test_models import ONE_LAYER

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]


def given(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def seeded(module: Callable[[], nn.Module], device: str) -> nn.Module:
    torch.manual_seed(0)
    return module().to(device)


def mixture_of_experts(device: str, compiled: Compile) -> Any:
    gate = seeded(lambda: nn.Linear(16, 4), device)
    experts = seeded(lambda: nn.ModuleList(nn.Linear(16, 16) for _ in range(4)), device)

    def forward(x: torch.Tensor) -> torch.Tensor:
        weights, chosen = gate(x).softmax(-1).topk(2, -1)
        parts = [((chosen == k) * weights).sum(-1, keepdim=True) * expert(x) for k, expert in enumerate(experts)]
        return torch.stack(parts).sum(0)

    run = compiled(forward)
    return [run(given(rows, 16).to(device)) for rows in (8, 5, 9)]


def cached_attention(device: str, compiled: Compile) -> Any:
    """One token after the other is written into the cache at a position that the device knows."""

    def forward(query: torch.Tensor, key: torch.Tensor, cache: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        angles = at[:, None] / torch.arange(1, 5, device=at.device)
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        query, key = (x * cos + torch.cat([-x[..., 4:], x[..., :4]], -1) * sin for x in (query, key))
        cache[:, at] = key
        return F.scaled_dot_product_attention(query[None], cache[None], cache[None])

    run, cache = compiled(forward), torch.zeros(2, 16, 8).to(device)
    steps = [[given(2, 1, 8, seed=at).to(device), given(2, 1, 8, seed=9 + at).to(device)] for at in range(3)]
    return [run(*step, cache, torch.tensor([at]).to(device)) for at, step in enumerate(steps)], cache


def clusters(device: str, compiled: Compile) -> Any:
    def forward(x: torch.Tensor, centres: torch.Tensor) -> torch.Tensor:
        nearest = F.one_hot(torch.cdist(x, centres).argmin(-1), centres.shape[0]).to(x.dtype)
        return (nearest.t() @ x) / nearest.sum(0)[:, None].clamp(min=1)

    run, x = compiled(forward), given(30, 4).to(device)
    centres = x[:3].clone()
    for _ in range(3):
        centres = run(x, centres)
    return centres


def tied_embeddings(device: str, compiled: Compile) -> Any:
    embedding = seeded(lambda: nn.Embedding(10, 6, padding_idx=0), device)

    def loss(tokens: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(embedding(tokens).mean(1) @ embedding.weight.t(), tokens[:, 0], ignore_index=1)

    run, losses = compiled(loss), []
    for rows in (3, 4, 5):
        losses.append(run(torch.arange(rows * 4).view(rows, 4).remainder(10).to(device)))
        losses[-1].backward()
    return losses, embedding.weight.grad


def masked_means(device: str, compiled: Compile) -> Any:
    def forward(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        inside = torch.arange(x.shape[1], device=x.device)[None] < lengths[:, None]
        return x.masked_fill(~inside[..., None], 0).sum(1) / lengths[:, None]

    run = compiled(forward)
    return [run(given(2, n, 4).to(device), torch.tensor([n - 1, n]).to(device)) for n in (3, 5, 8)]


def convolutions(device: str, compiled: Compile) -> Any:
    def layers() -> nn.Module:
        first = nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.SiLU()
        return nn.Sequential(*first, nn.ConvTranspose2d(8, 4, 2, 2), nn.GroupNorm(2, 4), nn.AdaptiveAvgPool2d(2))

    network = seeded(layers, device)
    run, results = compiled(network), []
    for rows in (2, 3, 4):
        results.append(run(given(rows, 3, 8, 8).to(device)))
        results[-1].square().sum().backward()
    return results, [p.grad for p in network.parameters()], [*network.buffers()]


def gradients_of_samples(device: str, compiled: Compile) -> Any:
    weight = given(4, 4).to(device)

    def loss(x: torch.Tensor) -> torch.Tensor:
        return (torch.tanh(weight @ x) ** 2).sum()

    return compiled(torch.func.vmap(torch.func.grad(loss)))(given(5, 4).to(device))


def moving_averages(device: str, compiled: Compile) -> Any:
    model, average = (seeded(lambda: nn.Linear(4, 4), device) for _ in range(2))

    @torch.no_grad()
    def update() -> None:
        for old, new in zip(average.parameters(), model.parameters(), strict=True):
            old.mul_(0.9).add_(new, alpha=0.1)

    run = compiled(update)
    for _ in range(3):
        run()
        model.weight.data.add_(1)
    return [*average.parameters()]


def weights_of_attention(device: str, compiled: Compile) -> Any:
    """Its projections are views of one product, whose copy PyTorch's passes drop."""
    attention = seeded(lambda: nn.MultiheadAttention(8, 2, batch_first=True), device)
    run = compiled(lambda x: attention(x, x, x, need_weights=True))
    return [run(given(batch, 5, 8).to(device)) for batch in (2, 3, 4)]


def branches(device: str, compiled: Compile) -> Any:
    run = compiled(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))
    return run(given(4).abs().to(device)), run(-given(4).abs().to(device))


PROGRAMS = [
    mixture_of_experts,
    cached_attention,
    clusters,
    tied_embeddings,
    masked_means,
    convolutions,
    gradients_of_samples,
    moving_averages,
    weights_of_attention,
    branches,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_are_those_of_cpu(program: Callable[[str, Compile], Any]) -> None:
    counters.clear()
    found, expected = tensors(program("spyre", torch.compile)), tensors(program("cpu", lambda function: function))
    assert not counters["graph_break"]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-3, atol=1e-4)


def test_checks_of_values_are_made() -> None:
    """One without a result: an operator that stays a call."""
    run = torch.compile(lambda classes: F.one_hot(classes, 4))
    assert run(torch.tensor([1, 3], device="spyre")).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        run(torch.tensor([1, 9], device="spyre")).cpu()


@torch.no_grad()
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_batches_of_a_model_that_grow(name: str) -> None:
    layers = {key: count for key, count in ONE_LAYER.items() if key in {**READERS, **WRITERS}[name]}
    model = make_model(name, **layers).to("spyre").eval()
    inputs = {key: value.to("spyre") for key, value in make_inputs(name).items()}
    run = torch.compile(model)
    for rows in (2, 3, 5, 4):
        if rows == 5:
            counters.clear()
        batch = {key: value[:1].expand(rows, *value.shape[1:]).contiguous() for key, value in inputs.items()}
        torch.testing.assert_close(run(**batch)[0].cpu(), model(**batch)[0].cpu(), rtol=1e-4, atol=1e-5)
    assert not counters["stats"]["unique_graphs"]
