"""Advanced indexing in all its forms, reading and writing, with duplicates, masks and sizes that depend on data."""

from __future__ import annotations

import pytest
import torch

from .same import numbers, same


def ids(*values: int, device: str) -> torch.Tensor:
    return torch.tensor(values, device=device)


def reading(device):
    x = numbers(4, 5, 6, device=device)
    rows, columns = ids(0, 3, -1, device=device), ids(4, -5, 2, device=device)
    mask = x[:, :, 0] > 0
    return (
        x[rows], x[:, rows], x[..., rows], x[rows, columns], x[rows, :, columns], x[:, rows, columns],
        x[rows, 1, columns],
        x[rows[:, None], columns], x[mask], x[x > 0], x[mask, 1:3], x[mask, columns[0]], x[None, rows], x[rows, None],
        x[[0, 2]], x[[[0], [1]]], x[0, [1, 2], ::2], x[ids(device=device).long()], x[True], x[False], x[..., 0, [0, 1]],
        x[rows.to(torch.int32)], x[1:3, rows, ...], x[torch.tensor([1, 2])], x[(rows,)],
        x[rows.bool().cpu()[:0].long()],
        x[:, torch.tensor([True, False, True, False, True], device=device)], x[x.sum((1, 2)) > 0, ..., -1],
    )  # fmt: skip


def writing(device):
    x = numbers(4, 5, 6, device=device)
    rows, columns = ids(0, 3, -1, device=device), ids(4, -5, 2, device=device)
    x[rows] = 1
    x[rows, columns] = numbers(3, 6, device=device, seed=1)
    x[:, columns[:2]] *= 2
    x[x < -1] = -1
    x[x[:, :, 0] > 0, 1] += 10
    x[0, [1, 2], ::2] = torch.tensor(5.0)
    x[..., None, 0] = x[..., None, 1]
    x[[1, 2]] = x[[2, 1]]
    x[1:3, columns, 0] = 7
    x[torch.tensor([True, False, False, True], device=device)] -= 1
    x[ids(device=device).long()] = 3
    return x


def duplicates(device):
    x = torch.zeros(5, device=device)
    i = ids(1, 1, 3, 1, device=device)
    x[i] += 1
    y = torch.zeros(5, device=device).index_put_((i,), numbers(4, device=device), accumulate=True)
    z = torch.zeros(3, 3, device=device).index_put((i % 3, i % 2), torch.tensor(2.0, device=device), accumulate=True)
    w = torch.zeros(5, device=device)
    w[ids(0, 0, 0, device=device)] = torch.ones(3, device=device)
    return (
        x, y, z, w,
        torch.zeros(5, device=device).index_add_(0, i, torch.ones(4, device=device), alpha=2),
        torch.zeros(5, device=device).scatter_add_(0, i, numbers(4, device=device)),
        torch.ones(5, device=device).scatter_reduce_(0, i, numbers(4, device=device), "amax", include_self=False),
        torch.ones(5, device=device).index_reduce_(0, i, numbers(4, device=device), "prod"),
        torch.bincount(i), torch.bincount(i, minlength=7), torch.bincount(i, numbers(4, device=device)),
    )  # fmt: skip


def masks(device):
    x = numbers(3, 4, device=device)
    mask = x > 0
    y = x.clone().masked_scatter_(mask, torch.arange(12.0, device=device))
    z = x.clone().masked_fill_(mask[0], 9)
    row = x.clone()
    row[mask] = row[mask] * 2
    return y, z, row, x.masked_select(mask), x.masked_select(mask[:1]), torch.masked.sum(x, mask=mask), mask.nonzero()


def sizes_that_depend_on_data(device):
    x = ids(3, 0, 3, 1, 0, 2, device=device)
    return (
        x.nonzero(), x.nonzero(as_tuple=True), torch.argwhere(x), x.unique(return_counts=True), x.unique_consecutive(),
        torch.repeat_interleave(x, x), x.repeat_interleave(2), torch.where(x > 0), x[x > 5].sum(), x[x > 5].shape,
        torch.combinations(x[:3]), torch.cartesian_prod(x[:2], x[2:4]), torch.tril_indices(3, 3, device=device),
        torch.block_diag(x[:2], x[2:]), torch.nn.utils.rnn.pad_sequence([x, x[:3]]), x.split(x[:3].tolist()),
        torch.isin(x, x[:2]), torch.searchsorted(x.sort()[0], x), torch.histc(x.float(), 4),
    )  # fmt: skip


