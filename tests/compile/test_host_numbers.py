"""Numbers on the host that a compiled graph changes: nobody else's tensor changes with them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

Results = tuple[torch.Tensor, ...]
Program = Callable[[torch.Tensor, torch.Tensor], Results]


def returns_what_it_copied(step: torch.Tensor, x: torch.Tensor) -> Results:
    new = step + 1
    step.copy_(new)
    return new, x * 2


def returns_a_copy(step: torch.Tensor, x: torch.Tensor) -> Results:
    step += 1
    return step.clone(), x * 2


def returns_a_view_of_a_copy(step: torch.Tensor, x: torch.Tensor) -> Results:
    step += 1
    return step.clone().view(1), x * step


def keeps_what_was(step: torch.Tensor, x: torch.Tensor) -> Results:
    old = step.unsqueeze(0).clone()
    step += 1
    return (x * old.squeeze(0),)


def changes_twice(step: torch.Tensor, x: torch.Tensor) -> Results:
    step += 1
    first = x * step
    step *= 2
    return first, x * step


PROGRAMS: list[Program] = [
    returns_what_it_copied,
    returns_a_copy,
    returns_a_view_of_a_copy,
    keeps_what_was,
    changes_twice,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_results_are_nobody_elses(program: Program) -> None:
    def run(device: str, function: Program) -> list[list[float]]:
        step, x = torch.tensor(1.0), torch.arange(3.0, device=device)
        results = [function(step, x) for _ in range(3)]
        return [t.flatten().tolist() for result in results for t in result] + [[step.item()]]

    assert run("spyre", torch.compile(program)) == run("cpu", program)
