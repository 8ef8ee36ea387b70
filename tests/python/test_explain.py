"""torch.spyre.explain: what was fused, what was not, and why."""

from __future__ import annotations

import torch

D = "spyre"


def chain(x: torch.Tensor) -> torch.Tensor:
    return (x * 2 + 1).relu()


def around_a_library_call(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).sort().values.exp()


def rows_then_columns(x: torch.Tensor) -> torch.Tensor:
    return (x - x.sum(1, keepdim=True)).sum(0)


def read_back(x: torch.Tensor) -> list[float]:
    return (x + 1).tolist()


def test_a_chain_is_one_kernel():
    told = torch.spyre.explain(chain, torch.randn(64, device=D))
    (program,) = told.programs
    (kernel,) = program.kernels
    assert kernel.form == "pointwise"
    assert kernel.operations == ["mul", "add", "relu"]
    assert kernel.why_not_more is None
    assert told.counters["kernel_launches"] == 1
    assert "3 operations in 1 launches" in str(told)


def test_it_says_why_a_kernel_ends():
    told = torch.spyre.explain(around_a_library_call, torch.randn(32, 32, device=D))
    kernels = [kernel for program in told.programs for kernel in program.kernels]
    assert "library" in [kernel.form for kernel in kernels]
    assert "library" in " ".join(kernel.why_not_more or "" for kernel in kernels)


def test_rows_and_columns_are_not_one_loop():
    told = torch.spyre.explain(rows_then_columns, torch.randn(64, 64, device=D))
    (program,) = told.programs
    assert {kernel.form for kernel in program.kernels} == {"row", "column"}
    assert any(kernel.why_not_more for kernel in program.kernels)


def test_it_tells_flushes_and_shows_a_page():
    told = torch.spyre.explain(read_back, torch.randn(8, device=D))
    assert sum(told.counters["flushes"].values()) == 1
    page = told.html()
    assert page.startswith("<!doctype html>")
    assert "program 1" in page


def test_it_leaves_earlier_results_alone():
    x = torch.ones(8, device=D)
    y = x + 1
    torch.spyre.explain(chain, x)
    assert y.tolist() == [2.0] * 8
