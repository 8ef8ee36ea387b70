"""Models of the transformers library, compiled: results and gradients of eager code, in one graph."""

from __future__ import annotations

import copy

import pytest
import torch
from torch._dynamo.utils import counters

from tests.models.test_architectures import READERS, WRITERS, make_inputs, make_model, run

ONE_LAYER = {"num_hidden_layers": 1, "n_layer": 1, "num_layers": 1}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit", "t5"])
def test_results_and_gradients_are_those_of_eager_code(name: str) -> None:
    settings = {**READERS, **WRITERS}[name]
    settings = {key: ONE_LAYER.get(key, value) for key, value in settings.items()}
    eager = make_model(name, settings).to("spyre")
    compiled = copy.deepcopy(eager)
    inputs = {key: value.to("spyre") for key, value in make_inputs(name).items()}
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
