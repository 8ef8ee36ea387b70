"""Autograd in all its forms: hooks, higher derivatives, forward mode, errors."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch.nn.functional as F

from .same import leaf, numbers, same


def hooks_of_tensors(device):
    x, seen = leaf(3, device=device), []
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    handle = x.register_hook(lambda g: seen.append(g.clone()))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.clone()))
    y.sum().backward(retain_graph=True)
    handle.remove()
    y.sum().backward()
    return x.grad, y.grad, seen


def hooks_of_modules(device):
    layer, seen = torch.nn.Linear(3, 2), []
    layer = layer.to(device)
    layer.register_forward_pre_hook(lambda _, args: (args[0] * 2,))
    layer.register_forward_hook(lambda _, __, out: out + 1)
    layer.register_full_backward_hook(lambda _, gi, go: seen.append((gi, go)))
    layer.register_full_backward_pre_hook(lambda _, go: (go[0] * 3,))
    x = leaf(4, 3, device=device)
    result = layer(x)
    result.sum().backward()
    return result, x.grad, layer.weight.grad, seen


def hooks_of_nodes(device):
    x, seen = leaf(3, device=device), []
    y = x.exp()
    y.grad_fn.register_prehook(lambda g: tuple(t * 2 for t in g))
    y.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
    y.sum().backward()
    return x.grad, seen


def hessian_of_a_network(device):
    w = leaf(3, 3, device=device)
    x = numbers(3, device=device, seed=1)
    return torch.autograd.functional.hessian(lambda w: torch.tanh(w @ x).pow(2).sum(), w)


def gradient_penalty(device):
    layer = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softplus(), torch.nn.Linear(8, 1)).to(device)
    x = leaf(5, 4, device=device)
    (g,) = torch.autograd.grad(layer(x).sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()
    return [p.grad for p in layer.parameters() if p.grad is not None]


def batched_gradients(device):
    x = leaf(3, device=device)
    y = x.sin() * x
    return torch.autograd.grad(y, x, torch.eye(3, device=device), is_grads_batched=True)


def accumulation_and_zeroing(device):
    x = leaf(3, device=device)
    for _ in range(3):
        (x * x).sum().backward()
    kept = x.grad
    optimizer = torch.optim.SGD([x], lr=0.1)
    optimizer.zero_grad(set_to_none=False)
    same_tensor = x.grad is kept
    (x * 3).sum().backward()
    return kept, same_tensor


def a_graph_kept_and_freed(device):
    x = leaf(3, device=device)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    y.backward()  # freed: raises


def changed_in_place_before_backward(device):
    x = leaf(3, device=device)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def changed_through_a_view_before_backward(device):
    x = leaf(3, device=device)
    y = x.exp()
    y[0].zero_()
    y.sum().backward()


def a_leaf_changed_in_place(device):
    leaf(3, device=device).add_(1)


def a_view_of_a_leaf_changed_in_place(device):
    leaf(3, device=device)[1:].mul_(2)


def backward_of_many_elements(device):
    (leaf(3, device=device) * 2).backward()


def versions(device):
    x = numbers(4, device=device)
    seen = [x._version]
    x.add_(1)
    x[1:].mul_(2)
    seen.append(x._version)
    with torch.no_grad():
        x.copy_(x * 2)
    torch.add(x, 1, out=x)
    x.detach().zero_()
    seen.append(x._version)
    x.data.add_(1)
    seen.append(x._version)
    with torch.autograd._unsafe_preserve_version_counter(x):
        x.add_(1)
    return [*seen, x._version], x


def in_place_on_views(device):
    x = leaf(4, 5, device=device)
    y = x * 1
    y[1:, ::2].mul_(3)
    y.t()[0].copy_(y[:, 1])
    y.diagonal().add_(y.diagonal().exp())
    y.sum(0).pow(2).sum().backward()
    return x.grad, y, type(y.grad_fn).__name__


def a_view_that_outlives_its_base(device):
    def part():
        base = leaf(6, device=device) * 2
        return base[2:4]

    view = part()
    view.mul_(2)
    return view, type(view.grad_fn).__name__


def unused_and_missing_gradients(device):
    x, y = leaf(3, device=device), leaf(3, device=device)
    return torch.autograd.grad((x * 2).sum(), (x, y), allow_unused=True)


def gradients_materialized_as_zeros(device):
    x, y = leaf(3, device=device), leaf(3, device=device)
    return torch.autograd.grad((x * 2).sum(), (x, y), materialize_grads=True)


def anomaly_mode(device):
    x = leaf(3, device=device)
    with torch.autograd.detect_anomaly(check_nan=True):
        torch.sqrt(x * 0 - 1).sum().backward()


def forward_mode(device):
    x = numbers(3, 3, device=device)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones_like(x))
        y = F.layer_norm((dual @ dual).tanh().softmax(-1), (3,))
        value, tangent = fwAD.unpack_dual(y)
        in_place = dual.clone().mul_(dual)
        return value, tangent, fwAD.unpack_dual(in_place).tangent


def forward_over_reverse(device):
    x = numbers(4, device=device)
    v = numbers(4, device=device, seed=1)
    return torch.autograd.functional.hvp(lambda x: (x.sin() * x).sum(), x, v)


def jacobians(device):
    x = numbers(3, device=device)

    def f(x):
        return torch.outer(x, x.exp())

    return (
        torch.autograd.functional.jacobian(f, x),
        torch.autograd.functional.jacobian(f, x, vectorize=True, strategy="forward-mode"),
        torch.autograd.functional.vjp(f, x, torch.ones(3, 3, device=device)),
        torch.autograd.functional.jvp(f, x, torch.ones(3, device=device)),
    )


def multi_grad_hook(device):
    x, y, seen = leaf(3, device=device), leaf(3, device=device), []
    torch.autograd.graph.register_multi_grad_hook((x, y), lambda gs: seen.append([g.clone() for g in gs]))
    (x * y).sum().backward()
    return seen


def inference_mode(device):
    x = leaf(3, device=device)
    with torch.inference_mode():
        y = x * 2
        y.add_(1)
        view = y[1:]
    flags = [y.is_inference(), view.is_inference(), y.requires_grad]
    return flags, y, y.clone().is_inference()


def an_inference_tensor_saved(device):
    with torch.inference_mode():
        y = numbers(3, device=device) * 2
    return leaf(3, device=device) * y


def an_inference_tensor_changed(device):
    with torch.inference_mode():
        y = numbers(3, device=device) * 2
    y.add_(1)


def no_grad_views(device):
    x = leaf(4, device=device)
    with torch.no_grad():
        view = x[1:]
        view.mul_(3)
    return x, view.requires_grad, view._is_view()


def gradients_of_sparse_and_mixed_use(device):
    x = leaf(3, device=device)
    y = x.to("cpu") * 2 + x.to(device).cpu()
    y.sum().backward()
    return x.grad


def gradcheck(device):
    x = numbers(3, 2, device=device, dtype=torch.float64).requires_grad_()
    return (
        torch.autograd.gradcheck(lambda t: F.gelu(t @ t.t()), (x,), check_forward_ad=True),
        torch.autograd.gradgradcheck(lambda t: t.softmax(0).log(), (x,)),
    )


PROGRAMS = [
    hooks_of_tensors,
    hooks_of_modules,
    hooks_of_nodes,
    hessian_of_a_network,
    gradient_penalty,
    batched_gradients,
    accumulation_and_zeroing,
    versions,
    in_place_on_views,
    a_view_that_outlives_its_base,
    unused_and_missing_gradients,
    gradients_materialized_as_zeros,
    forward_mode,
    forward_over_reverse,
    jacobians,
    multi_grad_hook,
    inference_mode,
    no_grad_views,
    gradients_of_sparse_and_mixed_use,
    gradcheck,
]
REFUSED = [
    a_graph_kept_and_freed,
    changed_in_place_before_backward,
    changed_through_a_view_before_backward,
    a_leaf_changed_in_place,
    a_view_of_a_leaf_changed_in_place,
    backward_of_many_elements,
    anomaly_mode,
    an_inference_tensor_saved,
    an_inference_tensor_changed,
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", REFUSED)
def test_refusals(program):
    same(program, raises=True)


def test_two_backwards_at_once():
    def gradient(device: str) -> list[torch.Tensor]:
        x = numbers(50, 50, device=device).requires_grad_()
        results: list[torch.Tensor] = []

        def work() -> None:
            own = x.detach().clone().requires_grad_()
            for _ in range(5):
                torch.tanh(own @ own).sum().backward()
            results.append(own.grad.cpu())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return results

    expected = gradient("cpu")
    found = gradient("spyre")
    assert len(found) == 4
    for ours in found:
        torch.testing.assert_close(ours, expected[0], rtol=1e-3, atol=1e-4)
        assert torch.equal(ours, found[0])


def test_one_graph_from_two_threads():
    x = torch.ones(100, device="spyre", requires_grad=True)
    y = (x * 2).sum()
    threads = [threading.Thread(target=lambda: y.backward(retain_graph=True)) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [8] * 100


def test_anomaly_mode_shows_the_forward_call():
    x = torch.ones(3, device="spyre", requires_grad=True)
    with (
        pytest.warns(UserWarning, match="detected in SqrtBackward0|Anomaly"),
        pytest.raises(RuntimeError, match=r"SqrtBackward0.*nan"),
        torch.autograd.detect_anomaly(),
    ):
        torch.sqrt(x * 0 - 1).sum().backward()
