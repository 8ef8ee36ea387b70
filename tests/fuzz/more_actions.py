"""What programs may do besides when nobody compiles them: gradients, indices, narrow types, windows, functions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from hypothesis import strategies as st
from torch.nn import functional as F

from .generate import KINDS, SHAPES, Action, Instruction, Machine, readable_beside

#: Exact on every device, or CPU's own order of work is not what it is compared with.
EXACT: dict[str, Action] = {}
#: Their results are compared between the ways of running a program only.
INEXACT: dict[str, Action] = {}
NARROW_TYPES = [torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.uint8]


def exact(body: Action) -> Action:
    EXACT[body.__name__] = body
    return body


def inexact(body: Action) -> Action:
    INEXACT[body.__name__] = body
    return body


def whole(x: torch.Tensor) -> torch.Tensor:
    """Small whole numbers, of which sums and products are exact in float32."""
    return x.to(torch.float32).nan_to_num(0, 8, -8).clamp(-8, 8).trunc()


def places(x: torch.Tensor, count: int, extent: int, step: int) -> torch.Tensor:
    """Indices, some of them twice; none where there is no place."""
    return ((torch.arange(count if extent else 0) * step) % max(extent, 1)).to(x.device)


@exact
def fresh_narrow(machine: Machine, a: int, b: int, c: int) -> None:
    shape, dtype = SHAPES[b % len(SHAPES)], NARROW_TYPES[c % len(NARROW_TYPES)]
    numbers = ((torch.arange(torch.Size(shape).numel()) * (a % 97 + 1)) % 13).to(torch.int64)
    machine.keep(numbers.to(dtype).reshape(shape).to(machine.device))


DIFFERENTIABLE: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: x * x + x,
    lambda x: x.relu() - x.abs(),
    lambda x: x.clamp(-1, 2) * 3,
    lambda x: x.flip(0)[1:],
    lambda x: torch.cat([x, x * 2]),
    lambda x: x.unsqueeze(0).expand(3, *x.shape),
    lambda x: torch.where(x > 0, x * 2, -x),
    lambda x: x[places(x, 5, x.size(0), 2)],
    lambda x: x.transpose(0, -1).reshape(-1) * 0.5,
    lambda x: (x.clone().mul_(2)[:1]).sum(-1),
]


@exact
def differentiate(machine: Machine, a: int, b: int, c: int) -> None:
    """First and, every third time, second derivatives of whole numbers."""
    x = whole(machine.pick(a)).requires_grad_()
    y = DIFFERENTIABLE[b % len(DIFFERENTIABLE)](x)
    (gradient,) = torch.autograd.grad(y, x, torch.ones_like(y), create_graph=c % 3 == 0)
    if c % 3 == 0 and gradient.requires_grad:
        (gradient,) = torch.autograd.grad(gradient.square().sum(), x)
    machine.keep(gradient.detach())


@exact
def take_rows(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    index = places(x, b % 6, x.size(0), c + 1)
    machine.keep(x[index] if c % 2 else x.index_select(0, index))


@exact
def put_rows(machine: Machine, a: int, b: int, c: int) -> None:
    """With duplicates when it adds; without when it writes, since CPU does not say who is last."""
    x = machine.pick(a)
    if torch._debug_has_internal_overlap(x):
        return  # the same element would be written twice
    if b % 2:
        rows = places(x, min(x.size(0), 3), x.size(0), 1)
        x[rows] = readable_beside(x, machine.pick(c))
    else:
        rows = places(x, 4, x.size(0), c + 1)
        x.index_put_((rows,), torch.ones((), dtype=x.dtype, device=x.device), accumulate=True)


@exact
def mask(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    chosen = (x > 0, x == 1, x.isnan(), x < -1)[b % 4]
    if c % 3 == 0:
        machine.keep(x[chosen])
    elif c % 3 == 1 and not torch._debug_has_internal_overlap(x):
        x[chosen] = c % 5
    else:
        machine.keep(x.masked_fill(chosen, 3))


@exact
def order(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a).nan_to_num(0, 9, -9) + 0  # without zeros of two signs
    dim = c % max(x.dim(), 1)
    values, indices = torch.sort(x, dim, descending=b % 2 == 0, stable=True)
    machine.keep(values if b % 3 else indices)


@exact
def scan(machine: Machine, a: int, b: int, c: int) -> None:
    machine.keep(whole(machine.pick(a)).cumsum(c % max(machine.pick(a).dim(), 1)))


@exact
def product(machine: Machine, a: int, b: int, c: int) -> None:
    x = whole(machine.pick(a))
    y = x @ (x.mT if x.dim() > 1 else x)
    machine.keep(y + 0)  # zeros of one term keep their sign in CPU's mm and lose it in its bmm


@exact
def windows(machine: Machine, a: int, b: int, c: int) -> None:
    """Views whose elements are in several windows."""
    x = machine.pick(a)
    machine.keep(x.unfold(c % max(x.dim(), 1), b % 3 + 1, 1))


@exact
def swap_data(machine: Machine, a: int, b: int, c: int) -> None:
    x, y = machine.pick(a), machine.pick(b)
    other = torch.empty_like(x)
    other.data = y
    machine.keep(other)


FUNCTIONS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    *(torch.exp, torch.tanh, torch.sigmoid, torch.sin, torch.erf, torch.atan, torch.expm1, F.gelu, F.silu, F.softplus),
    lambda x: x.softmax(-1),
    lambda x: x.log_softmax(0),
    lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: x.var(-1, keepdim=True, correction=0) if x.numel() else x,  # of nothing, PyTorch warns
    lambda x: x.mean(0),
    lambda x: x.norm(dim=-1, keepdim=True),
    lambda x: x.logsumexp(0),
    lambda x: (x.abs() + 1).rsqrt(),
    lambda x: (x.abs() + 0.5).pow(1.7),
    lambda x: x.sum(0),
    lambda x: x.prod(-1),
    lambda x: x @ (x.mT if x.dim() > 1 else x),
]


@inexact
def function(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    if x.is_floating_point():
        machine.keep(FUNCTIONS[b % len(FUNCTIONS)](x.nan_to_num(0, 9, -9).clamp(-9, 9)))


@inexact
def slope(machine: Machine, a: int, b: int, c: int) -> None:
    x = machine.pick(a)
    if not x.is_floating_point():
        return
    x = x.detach().nan_to_num(0, 9, -9).clamp(-9, 9).requires_grad_()
    y = FUNCTIONS[b % len(FUNCTIONS)](x)
    machine.keep(torch.autograd.grad(y, x, torch.ones_like(y))[0])


def eager_programs(*more: dict[str, Action]) -> st.SearchStrategy[list[Instruction]]:
    """Of the plain actions and of these."""
    number = st.integers(0, 60)
    kinds = sorted({name for actions in (KINDS, *more) for name in actions})
    instruction = st.builds(Instruction, st.sampled_from(kinds), number, number, number)
    return st.integers(5, 40).flatmap(lambda size: st.lists(instruction, min_size=size, max_size=size))
