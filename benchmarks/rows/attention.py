"""Attention written with plain operations, with and without a causal mask, and as one operator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from ..places import JaxPlace, Place
from ..row import MIB, Build, Cost, Row, Step, function

WIDTH = 64
LARGE_SCORES = 64 * MIB  # scores of this size stand out of what else is in memory


def plain(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH)
    return torch.softmax(scores, -1) @ v


def plain_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH)
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(hidden, -math.inf), -1) @ v


def plain_jax(q, k, v):
    import jax

    return jax.nn.softmax(q @ k.swapaxes(-2, -1) / math.sqrt(WIDTH), axis=-1) @ v


def plain_causal_jax(q, k, v):
    import jax

    scores = q @ k.swapaxes(-2, -1) / math.sqrt(WIDTH)
    hidden = jax.numpy.triu(jax.numpy.ones(scores.shape[-2:], dtype=bool), 1)
    return jax.nn.softmax(jax.numpy.where(hidden, -math.inf, scores), axis=-1) @ v


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def sdpa_causal(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


Form = Callable[..., Any]


def with_gradients(form: Form, *operand: int) -> Build:
    """The result's gradient with respect to query, key and value, all of this size."""

    def build(place: Place) -> Step:
        operands = [place.normal(*operand).requires_grad_() for _ in range(3)]
        gradient = place.normal(*operand)
        apply = place.compiled(form)
        return lambda: torch.autograd.grad(apply(*operands), operands, gradient)

    return build


def with_gradients_jax(form: Form, *operand: int) -> Build:
    def build(place: JaxPlace) -> Step:
        import jax

        operands = [place.normal(*operand) for _ in range(4)]
        apply = place.compiled(lambda q, k, v, gradient: jax.vjp(form, q, k, v)[1](gradient))
        return lambda: apply(*operands)

    return build


def row(name: str, forms: tuple[Form, Form], family: str, shape: tuple[int, int, int], dtype: str = "float32") -> Row:
    batch, heads, tokens = shape
    operand = (batch, heads, tokens, WIDTH)
    scores = batch * heads * tokens * tokens
    seen = scores // 2 if "causal" in name else scores
    size = 4 if dtype == "float32" else 2
    return Row(
        f"{name}, {batch} x {heads} x {tokens} x {WIDTH} {dtype}",
        "does the matrix of scores exist?",
        build=function(forms[0], operand, operand, operand, dtype=dtype),
        jax=function(forms[1], operand, operand, operand, dtype=dtype),
        cost=Cost(bytes=4 * size * math.prod(operand), flops=4 * seen * WIDTH, exponentials=seen, product_type=dtype),
        family=family,
        peak_bytes=4 * size * math.prod(operand) + size * scores // 2 if size * scores > LARGE_SCORES else None,
        tolerance=1e-4 if dtype == "float32" else 5e-2,
    )


SHORT, LONG = (4, 8, 256), (1, 8, 2048)
PLAIN, CAUSAL = (plain, plain_jax), (plain_causal, plain_causal_jax)

ROWS = (
    row("attention, plain ops", PLAIN, "attention", SHORT),
    row("attention, plain ops, causal", CAUSAL, "attention", SHORT),
    row("attention, plain ops", PLAIN, "attention", LONG),
    row("attention, plain ops, causal", CAUSAL, "attention", LONG),
    row("attention, SDPA", (sdpa, plain_jax), "SDPA", SHORT),
    row("attention, SDPA, causal", (sdpa_causal, plain_causal_jax), "SDPA", SHORT),
    row("attention, SDPA", (sdpa, plain_jax), "SDPA", LONG),
    row("attention, SDPA, causal", (sdpa_causal, plain_causal_jax), "SDPA", LONG),
    row("attention, plain ops", PLAIN, "attention", SHORT, "bfloat16"),
    Row(
        "attention, SDPA, causal, and its gradients, 1 x 8 x 2048 x 64 float32",
        "does training keep the matrix of scores?",
        build=with_gradients(sdpa_causal, *LONG, WIDTH),
        jax=with_gradients_jax(plain_causal_jax, *LONG, WIDTH),
        cost=Cost(bytes=32 * math.prod(LONG) * WIDTH, flops=14 * math.prod(LONG) * LONG[-1] // 2 * WIDTH),
        family="training",
        tolerance=1e-4,
    ),
)
