"""The programs of `make demo`, compiled: real weights, real data, and the answers of eager code."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.data import DataLoader

from tests.models.test_examples import ROOT

TEXTS = [
    "Return the day of the week.",
    "Open a file and read all of its lines into a list, without the ends of the lines.",
    "Sort.",
    "A lock that the thread which holds it may take again.",
]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "examples")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return importlib.import_module


@pytest.mark.filterwarnings("ignore")
def test_embeddings_of_real_texts(example: Any) -> None:
    search: ModuleType = example("semantic_search")
    encoder = search.Encoder("spyre")
    expected = [encoder.encode(TEXTS[:count]).cpu() for count in (4, 3)]
    encoder.model = torch.compile(encoder.model)
    counters.clear()
    found = [encoder.encode(TEXTS[:count]).cpu() for count in (4, 3)]
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=search.TOLERANCE / 10)
    assert not counters["graph_break"]


class Training:
    """The training of the digits' network, its forward and backward pass and its optimizer compiled or not."""

    def __init__(self, digits: ModuleType, device: str = "spyre", backend: str | None = "inductor") -> None:
        torch.manual_seed(0)
        self.device = device
        self.network = digits.network().to(device).train()
        optimizer = torch.optim.AdamW(self.network.parameters(), lr=3e-3)
        self.forward = torch.compile(self.network, backend=backend) if backend else self.network
        self.clear = optimizer.zero_grad
        self.update = torch.compile(optimizer.step, backend=backend) if backend else optimizer.step

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.forward(images.to(self.device)), labels.to(self.device))
        self.clear()
        loss.backward()
        self.update()
        return loss.detach().cpu()


def test_digits_are_learned_as_eagerly(example: Any) -> None:
    digits: ModuleType = example("train_digits")
    eager, compiled = Training(digits, backend=None), Training(digits)
    with torch._inductor.config.patch(fallback_random=True):  # the same activations are dropped
        for number, batch in enumerate([*DataLoader(digits.load().train, digits.BATCH)][:5]):
            torch.manual_seed(number)
            expected = eager.step(*batch)
            torch.manual_seed(number)
            torch.testing.assert_close(compiled.step(*batch), expected, rtol=1e-3, atol=1e-4)


def test_training_breaks_its_graphs_where_it_does_on_cpu(example: Any) -> None:
    digits: ModuleType = example("train_digits")
    batch = next(iter(DataLoader(digits.load().train, digits.BATCH)))
    breaks = []
    for device in ("cpu", "spyre"):
        training = Training(digits, device, backend="eager")
        counters.clear()
        training.step(*batch)
        breaks.append(dict(counters["graph_break"]))
    assert breaks[0] == breaks[1]


def test_digits_learned_with_a_compiled_network_are_read(example: Any) -> None:
    digits: ModuleType = example("train_digits")
    data = digits.load()
    training = Training(digits)
    for images, labels in [*DataLoader(data.train, digits.BATCH)] * 5:
        training.step(images, labels)
    assert digits.accuracy(training.network, data.test, "spyre") >= 0.95


def test_a_compiled_call_is_captured_and_replayed() -> None:
    """As part of a graph it costs neither guards nor recording."""
    compiled = torch.compile(lambda x: torch.softmax(x @ x.t() * 2 + 1, -1).relu())
    x = torch.randn(8, 8, device="spyre")
    compiled(x)
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        result = compiled(x)
    for _ in range(3):
        x.copy_(torch.randn(8, 8))
        graph.replay()
        assert torch.equal(result.cpu(), compiled(x).cpu())
