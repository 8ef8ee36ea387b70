"""Operators that eager code has formulas for stay whole: eager's bits, and eager's fusion with what surrounds them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch._inductor.utils import run_and_get_code

from .compare import assert_same_bits
from .test_ops import numbers

WHOLE: dict[str, Any] = {
    "softmax": lambda x: F.softmax(x * 2, -1) + 1,
    "log_softmax": lambda x: F.log_softmax(x * 2, 1) + 1,
    "layer_norm": lambda x: F.layer_norm(x * 2, (8,), x[0, 0], x[0, 1]) + 1,
    "group_norm": lambda x: F.group_norm(x * 2, 3) + 1,
    "activations": lambda x: (
        F.gelu(x) + F.gelu(x, approximate="tanh") + F.silu(x) + F.elu(x) + F.mish(x) + F.softplus(x)
    ),
    "piecewise": lambda x: F.relu(x) + F.leaky_relu(x) + F.hardtanh(x) + F.threshold(x, 0.1, 2.0) + x.tanh(),
    "piecewise, too": lambda x: F.relu6(x) + F.hardswish(x) + F.hardsigmoid(x) + x.sigmoid(),
    "celu": lambda x: F.celu(x, 1.3) + F.selu(x),
    "cross entropy": lambda x: F.cross_entropy(x[:, :, 0] * 2, x[:, :, 1].argmax(1)) + 1,
    "cross entropy of points": lambda x: F.cross_entropy(x * 2, x.argmax(1), ignore_index=2) + 1,
}


#: Their gradients are those of what Dynamo makes of them.
COMBINATIONS: dict[str, Any] = {
    "addcmul": lambda x: torch.addcmul(x, x, x + 3, value=0.3),
    "addcdiv": lambda x: torch.addcdiv(x, x, x.abs() + 3),
    "addcmul_": lambda x: (x * 2).addcmul_(x, x + 1, value=-0.7),
    "addcdiv_": lambda x: (x * 2).addcdiv_(x, x.abs() + 1, value=0.7),
    "broadcast": lambda x: (x * 2).addcmul_(x[0], x[:, :1], value=3),
    "other types": lambda x: (
        x.double().addcmul_(x.double(), x.double(), value=0.1),
        x.half().addcmul_(x.half(), x.half(), value=0.1),
    ),
    "lists": lambda x: (
        *torch._foreach_addcmul([x, x], [x, x], [x + 1, x], scalars=[0.1, 0.2]),
        *torch._foreach_addcdiv([x], [x], [x.abs() + 1], scalars=[0.1]),
        *torch._foreach_lerp([x], [x * 2], weight=[0.1]),
        *torch._foreach_div([x], scalars=[3.0]),
    ),
    "a product that is read elsewhere": lambda x: ((x * 2).addcmul_(x, x, value=0.3), x * x),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_combinations_have_the_bits_of_eager(name: str) -> None:
    assert_same_bits(COMBINATIONS[name], numbers(4, 6, 8))


def test_a_base_that_is_the_product() -> None:
    """Where gradients are asked for, Inductor's graph has the product once."""

    def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a * b).addcmul_(a, b, value=2.0)

    a, b = (numbers(4, 8).to("spyre").requires_grad_() for _ in range(2))
    assert torch.equal(torch.compile(program)(a, b).cpu(), program(a, b).cpu())


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", WHOLE)
def test_same_bits_as_eager(name: str, dynamic: bool) -> None:
    assert_same_bits(WHOLE[name], numbers(4, 6, 8), dynamic=dynamic)


@pytest.mark.parametrize("name", WHOLE)
def test_same_gradients_as_eager(name: str) -> None:
    def gradient(of: Any, x: torch.Tensor) -> torch.Tensor:
        return torch.autograd.grad(of(x).square().sum(), x)[0].cpu()

    x = numbers(4, 6, 8).to("spyre").requires_grad_()
    assert torch.equal(gradient(torch.compile(WHOLE[name]), x), gradient(WHOLE[name], x))


def test_one_kernel_with_what_surrounds_it(stats) -> None:
    compiled, x = torch.compile(WHOLE["softmax"]), numbers(4, 6, 8).to("spyre")
    compiled(x).cpu()
    torch.spyre.reset_stats()
    compiled(x).cpu()
    assert stats()["kernel_launches"] == 1


def test_a_piecewise_gradient_is_one_operation(stats) -> None:
    def operations(of: Any) -> int:
        x = numbers(4, 8).to("spyre").requires_grad_()
        result = of(x)
        torch.spyre.synchronize()
        torch.spyre.reset_stats()
        (gradient,) = torch.autograd.grad(result, x, result.detach())
        torch.spyre.synchronize()
        del gradient
        return int(stats()["ops_planned"])

    def program(x: torch.Tensor) -> torch.Tensor:
        return F.relu(F.hardtanh(x * 2))

    compiled = torch.compile(program)
    operations(compiled)
    assert operations(compiled) == operations(program)


def test_operators_are_called_through_pytorchs_own_bindings() -> None:
    x = numbers(6, 8).to("spyre")
    _, (code,) = run_and_get_code(torch.compile(lambda x: F.softmax(x @ x.t(), -1).cumsum(0)), x)
    for name in ("mm", "_softmax", "cumsum"):
        assert f"aten_{name} = torch._C._VariableFunctions.{name}" in code
        assert f"aten_{name}(" in code


def test_the_first_graph_of_a_process_knows_them(run_python) -> None:
    child = run_python(
        "import torch\n"
        "x = torch.arange(12.0, device='spyre').view(3, 4)\n"
        "compiled = torch.compile(lambda x: x.softmax(-1))\n"
        "from torch._inductor.utils import run_and_get_code\n"
        "print('_softmax(' in run_and_get_code(compiled, x)[1][0])\n",
        TORCHINDUCTOR_FORCE_DISABLE_CACHES="1",
    )
    assert child.stdout.strip() == "True", child.stderr


def test_other_devices_decompose_them_as_before() -> None:
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(WHOLE["softmax"], decomposition_table=select_decomp_table())(numbers(4, 6, 8))
    assert "_softmax" not in graph.code
    assert "amax" in graph.code
