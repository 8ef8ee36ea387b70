"""torch.func: vmap, grad, jvp, vjp, jacobians, functional_call, functionalize; alone and nested."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.func import (
    functional_call,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    stack_module_state,
    vjp,
    vmap,
)

from .same import numbers, same


def vmap_over_dimensions(device):
    x, y = numbers(3, 4, 5, device=device), numbers(5, 4, device=device, seed=1)
    return (
        vmap(torch.matmul)(x, y.expand(3, 5, 4)),
        vmap(torch.matmul, in_dims=(0, None))(x, y),
        vmap(lambda a: a.sum(0), in_dims=2, out_dims=1)(x),
        vmap(vmap(torch.dot))(x, x),
        vmap(lambda a: {"max": a.max(), "sorted": a.sort(-1)[0]})(x),
    )


def vmap_over_operators(device):
    x = numbers(3, 6, device=device)
    index = torch.tensor([[0, 1], [2, 3], [4, 5]], device=device)
    return (
        vmap(lambda a, i: a[i])(x, index),
        vmap(lambda a, i: a.gather(0, i))(x, index),
        vmap(lambda a, i: a.index_add(0, i, a[:2]))(x, index),
        vmap(lambda a: F.layer_norm(a, (6,)).softmax(-1).cumsum(0))(x),
        vmap(lambda a: torch.where(a > 0, a, a.exp()))(x),
        vmap(lambda a: F.conv1d(a.view(1, 1, 6), torch.ones(1, 1, 3, device=device)))(x),
        vmap(torch.linalg.norm)(x),
        vmap(lambda a: a.new_zeros(2).copy_(a[:2]))(x),
        vmap(torch.linalg.inv)(numbers(3, 4, 4, device=device)),
    )


def vmap_in_chunks(device):
    return vmap(lambda a: a.exp().sum(), chunk_size=2)(numbers(7, 3, device=device))


def vmap_in_place(device):
    x = numbers(3, 4, device=device)
    vmap(lambda a: a[1:].mul_(2))(x)
    return x


def vmap_writes_a_batch_into_one(device):
    one = numbers(4, device=device)
    return vmap(one.add_)(numbers(3, 4, device=device))


def vmap_reads_a_value(device):
    return vmap(lambda a: a * a.sum().item())(numbers(3, 4, device=device))


def vmap_sizes_that_differ(device):
    return vmap(torch.add)(numbers(3, device=device), numbers(4, device=device))


def vmap_draws(device):
    x = torch.zeros(3, 4, device=device)
    same_draw = vmap(F.dropout, randomness="same")(x + 1)
    different = vmap(F.dropout, randomness="different")(x + 1)
    return bool((same_draw == same_draw[0]).all()), different.shape


def vmap_draws_by_default(device):
    return vmap(F.dropout)(numbers(3, 4, device=device))


def gradients(device):
    x = numbers(4, device=device)
    return (
        grad(lambda a: (a.sin() * a).sum())(x),
        grad(grad(torch.sin))(x[0]),
        grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(x, x.exp()),
        grad_and_value(lambda a: a.norm())(x),
        grad(lambda a: (a.sum(), a * 2), has_aux=True)(x),
    )


def jacobians(device):
    x = numbers(3, device=device)

    def f(a):
        return torch.outer(a, a.exp()).tanh()

    return jacrev(f)(x), jacfwd(f)(x), jacrev(f, chunk_size=2)(x), hessian(lambda a: f(a).sum())(x)


def products(device):
    x, v = numbers(3, device=device), numbers(3, device=device, seed=1)
    value, pull = vjp(lambda a: (a.sin(), a.sum()), x)
    line, push = linearize(lambda a: a.sin() * 2, x)
    return value, pull((v, v[0])), jvp(lambda a: a.log_softmax(0), (x,), (v,)), line, push(v)


def per_sample_gradients(device):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.GroupNorm(1, 2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    ).to(device)
    weights = dict(model.named_parameters())

    def loss(weights, x, y):
        return F.cross_entropy(functional_call(model, weights, (x[None],)), y[None])

    x, y = numbers(5, 1, 4, 4, device=device), torch.tensor([0, 1, 2, 0, 1], device=device)
    return vmap(grad(loss), in_dims=(None, 0, 0))({k: w.detach() for k, w in weights.items()}, x, y)


def an_ensemble(device):
    torch.manual_seed(0)
    models = [torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2)) for _ in range(3)]
    models = [m.to(device) for m in models]
    weights, buffers = stack_module_state(models)
    call = vmap(lambda w, b, x: functional_call(models[0], (w, b), (x,)), in_dims=(0, 0, None))
    return call(weights, buffers, numbers(5, 4, device=device))


def functional_call_with_ties(device):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.second = torch.nn.Linear(3, 3)
            self.second.weight = self.first.weight
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            self.seen += 1
            return self.second(self.first(x))

    torch.manual_seed(0)
    model = Tied().to(device)
    other = {"first.weight": torch.ones(3, 3, device=device), "seen": torch.full((1,), 5.0, device=device)}
    result = functional_call(model, other, (numbers(2, 3, device=device),))
    return result, other["seen"], model.seen


def functionalized_mutations(device):
    def f(x):
        y = x.clone()
        y[1:].add_(x[:-1])
        y.t()[0].zero_()
        return y

    x = numbers(3, 3, device=device)
    return functionalize(f)(x), vmap(f)(numbers(2, 3, 3, device=device)), grad(lambda a: f(a).sum())(x)


def attention_under_vmap(device):
    q = numbers(2, 3, 4, 8, device=device)
    return vmap(lambda a: F.scaled_dot_product_attention(a, a, a))(q), vmap(
        grad(lambda a: F.scaled_dot_product_attention(a, a, a).sum())
    )(q)


PROGRAMS = [
    vmap_over_dimensions,
    vmap_over_operators,
    vmap_in_chunks,
    vmap_in_place,
    vmap_draws,
    gradients,
    jacobians,
    products,
    per_sample_gradients,
    an_ensemble,
    functional_call_with_ties,
    functionalized_mutations,
    attention_under_vmap,
]
REFUSED = [vmap_writes_a_batch_into_one, vmap_reads_a_value, vmap_sizes_that_differ, vmap_draws_by_default]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", REFUSED)
def test_refusals(program):
    same(program, raises=True)