def gradients(device):
    x = numbers(4, 5, device=device).requires_grad_()
    i = ids(0, 2, 2, -1, device=device)
    y = x * 1
    y[i[:3]] = y[i[1:]] * 2
    y[y > 0.5] = 0
    total = y[i, i % 5].sum() + x[i].square().sum() + x[x > 0].sum() + y.gather(1, i[None] % 5).sum()
    total.backward()
    return x.grad, y


def in_a_loop(device):
    """What a sampler does."""
    x = torch.zeros(4, 4, dtype=torch.long, device=device)
    for step in range(4):
        x[step, step % 4] = step
        x[:, (step + 1) % 4] += x[step]
        if x[step].any():
            x[step][x[step] > 20] = 0
    return x


PROGRAMS = [reading, writing, duplicates, masks, sizes_that_depend_on_data, gradients, in_a_loop]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-5, atol=1e-6)


REFUSED = {
    "too large": lambda x, d: x[ids(7, device=d)].cpu(),
    "too small": lambda x, d: x[ids(-9, device=d)].cpu(),
    "one too large": lambda x, _: x[7],
    "too many": lambda x, _: x[0, 0, 0],
    "floats": lambda x, d: x[torch.ones(2, device=d)],
    "a mask that does not fit": lambda x, d: x[torch.ones(3, dtype=torch.bool, device=d)],
    "shapes that do not fit": lambda x, d: x[ids(0, 1, device=d), ids(0, 1, 2, device=d)],
    "places that do not fit": lambda x, d: x.__setitem__((ids(0, 1, device=d), ids(0, 1, 2, device=d)), 0.0),
    "a value that does not fit": lambda x, d: x.__setitem__(ids(0, 1, device=d), torch.ones(3, 5, device=d)),
    "written too far": lambda x, d: (x.__setitem__(ids(7, device=d), 1.0), x.cpu()),
    "gathered too far": lambda x, d: x.gather(0, ids(9, device=d)[None]).cpu(),
    "scattered too far": lambda x, d: x.scatter_(0, ids(9, device=d)[None], 1.0).cpu(),
    "selected too far": lambda x, d: x.index_select(0, ids(9, device=d)).cpu(),
    "a step of zero": lambda x, _: x[::0],
    "a step below zero": lambda x, _: x[::-1],
    "embedding": lambda x, d: torch.nn.functional.embedding(ids(9, device=d), x).cpu(),
    "class": lambda x, d: torch.nn.functional.cross_entropy(x, ids(0, 1, 9, 0, device=d)).cpu(),
}


@pytest.mark.parametrize("name", [name for name in REFUSED if "fit" in name])
def test_shapes_are_refused_at_the_call(name):
    x = numbers(4, 5, device="spyre")
    with pytest.raises((IndexError, RuntimeError)):
        REFUSED[name](x, "spyre")


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    same(lambda device: REFUSED[name](numbers(4, 5, device=device), device), raises=True)
    assert torch.ones(2, device="spyre").sum().item() == 2  # the device is as good as before


def test_a_mask_of_two_dimensions_moves_what_comes_after_it():
    """An index of the host beside it is checked at the call, in its own dimension."""
    x, mask = torch.arange(12.0).reshape(2, 2, 3), torch.tensor([[True, False], [True, True]])
    read, places = torch.ops.aten.index.Tensor, torch.tensor([2, 0, -3])
    same(lambda device: read(x.to(device), [mask, places]))
    same(lambda device: x.to(device).index_put((mask, places), torch.tensor(9.0, device=device)))
    with pytest.raises(IndexError, match="index 3 is out of bounds for dimension 2 with size 3"):
        read(x.to("spyre"), [mask, places + 1])
    with pytest.raises(IndexError, match="index -4 is out of bounds for dimension 2 with size 3"):
        read(x.to("spyre"), [mask.byte(), places - 1])
