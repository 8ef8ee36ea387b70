"""Models of the transformers library, compiled: results and gradients of eager code, in one graph."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from tests.models.test_architectures import run
from tests.models.zoo import READERS, WRITERS, make_inputs, make_model

MODELS = ["bert", "gpt2", "llama", "vit", "t5"]
ONE_LAYER = {"num_hidden_layers": 1, "n_layer": 1, "num_layers": 1}


def model_and_inputs(name: str) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    layers = {key: count for key, count in ONE_LAYER.items() if key in {**READERS, **WRITERS}[name]}
    inputs = {key: value.to("spyre") for key, value in make_inputs(name).items()}
    return make_model(name, **layers).to("spyre"), inputs


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_results_and_gradients_are_those_of_eager_code(name: str) -> None:
    eager, inputs = model_and_inputs(name)
    compiled = copy.deepcopy(eager)
    counters.clear()
    result, gradients = run(torch.compile(compiled), inputs)
    expected, expected_gradients = run(eager, inputs)

    assert not counters["graph_break"]
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
    largest = max(float(gradient.abs().max()) for gradient in expected_gradients.values())
    for parameter, gradient in expected_gradients.items():
        torch.testing.assert_close(
            gradients[f"_orig_mod.{parameter}"], gradient, rtol=1e-3, atol=1e-5 * largest, msg=parameter
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_steps_of_an_optimizer_are_those_of_eager_code(name: str) -> None:
    eager, inputs = model_and_inputs(name)
    compiled = copy.deepcopy(eager)
    for model, compile_it in ((eager, lambda function: function), (compiled, torch.compile)):
        optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
        forward, step = compile_it(model), compile_it(optimizer.step)
        for _ in range(2):
            optimizer.zero_grad()
            forward(**inputs)[0].square().mean().backward()
            step()
    for (parameter, ours), theirs in zip(compiled.named_parameters(), eager.parameters(), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=1e-3, atol=1e-4, msg=parameter)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_one_graph_without_breaks(name: str) -> None:
    model, inputs = model_and_inputs(name)
    explained = torch._dynamo.explain(model)(**inputs)
    assert explained.graph_count == 1
    assert explained.graph_break_count == 0
