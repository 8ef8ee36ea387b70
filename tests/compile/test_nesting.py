"""Compiled code inside compiled code, parts that stay eager, and what graphs share with each other and with callers."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch.utils.checkpoint import checkpoint

from .compare import assert_same_bits


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


class Nested(nn.Module):
    """A module with a part that is compiled, or not, on its own."""

    def __init__(self, compile_part: bool) -> None:
        super().__init__()
        self.first = nn.Linear(16, 16)
        part = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU())
        self.part = torch.compile(part) if compile_part else part

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.part(self.first(x).relu()) + x


def results_of(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    result = model(x)
    result.square().sum().backward()
    return [result.detach().cpu(), *(p.grad.cpu() for p in model.parameters())]


def test_a_compiled_function_in_a_compiled_function_is_part_of_its_graph() -> None:
    inner = torch.compile(lambda x: (x * 2).softmax(-1))
    counters.clear()
    assert_same_bits(lambda x: inner(x + 1).sum(0) - inner(x), numbers(4, 8), fullgraph=True)
    # The eager run of the outer function compiles the inner one for itself.
    assert counters["stats"]["unique_graphs"] == 2


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # Dynamo asks what it traces for it
@pytest.mark.parametrize("compile_part", [True, False])
@pytest.mark.parametrize("compile_whole", [True, False])
def test_a_compiled_part_of_a_module(compile_part: bool, compile_whole: bool) -> None:
    x = numbers(5, 16).to("spyre")
    torch.manual_seed(1)
    model = Nested(compile_part).to("spyre")
    plain = Nested(compile_part=False).to("spyre")
    plain.load_state_dict({name.replace("_orig_mod.", ""): value for name, value in model.state_dict().items()})
    found = results_of(torch.compile(model) if compile_whole else model, x)
    for ours, theirs in zip(found, results_of(plain, x), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_module_compile_in_place() -> None:
    x = numbers(5, 16).to("spyre")
    model = Nested(compile_part=False).to("spyre")
    expected = model(x).detach().cpu()
    model.compile()
    counters.clear()
    torch.testing.assert_close(model(x).detach().cpu(), expected)
    assert counters["stats"]["unique_graphs"] == 1


def test_a_disabled_part_runs_eagerly_between_two_graphs() -> None:
    calls = []

    @torch.compiler.disable
    def told(x: torch.Tensor) -> torch.Tensor:
        calls.append(torch.compiler.is_compiling())
        return x.sort(-1).values

    counters.clear()
    assert_same_bits(lambda x: told(x * 2 + 1).cumsum(0) * 3, numbers(4, 8))
    assert calls == [False, False]
    assert counters["stats"]["unique_graphs"] == 2
    with pytest.raises(torch._dynamo.exc.Unsupported, match="disable"):
        torch.compile(lambda x: told(x) + 1, fullgraph=True)(numbers(4).to("spyre"))


def test_full_graphs_refuse_breaks() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        torch._dynamo.graph_break()
        return x + 1

    x = torch.ones(4, device="spyre")
    with pytest.raises(torch._dynamo.exc.Unsupported, match="graph_break"):
        torch.compile(program, fullgraph=True)(x)
    assert torch.equal(torch.compile(program)(x).cpu(), torch.full((4,), 3.0))


def test_side_effects_around_a_break_happen_in_order() -> None:
    log: list[Any] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        log.append("before")
        torch._dynamo.graph_break()
        log.append(float(x.sum()))
        return x + len(log)

    found = torch.compile(program)(torch.ones(3, device="spyre"))
    assert log == ["before", 6.0]
    assert found.tolist() == [4.0] * 3


def test_an_optimizer_step_in_a_compiled_function_that_calls_a_compiled_model() -> None:
    torch.manual_seed(0)
    eager = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2)).to("spyre")
    compiled = copy.deepcopy(eager)
    for model, compile_it in ((eager, lambda function: function), (compiled, torch.compile)):
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        forward, update = compile_it(model), compile_it(optimizer.step)
        for seed in range(3):
            x = torch.randn(4, 8, generator=torch.Generator().manual_seed(seed)).to("spyre")
            optimizer.zero_grad()
            forward(x).square().sum().backward()
            update()
    for ours, theirs in zip(compiled.parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-4, atol=1e-5)


def test_results_that_share_memory() -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        return y, y[1], y.t(), x[0], x.view(-1)

    x = numbers(3, 3).to("spyre")
    y, row, turned, first, flat = torch.compile(program)(x)
    row.fill_(7)
    assert torch.equal(y[1].cpu(), torch.full((3,), 7.0))
    assert torch.equal(turned[:, 1].cpu(), torch.full((3,), 7.0))
    first.zero_()
    assert torch.equal(x[0].cpu(), torch.zeros(3))
    assert torch.equal(flat[:3].cpu(), torch.zeros(3))


def test_arguments_that_share_memory_are_changed() -> None:
    def program(whole: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        part.mul_(2)
        whole.add_(1)
        return whole + part.sum()

    bases = [torch.arange(6.0, device=device).view(2, 3) for device in ("spyre", "spyre", "cpu")]
    runs = [torch.compile(program), program, program]
    results = [run(base, base[1]).cpu() for run, base in zip(runs, bases, strict=True)]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])
    assert torch.equal(bases[0].cpu(), bases[2])


def test_buffers_change_and_gradients_flow_through_changed_arguments() -> None:
    x = numbers(6, 4).to("spyre")
    eager = nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 4)).to("spyre")
    compiled = copy.deepcopy(eager)
    for _ in range(2):
        for ours, theirs in zip(results_of(torch.compile(compiled), x), results_of(eager, x), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    for name, buffer in eager.named_buffers():
        torch.testing.assert_close(dict(compiled.named_buffers())[name].cpu(), buffer.cpu())

    def program(weight: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        seen.add_(weight.detach())
        return (weight * seen).sum()

    weights = [numbers(4).to("spyre").requires_grad_() for _ in range(2)]
    seen = [torch.ones(4, device="spyre") for _ in range(2)]
    for run, weight, total in zip((torch.compile(program), program), weights, seen, strict=True):
        run(weight, total).backward()
    assert torch.equal(seen[0].cpu(), seen[1].cpu())
    assert torch.equal(weights[0].grad.cpu(), weights[1].grad.cpu())


def test_dropout_has_one_mask_forward_and_backward() -> None:
    x = torch.ones(64, 8, device="spyre", requires_grad=True)
    result = torch.compile(lambda x: F.dropout(x, 0.25) * 3)(x)
    result.sum().backward()
    assert torch.equal(x.grad.cpu(), result.detach().cpu())
    assert 0 < int((result == 0).sum()) < result.numel()


def test_recomputed_parts_draw_the_numbers_again() -> None:
    weight = torch.ones(16, 16, device="spyre", requires_grad=True)

    def program(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(lambda x: F.dropout(x * weight, 0.5), x, use_reentrant=False)

    x = torch.ones(16, 16, device="spyre", requires_grad=True)
    result = torch.compile(program)(x)
    result.sum().backward()
    assert torch.equal(weight.grad.cpu(), result.detach().cpu())
    assert torch.equal(x.grad.cpu(), result.detach().cpu())


def test_threads_call_the_same_code() -> None:
    compiled = torch.compile(lambda x: (x * 2 + 1).relu().sum(-1))
    inputs = [numbers(4, 8).to("spyre") + place for place in range(4)]
    found: list[torch.Tensor | None] = [None] * 4

    def call(place: int) -> None:
        for _ in range(20):
            found[place] = compiled(inputs[place]).cpu()

    threads = [threading.Thread(target=call, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, result in zip(inputs, found, strict=True):
        assert torch.equal(result, (x * 2 + 1).relu().sum(-1).cpu())
