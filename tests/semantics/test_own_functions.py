"""torch.autograd.Function: saved tensors, in-place results, parts without gradients, backward inside backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.autograd.forward_ad as fwAD

from .same import leaf, numbers, same


class Cube(torch.autograd.Function):
    """Saves input and result, and has its own forward-mode rule."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2

    @staticmethod
    def jvp(ctx: Any, tangent: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return tangent * 3 * x**2


class AddInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.add_(1)

    @staticmethod
    def backward(_ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


class Choose(torch.autograd.Function):
    """One result without a gradient, one argument without one."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        values, places = x.topk(k)
        ctx.mark_non_differentiable(places)
        ctx.save_for_backward(places)
        ctx.shape = x.shape
        return values, places

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor, _: Any) -> tuple[torch.Tensor, None]:
        (places,) = ctx.saved_tensors
        return grad.new_zeros(ctx.shape).scatter(-1, places, grad), None


class RunsBackwardInside(torch.autograd.Function):
    """Re-entrant: backward calls backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            inner.sin().backward(grad)
        return inner.grad


def own_function(device):
    x = leaf(3, 4, device=device)
    Cube.apply(x).sum().backward()
    return x.grad


def own_function_twice_differentiated(device):
    x = leaf(3, device=device)
    (first,) = torch.autograd.grad(Cube.apply(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return first, second


def own_function_in_place(device):
    x = leaf(3, device=device)
    y = x * 1
    z = AddInPlace.apply(y)
    (z * y).sum().backward()
    return x.grad, y


def own_function_with_parts(device):
    x = leaf(2, 5, device=device)
    values, places = Choose.apply(x, 2)
    (values * places).sum().backward()
    return x.grad, places, places.requires_grad


def backward_inside_backward(device):
    x = leaf(4, device=device)
    RunsBackwardInside.apply(RunsBackwardInside.apply(x)).sum().backward()
    return x.grad


def deep_backward_inside_backward(device):
    """Deeper than autograd runs on one thread."""

    class Deep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if ctx.depth == 0:
                return grad * 2, None
            with torch.enable_grad():
                inner = grad.detach().requires_grad_()
                Deep.apply(inner, ctx.depth - 1).sum().backward()
            return inner.grad * grad, None

    x = leaf(3, device=device)
    Deep.apply(x, 70).sum().backward()
    return x.grad


def forward_mode(device):
    x = numbers(3, device=device)
    with fwAD.dual_level():
        return fwAD.unpack_dual(Cube.apply(fwAD.make_dual(x, torch.ones_like(x))))


PROGRAMS = [
    own_function,
    own_function_twice_differentiated,
    own_function_in_place,
    own_function_with_parts,
    backward_inside_backward,
    deep_backward_inside_backward,
    forward_mode,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-4, atol=1e-5)
