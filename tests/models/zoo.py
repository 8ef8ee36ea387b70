"""Models with random weights, small enough to be tried on every change: of the transformers library, and plain ones."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM

from . import plain

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
GROUPED = {**TEXT, "num_key_value_heads": 2}
CLIP = {
    "text_config": {**TEXT, "max_position_embeddings": 32, "eos_token_id": 2, "bos_token_id": 1},
    "vision_config": IMAGE,
    "projection_dim": 32,
}
WHISPER = {**SEQUENCE, "num_mel_bins": 16, "max_source_positions": 50, "pad_token_id": 0, "bos_token_id": 1,
           "eos_token_id": 2, "suppress_tokens": None, "begin_suppress_tokens": None}  # fmt: skip

#: They write: `generate` is tried, too.
WRITERS: dict[str, dict[str, Any]] = {
    "gpt2": GPT,
    "gpt_neox": TEXT,
    "opt": {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 128, "vocab_size": 300,
            "word_embed_proj_dim": 64},
    "bloom": {"hidden_size": 64, "n_layer": 2, "n_head": 4, "vocab_size": 300},
    "llama": GROUPED,
    "mistral": GROUPED,
    "mixtral": {**GROUPED, "num_local_experts": 4},
    "qwen2": GROUPED,
    "qwen3": {**GROUPED, "head_dim": 16},
    "gemma": {**GROUPED, "head_dim": 16},
    "gemma2": {**GROUPED, "head_dim": 16},
    "phi": TEXT,
    "phi3": {**GROUPED, "pad_token_id": 0},
    "granite": GROUPED,
    "mamba": {"hidden_size": 64, "num_hidden_layers": 2, "state_size": 8, "vocab_size": 300},
}  # fmt: skip
READERS: dict[str, dict[str, Any]] = {
    "bert": TEXT,
    "roberta": TEXT,
    "distilbert": {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128, "vocab_size": 300},
    "albert": {**TEXT, "embedding_size": 32},
    "deberta-v2": TEXT,
    "modernbert": {**TEXT, "pad_token_id": 0},
    "t5": {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 128, "d_kv": 16, "vocab_size": 300},
    "bart": SEQUENCE,
    "vit": IMAGE,
    "dinov2": IMAGE,
    "clip": CLIP,
    "resnet": {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]},
    "convnext": {"hidden_sizes": [16, 32], "depths": [1, 1], "num_stages": 2},
    "wav2vec2": AUDIO,
    "whisper": WHISPER,
}
PLAIN = {
    "plain resnet": plain.resnet,
    "plain unet": plain.UNet,
    "lstm": lambda: plain.Recurrent(nn.LSTM),
    "gru": lambda: plain.Recurrent(nn.GRU),
    "nn.Transformer": plain.Translator,
}
NAMES = [*READERS, *WRITERS, *PLAIN]
IMAGES = {"vit", "dinov2", "resnet", "convnext"}
SEQUENCE_TO_SEQUENCE, WORDS_ALONE = {"t5", "bart"}, {"lstm", "gru"}


def without_chance(config: transformers.PretrainedConfig) -> transformers.PretrainedConfig:
    """Dropout and masking draw other numbers on other devices."""
    for name, value in config.to_dict().items():
        if isinstance(value, dict) and isinstance(part := getattr(config, name), transformers.PretrainedConfig):
            without_chance(part)
        if isinstance(value, float) and ("drop" in name or name in ("mask_time_prob", "layerdrop")):
            setattr(config, name, 0.0)
    return config


def make_model(name: str, **changed: Any) -> nn.Module:
    """With weights that the name decides; `changed` settings are not the zoo's."""
    torch.manual_seed(0)
    if name in PLAIN:
        return PLAIN[name]()
    settings = {**READERS, **WRITERS}[name] | changed
    config = without_chance(transformers.CONFIG_MAPPING[name](**settings))
    return (AutoModelForCausalLM if name in WRITERS else AutoModel).from_config(config)


#: What they take, where it is not a batch of words.
TAKES = {
    **dict.fromkeys(IMAGES, "pixels"),
    **dict.fromkeys(SEQUENCE_TO_SEQUENCE, "words and answer"),
    **dict.fromkeys(WORDS_ALONE, "words"),
    "clip": "words and pixels",
    "plain resnet": "input",
    "plain unet": "x",
    "wav2vec2": "sound",
    "whisper": "spectra and answer",
    "nn.Transformer": "two languages",
}


def make_inputs(name: str) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    words = torch.randint(3, 300, (2, 12), generator=generator)
    image = torch.rand(2, 3, 32, 32, generator=generator)
    spectra = torch.randn(2, 16, 100, generator=generator)
    answer = words[:, :7]
    kinds = {
        "text": {"input_ids": words, "attention_mask": torch.ones_like(words)},
        "pixels": {"pixel_values": image},
        "words and pixels": {"input_ids": words, "pixel_values": image},
        "input": {"input": image},
        "x": {"x": image},
        "sound": {"input_values": torch.randn(2, 2000, generator=generator)},
        "spectra and answer": {"input_features": spectra, "decoder_input_ids": answer},
        "words and answer": {"input_ids": words, "decoder_input_ids": answer},
        "words": {"words": words},
        "two languages": {"words": words, "answer": answer},
    }
    return kinds[TAKES.get(name, "text")]


def first_tensor(result: Any) -> torch.Tensor:
    """What a loss is made of."""
    return result if isinstance(result, torch.Tensor) else result[0]


def loss_of(model: nn.Module, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    return first_tensor(model(**inputs)).square().mean()
