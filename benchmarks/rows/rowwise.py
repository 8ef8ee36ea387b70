"""Reductions along rows, from primitives and as the ATen operator: is a row read once?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F

from ..places import Place
from ..row import Build, Cost, Row, Step, function

ROWS_OF = (8192, 1024)
ELEMENTS = ROWS_OF[0] * ROWS_OF[1]
QUESTION = "is a row read once?"
EPSILON = 1e-5


def softmax_by_hand(x: torch.Tensor) -> torch.Tensor:
    shifted = (x - x.amax(-1, keepdim=True)).exp()
    return shifted / shifted.sum(-1, keepdim=True)


def layer_norm_by_hand(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred * torch.rsqrt((centred * centred).mean(-1, keepdim=True) + EPSILON) * weight + bias


def rms_norm_by_hand(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPSILON) * weight


def cross_entropy_by_hand(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    shifted = x - x.amax(-1, keepdim=True)
    log_probabilities = shifted - shifted.exp().sum(-1, keepdim=True).log()
    return -log_probabilities.gather(-1, labels[:, None]).mean()


def softmax_jax(x):
    import jax

    return jax.nn.softmax(x, axis=-1)


def layer_norm_jax(x, weight, bias):
    import jax

    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + EPSILON) * weight + bias


def rms_norm_jax(x, weight):
    import jax

    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + EPSILON) * weight


def cross_entropy_jax(x, labels):
    import jax

    return -jax.numpy.take_along_axis(jax.nn.log_softmax(x, axis=-1), labels[:, None], axis=-1).mean()


def on_logits(form: Callable[..., Any]) -> Build:
    def build(place: Place) -> Step:
        x = place.normal(*ROWS_OF)
        labels = place.integers(ROWS_OF[1], x.shape[0])
        apply = place.compiled(form)
        return place.without_gradients(lambda: apply(x, labels))

    return build


def residual_norm_gelu(x, residual, weight, bias):
    return F.gelu(F.layer_norm(x + residual, (ROWS_OF[1],), weight, bias))


def residual_norm_gelu_jax(x, residual, weight, bias):
    import jax

    return jax.nn.gelu(layer_norm_jax(x + residual, weight, bias), approximate=False)


def bias_gelu_residual(x, bias, residual):
    return F.gelu(x + bias) + residual


def bias_gelu_residual_jax(x, bias, residual):
    import jax

    return jax.nn.gelu(x + bias, approximate=False) + residual


WIDTH = (ROWS_OF[1],)
# name, from primitives, as ATen has it, in JAX, shapes of the arguments
FORMS: tuple[
    tuple[str, Callable[..., Any], Callable[..., Any], Callable[..., Any], tuple[tuple[int, ...], ...]], ...
] = (
    ("softmax", softmax_by_hand, lambda x: torch.softmax(x, -1), softmax_jax, (ROWS_OF,)),
    (
        "layer norm",
        layer_norm_by_hand,
        lambda x, weight, bias: F.layer_norm(x, WIDTH, weight, bias, EPSILON),
        layer_norm_jax,
        (ROWS_OF, WIDTH, WIDTH),
    ),
    (
        "RMS norm",
        rms_norm_by_hand,
        lambda x, weight: F.rms_norm(x, WIDTH, weight, EPSILON),
        rms_norm_jax,
        (ROWS_OF, WIDTH),
    ),
)


def norm_rows(dtype: str = "float32") -> list[Row]:
    size = 4 if dtype == "float32" else 2
    rows = []
    for name, by_hand, aten, in_jax, shapes in FORMS:
        for form, source in ((by_hand, "from primitives"), (aten, "ATen")):
            rows.append(
                Row(
                    f"{name}, {source}, 8192 x 1024 {dtype}",
                    QUESTION,
                    build=function(form, *shapes, dtype=dtype),
                    jax=function(in_jax, *shapes, dtype=dtype),
                    cost=Cost(bytes=2 * size * ELEMENTS),
                    family=f"rows {source}" if dtype == "float32" else "",
                    kernels=1,
                    tolerance=1e-4 if dtype == "float32" else 5e-2,
                )
            )
    return rows


ROWS = (
    *norm_rows(),
    Row(
        "cross entropy, from primitives, 8192 x 1024",
        QUESTION,
        build=on_logits(cross_entropy_by_hand),
        jax=on_logits(cross_entropy_jax),
        cost=Cost(bytes=4 * ELEMENTS),
    ),
    Row(
        "cross entropy, ATen, 8192 x 1024",
        QUESTION,
        build=on_logits(F.cross_entropy),
        jax=on_logits(cross_entropy_jax),
        cost=Cost(bytes=4 * ELEMENTS),
    ),
    Row(
        "bias + GELU + residual, 8192 x 1024",
        "is a broadcast operand one more stream?",
        build=function(bias_gelu_residual, ROWS_OF, WIDTH, ROWS_OF),
        jax=function(bias_gelu_residual_jax, ROWS_OF, WIDTH, ROWS_OF),
        cost=Cost(bytes=3 * 4 * ELEMENTS, exponentials=ELEMENTS),
        family="rows from primitives",
        kernels=1,
    ),
    Row(
        "residual + layer norm + GELU, 8192 x 1024",
        "do a reduction's producers and consumers join it?",
        build=function(residual_norm_gelu, ROWS_OF, ROWS_OF, WIDTH, WIDTH),
        jax=function(residual_norm_gelu_jax, ROWS_OF, ROWS_OF, WIDTH, WIDTH),
        cost=Cost(bytes=3 * 4 * ELEMENTS, exponentials=ELEMENTS),
        family="rows fused",
        kernels=1,
    ),
    *norm_rows("bfloat16"),
)
