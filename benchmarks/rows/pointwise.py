"""Chains of pointwise operations: one trip through memory, or bound by exp, tanh and erf."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..places import Place
from ..row import Build, Cost, Row, Step, function

LARGE = 16 << 20
CACHED = 1 << 18


def chain(length: int) -> Callable[[Any], Any]:
    """`length` operations on x, whatever library x is of."""

    def body(x):
        y = x
        for step in range(length):
            match step % 4:
                case 0:
                    y = y * 1.01
                case 1:
                    y = y + 0.01
                case 2:
                    y = y - x
                case 3:
                    y = y * 0.5
        return y

    return body


def chain_row(length: int, dtype: str = "float32") -> Row:
    size = 4 if dtype == "float32" else 2
    form = chain(length)
    return Row(
        f"chain of {length} ops, 16M {dtype}",
        "is a chain of any length one trip through memory?",
        build=function(form, (LARGE,), dtype=dtype),
        jax=function(form, (LARGE,), dtype=dtype),
        cost=Cost(bytes=2 * size * LARGE),
        family="chain" if length >= 5 else "",
        kernels=1,
        tolerance=1e-4 if dtype == "float32" else 5e-2,
    )


def gelu_tanh(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


def gelu_tanh_jax(x):
    import jax.numpy as jnp

    return 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.044715 * x * x * x)))


def gelu_erf(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.erf(x * math.sqrt(0.5)))


def gelu_erf_jax(x):
    import jax

    return 0.5 * x * (1 + jax.scipy.special.erf(x * math.sqrt(0.5)))


def black_scholes(spot, strike, years):
    rate, volatility = 0.02, 0.3
    spread = volatility * torch.sqrt(years)
    d1 = (torch.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * torch.exp(-rate * years)
    below1, below2 = 0.5 + 0.5 * torch.erf(d1 * math.sqrt(0.5)), 0.5 + 0.5 * torch.erf(d2 * math.sqrt(0.5))
    call = spot * below1 - discounted * below2
    return call, call - spot + discounted


def black_scholes_jax(spot, strike, years):
    import jax.numpy as jnp
    from jax.scipy.special import erf

    rate, volatility = 0.02, 0.3
    spread = volatility * jnp.sqrt(years)
    d1 = (jnp.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * jnp.exp(-rate * years)
    below1, below2 = 0.5 + 0.5 * erf(d1 * math.sqrt(0.5)), 0.5 + 0.5 * erf(d2 * math.sqrt(0.5))
    call = spot * below1 - discounted * below2
    return call, call - spot + discounted


def options(form: Callable[..., Any]) -> Build:
    def build(place: Place) -> Step:
        spot, strike, years = (
            place.array(place.random.uniform(low, high, CACHED).astype("float32"), "float32")
            for low, high in ((10, 50), (10, 50), (0.2, 2))
        )
        apply = place.compiled(form)
        return place.without_gradients(lambda: apply(spot, strike, years))

    return build


def jacobi(grid: torch.Tensor) -> torch.Tensor:
    """Four sweeps over the inside of a grid, its neighbours read through views."""
    for _ in range(4):
        inside = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        grid = grid.clone()
        grid[1:-1, 1:-1] = inside
    return grid


def jacobi_jax(grid):
    for _ in range(4):
        inside = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
        grid = grid.at[1:-1, 1:-1].set(inside)
    return grid


def gelu_row(name: str, form, jax_form, size: int, dtype: str = "float32") -> Row:
    width = 4 if dtype == "float32" else 2
    shown = f"{size >> 20}M" if size >= 1 << 20 else f"{size >> 10}K"
    return Row(
        f"GELU by {name}, {shown} {dtype}",
        "what does an activation written out cost?",
        build=function(form, (size,), dtype=dtype),
        jax=function(jax_form, (size,), dtype=dtype),
        cost=Cost(bytes=2 * width * size, exponentials=size),
        family="transcendental" if size <= CACHED else "chain bound by exp",
        kernels=1,
        tolerance=1e-4 if dtype == "float32" else 5e-2,
    )


ROWS = (
    chain_row(2),
    chain_row(5),
    chain_row(12),
    chain_row(50),
    chain_row(12, "bfloat16"),
    chain_row(12, "float16"),
    gelu_row("tanh", gelu_tanh, gelu_tanh_jax, LARGE),
    gelu_row("tanh", gelu_tanh, gelu_tanh_jax, CACHED),
    gelu_row("erf", gelu_erf, gelu_erf_jax, CACHED),
    gelu_row("tanh", gelu_tanh, gelu_tanh_jax, CACHED, "bfloat16"),
    Row(
        "Black-Scholes, 256K options",
        "what does a program of logarithms, exponentials and roots cost?",
        build=options(black_scholes),
        jax=options(black_scholes_jax),
        cost=Cost(bytes=5 * 4 * CACHED, exponentials=4 * CACHED),
        family="transcendental",
        kernels=1,
    ),
    Row(
        "Jacobi, 4 sweeps of 1024 x 1024",
        "what do shifted views and writes through views cost?",
        build=function(jacobi, (1024, 1024)),
        jax=function(jacobi_jax, (1024, 1024)),
        cost=Cost(bytes=2 * 4 << 20),
    ),
)
