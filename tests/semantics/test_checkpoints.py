"""What backward keeps: checkpoints, and hooks of the tensors that are saved for it."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .same import leaf, same


def checkpointed_dropout(device):
    layers = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 8)).to(device)
    x = leaf(4, 8, device=device)
    plain = layers.eval()(x)
    again = checkpoint(layers, x, use_reentrant=False)
    again.sum().backward()
    return plain, again, x.grad, [p.grad for p in layers.parameters()]


def checkpoint_of_the_old_kind(device):
    x = leaf(4, device=device)
    y = checkpoint(lambda t: (t.sin() * t).relu(), x, use_reentrant=True)
    y.sum().backward()
    return x.grad, y


def checkpointed_sequence(device):
    layers = torch.nn.Sequential(*(torch.nn.Linear(4, 4) for _ in range(4))).to(device)
    x = leaf(2, 4, device=device)
    checkpoint_sequential(layers, 2, x, use_reentrant=False).sum().backward()
    return x.grad, [p.grad for p in layers.parameters()]


def hooks_of_saved_tensors(device):
    packed = []

    def pack(t):
        packed.append(tuple(t.shape))
        return t.cpu() * 2

    x = leaf(3, device=device)
    with saved_tensors_hooks(pack, lambda t: (t / 2).to(device)):
        y = x.exp() * x
    y.sum().backward()
    return x.grad, packed


def saved_on_the_host(device):
    x = leaf(3, 3, device=device)
    with save_on_cpu():
        y = (x @ x).tanh()
    y.sum().backward()
    return x.grad


PROGRAMS = [
    checkpointed_dropout,
    checkpoint_of_the_old_kind,
    checkpointed_sequence,
    hooks_of_saved_tensors,
    saved_on_the_host,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-4, atol=1e-5)


def test_checkpointed_dropout_draws_the_same_numbers_again():
    torch.manual_seed(0)
    x = torch.ones(1000, device="spyre", requires_grad=True)
    for reentrant in (False, True):
        x.grad = None
        y = checkpoint(lambda t: F.dropout(t, 0.5) * F.dropout(t, 0.3), x, use_reentrant=reentrant)
        torch.randn(5, device="spyre")
        y.sum().backward()
        assert torch.equal((x.grad != 0).cpu(), (y != 0).cpu())
