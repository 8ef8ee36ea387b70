"""Every layer and loss of torch.nn that PyTorch describes (module_db): forward, backward, state, on its own inputs."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch.nn.modules.lazy import LazyModuleMixin
from torch.testing._internal.common_modules import ModuleInfo, module_db
from torch.utils._pytree import tree_leaves, tree_map_only

from .same import assert_same, to_host

DRAWING_IN_TRAINING = {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU"}
DRAWING = {"FractionalMaxPool2d", "FractionalMaxPool3d"}
MOST_INPUTS = 6


def name_of(info: ModuleInfo) -> str:
    return info.module_cls.__name__


def moved(tree: Any, device: str) -> Any:
    def move(t: torch.Tensor) -> torch.Tensor:
        return t.detach().clone().to(device).requires_grad_(t.requires_grad)

    return tree_map_only(torch.Tensor, move, tree)


def floats(tree: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(tree) if isinstance(t, torch.Tensor) and t.requires_grad]


def run(module: torch.nn.Module, given: Any, device: str) -> tuple[Any, Any]:
    """What comes out, and all gradients and buffers after backward."""
    module = copy.deepcopy(module).to(device)
    args, kwargs = moved((given.args, given.kwargs), device)
    torch.manual_seed(0)
    result = module(*args, **kwargs)
    ends = floats(result)
    if ends:
        torch.autograd.backward(ends, [torch.linspace(0, 1, t.numel()).view(t.shape).to(t) for t in ends])
    gradients = [t.grad for t in [*floats((args, kwargs)), *module.parameters()]]
    return to_host(result), to_host([gradients, list(module.buffers())])


def check(info: ModuleInfo, training: bool) -> None:
    cases = info.module_inputs_func(info, "cpu", torch.float32, requires_grad=True, training=training)
    for case in cases[:MOST_INPUTS]:
        torch.manual_seed(0)
        arguments = case.constructor_input
        module = info.module_cls(*arguments.args, **arguments.kwargs).train(training)
        if case.forward_input is None or draws(module):
            continue
        if isinstance(module, LazyModuleMixin):  # draws its weights when it first sees an input
            module(*case.forward_input.args)
        expected = run(module, case.forward_input, "cpu")
        assert_same(run(module, case.forward_input, "spyre"), expected, rtol=1e-3, atol=1e-4)


def draws(module: torch.nn.Module) -> bool:
    name = type(module).__name__
    chances = [m for m in module.modules() if isinstance(m, torch.nn.Dropout) and m.p > 0]
    in_training = bool(chances or getattr(module, "dropout", 0)) or name in DRAWING_IN_TRAINING
    return name in DRAWING or (module.training and in_training)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluating"])
@pytest.mark.parametrize("info", module_db, ids=name_of)
def test_modules(info, training):
    if torch.float32 not in info.dtypes:
        pytest.skip("none in float32")
    check(info, training)
