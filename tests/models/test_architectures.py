"""Architectures of the transformers library with random weights, unchanged: results, gradients and text as on CPU."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM

TEXT = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 300,
}
SEQUENCE = {
    "d_model": 64,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "vocab_size": 300,
    "decoder_start_token_id": 1,
}
IMAGE = {**TEXT, "image_size": 32, "patch_size": 8}
AUDIO = {**TEXT, "conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
GPT = {"n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300}

WRITERS: dict[str, dict[str, Any]] = {
    "gpt2": GPT,
    "bloom": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300},
    "llama": {**TEXT, "num_key_value_heads": 2},
    "gemma": {**TEXT, "num_key_value_heads": 2, "head_dim": 16},
    "phi": TEXT,
    "mixtral": {**TEXT, "num_key_value_heads": 2, "num_local_experts": 4},
    "mamba": {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 300},
}
READERS: dict[str, dict[str, Any]] = {
    "bert": TEXT,
    "deberta-v2": TEXT,
    "modernbert": {**TEXT, "pad_token_id": 0},
    "t5": {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 128, "d_kv": 16, "vocab_size": 300},
    "bart": SEQUENCE,
    "vit": IMAGE,
    "dinov2": IMAGE,
    "resnet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    "convnext": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "wav2vec2": AUDIO,
}
SEQUENCE_TO_SEQUENCE, IMAGES, SOUNDS = {"t5", "bart"}, {"vit", "dinov2", "resnet", "convnext"}, {"wav2vec2"}
#: Which experts see any token is data.
HOST = {"mixtral": {"aten::nonzero"}}


def without_chance(config: transformers.PretrainedConfig) -> transformers.PretrainedConfig:
    """Dropout and masking draw other numbers on other devices."""
    for name, value in config.to_dict().items():
        if isinstance(value, float) and ("drop" in name or name in ("mask_time_prob", "layerdrop")):
            setattr(config, name, 0.0)
    return config


def make_model(name: str, settings: dict[str, Any]) -> nn.Module:
    torch.manual_seed(0)
    config = without_chance(transformers.CONFIG_MAPPING[name](**settings))
    return (AutoModelForCausalLM if name in WRITERS else AutoModel).from_config(config).eval()


def make_inputs(name: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    if name in IMAGES:
        return {"pixel_values": torch.rand(2, 3, 32, 32, generator=generator)}
    if name in SOUNDS:
        return {"input_values": torch.randn(2, 2000, generator=generator)}
    words = torch.randint(3, 300, (2, 12), generator=generator)
    if name in SEQUENCE_TO_SEQUENCE:
        return {"input_ids": words, "decoder_input_ids": words[:, :7]}
    return {"input_ids": words, "attention_mask": torch.ones_like(words)}


def run(model: nn.Module, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The first result, and every parameter's gradient of its mean square."""
    result = model(**inputs)[0]
    result.square().mean().backward()
    return result.detach().cpu(), {n: p.grad.cpu() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "settings"), {**READERS, **WRITERS}.items(), ids=[*READERS, *WRITERS])
def test_results_and_gradients_are_those_of_cpu(name: str, settings: dict[str, Any]) -> None:
    on_cpu, inputs = make_model(name, settings), make_inputs(name)
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
    assert fallbacks <= HOST.get(name, set())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_text_is_written(name: str) -> None:
    on_cpu = make_model(name, WRITERS[name])
    words = make_inputs(name)["input_ids"][:, :5]
    settings: dict[str, Any] = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "use_cache": True}
    expected = on_cpu.generate(words, **settings)
    torch.spyre.reset_stats()
    written = on_cpu.to("spyre").generate(words.to("spyre"), **settings)
    assert torch.equal(written.cpu(), expected)
    assert {op for op, count in torch.spyre.stats()["fallbacks"].items() if count} <= HOST.get(name, set())
