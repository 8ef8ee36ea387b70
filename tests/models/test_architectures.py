"""Models with random weights, unchanged: results, gradients and text as on CPU."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from .zoo import NAMES, WRITERS, first_tensor, make_inputs, make_model


def run(model: nn.Module, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The first result, and every parameter's gradient of its mean square."""
    result = first_tensor(model(**inputs))
    result.square().mean().backward()
    return result.detach().cpu(), {n: p.grad.cpu() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_results_and_gradients_are_those_of_cpu(name: str) -> None:
    on_cpu, inputs = make_model(name).eval(), make_inputs(name)
    on_spyre = copy.deepcopy(on_cpu).to("spyre")
    torch.spyre.reset_stats()
    result, gradients = run(on_spyre, {key: value.to("spyre") for key, value in inputs.items()})
    fallbacks = {op for op, count in torch.spyre.stats()["fallbacks"].items() if count}
    expected, expected_gradients = run(on_cpu, inputs)

    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
    assert gradients.keys() == expected_gradients.keys()
    largest = max(g.abs().max() for g in expected_gradients.values())
    for parameter, gradient in gradients.items():
        torch.testing.assert_close(
            gradient, expected_gradients[parameter], rtol=1e-3, atol=1e-5 * float(largest), msg=parameter
        )
    assert not fallbacks


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_text_is_written(name: str) -> None:
    on_cpu = make_model(name).eval()
    words = make_inputs(name)["input_ids"][:, :5]
    settings: dict[str, Any] = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "use_cache": True}
    expected = on_cpu.generate(words, **settings)
    torch.spyre.reset_stats()
    written = on_cpu.to("spyre").generate(words.to("spyre"), **settings)
    assert torch.equal(written.cpu(), expected)
    assert not any(torch.spyre.stats()["fallbacks"].values())
