"""Complex numbers have no form on the device: CPU's kernels compute them, recorded in order like anything else."""

from __future__ import annotations

import pytest
import torch

from .same import numbers, same


def complexes(*shape: int, device: str, seed: int = 0) -> torch.Tensor:
    return torch.view_as_complex(numbers(*shape, 2, device=device, seed=seed))


def rotary_embedding(device):
    q = numbers(2, 4, 3, 16, device=device).requires_grad_()
    angles = torch.outer(torch.arange(4, device=device).float(), 1 / torch.arange(1, 9, device=device).float())
    turns = torch.polar(torch.ones_like(angles), angles)[None, :, None]
    turned = torch.view_as_real(torch.view_as_complex(q.reshape(2, 4, 3, 8, 2)) * turns).flatten(3)
    turned.square().mean().backward()
    return turned, q.grad


def spectral_convolution(device):
    x, w = numbers(2, 3, 8, 8, device=device).requires_grad_(), complexes(3, 3, 8, 5, device=device).requires_grad_()
    y = torch.fft.irfft2(torch.einsum("bixy,ioxy->boxy", torch.fft.rfft2(x), w))
    y.pow(2).sum().backward()
    return y, x.grad, w.grad


def arithmetic(device):
    x, y = complexes(3, 4, device=device), complexes(4, device=device, seed=1)
    return (
        x + y, x * 2, 2j - x, x / y, x**2, -x, x.abs(), x.angle(), x.exp(), x.sqrt(), x.sgn(), x.reciprocal(), x == y,
        torch.where(x.abs() > 1, x, y), torch.addcmul(x, x, y), x.real * y, x.float() if False else x.real, x.log(),
        x.masked_fill(x.real > 0, 1j), torch.lerp(x, y, 0.5), torch.complex(x.real, x.imag), x + torch.tensor(2.0),
    )  # fmt: skip


def reductions_and_products(device):
    x = complexes(4, 4, device=device)
    return (
        x.sum(), x.sum(0), x.mean(1), x.prod(0), x @ x, torch.bmm(x[None], x[None]), x @ x[0], torch.dot(x[0], x[1]),
        torch.vdot(x[0], x[1]), x.norm(), x.cumsum(0), torch.linalg.inv(x), x.var(0), torch.any(x), torch.trace(x),
    )  # fmt: skip


def moves(device):
    x = complexes(4, 4, device=device)
    return (
        torch.cat([x, x.t()]), torch.stack([x, x.mT]), x.flip(0), x.roll(1, 1), x.t().contiguous(), x.clone(),
        x[[1, 0]],
        x.tril(), x.gather(0, torch.zeros(1, 4, dtype=torch.long, device=device)), x.to(torch.complex128),
        x.repeat(2, 1),
        torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 1 + 1j), torch.eye(3, dtype=x.dtype, device=device),
        x.diagonal(), x.unfold(0, 2, 1), torch.nn.functional.pad(x, (1, 1)),
    )  # fmt: skip


def parts_written(device):
    """Into views: what is not written stays."""
    x = complexes(4, 4, device=device)
    x[::2] = numbers(2, 4, device=device)
    x[:, 1] += 1j
    x.real[1] = 7
    x[3].conj().mul_(2j)
    x.t()[2].copy_(x[:, 0].conj())
    y = torch.zeros(6, dtype=torch.complex64, device=device)
    y[1:4].copy_(numbers(3, device=device))
    y[5] = 2j
    torch.add(x[0], 1, out=y[:4])
    return x, y


def conjugates(device):
    x = complexes(3, 3, device=device)
    c = x.conj()
    return (
        c * x, c @ x, c.resolve_conj(), c.clone(), c.imag.clone(), c.real, c.t().contiguous(), x.mH @ x, c.conj() is x,
        torch.cat([c, x]), c.to(torch.complex128), x.imag.neg(), c.imag + 1, c.sum(), c.is_conj(), c[0].conj_physical(),
    )  # fmt: skip


def numbers_do_not_widen(device):
    one = torch.tensor(1, dtype=torch.complex64, device=device)
    wide = torch.ones(2, dtype=torch.complex128, device=device)
    return one + (1 + 0j), one * 2.5, 1j - one, wide * 0.1j, one * torch.tensor(0.1, dtype=torch.float64), one * wide


def in_place(device):
    x = complexes(3, 3, device=device)
    x.mul_(2).add_(1j).div_(x[0].clone()).neg_()
    x.zero_()[1].fill_(1 + 2j)
    x.conj_physical_()
    return x.sub_(numbers(3, device=device))


def a_training_step(device):
    w = complexes(4, 3, device=device).requires_grad_()
    optimizer = torch.optim.Adam([w], lr=0.1)
    for step in range(3):
        optimizer.zero_grad()
        (complexes(2, 4, device=device, seed=step) @ w).abs().square().sum().backward()
        optimizer.step()
    return w


PROGRAMS = [
    rotary_embedding,
    spectral_convolution,
    arithmetic,
    reductions_and_products,
    moves,
    parts_written,
    conjugates,
    numbers_do_not_widen,
    in_place,
    a_training_step,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, stats):
    same(program, rtol=1e-4, atol=1e-5)
    assert not stats()["fallbacks"]


REFUSED = {
    "order": lambda x: x > x[0],
    "greatest": lambda x: x.max(),
    "floor": lambda x: x.floor(),
    "remainder": lambda x: x % x,
    "shapes": lambda x: x + x[:, :2],
    "into real": lambda x: torch.add(x, x, out=torch.zeros(3, 3, device=x.device)),
    "real in place": lambda x: x.real.add_(x),
    "softmax": lambda x: x.softmax(0),
    "sort": lambda x: x.sort(),
    "product": lambda x: x @ x[:2],
    "onto itself, too small": lambda x: torch.mul(x[:1], x, out=x[:1]),
    "in place, too small": lambda x: x[:1].ldexp_(x),
    "dimension": lambda x: x.sum(5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    same(lambda device: REFUSED[name](complexes(3, 3, device=device)), raises=True)
