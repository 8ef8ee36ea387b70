"""Tensors of more dimensions than people draw: the recorder holds 12, PyTorch 64."""

from __future__ import annotations

import pytest
import torch

from .same import leaf, numbers, same

RANKS = (7, 12, 13, 20)


def shape(rank: int, *last: int) -> tuple[int, ...]:
    """Mostly of size 1, as einops and attention over windows make them; three dimensions have elements."""
    return (2, *(1,) * (rank - 3), 3, *(last or (4,)))


@pytest.mark.parametrize("rank", RANKS)
def test_arithmetic(rank: int) -> None:
    def program(device: str) -> object:
        x, y = numbers(*shape(rank), device=device), numbers(*shape(rank - 1, 1), device=device, seed=1)
        z = (x * 2 + y).relu()
        z[..., 1:].add_(x[..., :-1])
        z[0] -= z[1]
        return z, z.where(z > 0.5, -1.0), z.to(torch.int32), torch.stack([z, -z]).sum(0)

    same(program, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("rank", RANKS)
def test_views(rank: int) -> None:
    def program(device: str) -> object:
        x = numbers(*shape(rank), device=device)
        turned = x.permute(*reversed(range(rank)))
        turned.mul_(3)
        flat = x.reshape(6, 4)
        return (
            x,
            turned.contiguous(),
            flat.t().reshape(shape(rank)),
            turned.squeeze() + 1,
            x.unsqueeze(3).expand(*x.shape[:3], 2, *x.shape[3:]) * 2,
            x.flip(0, -1),
            x.movedim(0, -1).roll(1, -1),
        )

    same(program)


@pytest.mark.parametrize("rank", RANKS)
def test_reductions_and_indices(rank: int) -> None:
    def program(device: str) -> object:
        x = numbers(*shape(rank), device=device)
        index = torch.tensor([1, 0, 1], device=device)
        gathered = x.gather(-1, (x > 0).long())
        return (
            x.sum((0, -1)), x.mean(), x.amax(-2, keepdim=True), x.argmax(-1), x.softmax(-2), x.cumsum(0), x.std(-1),
            x[index], x.index_select(-1, index), x[..., index], x[x > 0], gathered, x.sort(-1).values,
            x.topk(2, -1).indices,
        )  # fmt: skip

    same(program, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", RANKS)
def test_products_and_gradients(rank: int) -> None:
    def program(device: str) -> object:
        x, w = leaf(*shape(rank), device=device), leaf(4, 5, device=device, seed=1)
        y = torch.layer_norm(x @ w, (5,)).sigmoid()
        (y * y.detach().flip(0)).sum().backward()
        return y, x.grad, w.grad, torch.einsum("...i,ij->...j", x, w)

    same(program, rtol=1e-4, atol=1e-5)
