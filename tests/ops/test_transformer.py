"""Inference through whole layers stays on the device, with every kind of mask."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .compare import compare_with_cpu, same_error, sample

BATCH, LENGTH, WIDTH, HEADS = 3, 5, 16, 4
CLOSE = {"rtol": 1e-4, "atol": 1e-5}
X = sample((BATCH, LENGTH, WIDTH), torch.float32)
MASKS = {
    "no mask": {},
    "later words": {"src_mask": torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)},
    "padding": {"src_key_padding_mask": torch.arange(LENGTH) >= torch.tensor([5, 3, 4])[:, None]},
}
MASKS["both"] = MASKS["later words"] | MASKS["padding"]


def on_both(module: nn.Module) -> dict[str, nn.Module]:
    module = module.eval()
    return {"cpu": module, "spyre": copy.deepcopy(module).to("spyre")}


@pytest.mark.filterwarnings("ignore:Converting mask")
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer(mask: str, norm_first: bool, activation: str) -> None:
    torch.manual_seed(0)
    layers = on_both(
        nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True, norm_first=norm_first, activation=activation)
    )

    def run(x: torch.Tensor) -> torch.Tensor:
        masks = {name: given.to(x.device) for name, given in MASKS[mask].items()}
        with torch.no_grad():
            return layers[x.device.type](x, **masks)

    compare_with_cpu(run, X, strides=False, **CLOSE)


@pytest.mark.filterwarnings("ignore")
def test_encoder_with_padding_needs_no_nested_tensors() -> None:
    torch.manual_seed(0)
    encoders = on_both(nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS, 32, batch_first=True), 2))
    padding = MASKS["padding"]["src_key_padding_mask"]

    def run(x: torch.Tensor) -> torch.Tensor:
        hidden = padding.to(x.device)
        with torch.no_grad():
            return encoders[x.device.type](x, src_key_padding_mask=hidden).masked_fill(hidden[..., None], 0)

    compare_with_cpu(run, X, strides=False, **CLOSE)


@pytest.mark.parametrize("weights", [False, True])
def test_attention_module(weights: bool) -> None:
    torch.manual_seed(0)
    modules = on_both(nn.MultiheadAttention(WIDTH, HEADS, batch_first=True))

    def run(x: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            return [t for t in modules[x.device.type](x, x, x, need_weights=weights) if t is not None]

    compare_with_cpu(run, X, strides=False, **CLOSE)


def test_masks_of_the_wrong_kind_are_refused() -> None:
    scores = sample((2, 3, 4, 4), torch.float32)
    same_error(lambda s: torch._masked_softmax(s, torch.ones(4, 4, device=s.device), 3, 0), scores)
    same_error(lambda s: torch._masked_softmax(s, torch.ones(3, 4, dtype=torch.bool, device=s.device), 3, 1), scores)
