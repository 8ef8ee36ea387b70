"""Training steps, small and large, and optimizers over many parameters."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from ..places import JaxPlace, Place
from ..row import EVERYONE, Build, Cost, Row, Step

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
MOMENTUM = 0.9


def make_weights(place: Place, widths: tuple[int, ...]) -> list[Any]:
    """Weights and biases of a chain of linear layers, by turns."""
    weights = []
    for fan_in, fan_out in itertools.pairwise(widths):
        weights += [place.normal(fan_out, fan_in, scale=fan_in**-0.5), place.normal(fan_out, scale=0.1)]
    return weights


def forward(x: torch.Tensor, weights: list[torch.Tensor]) -> torch.Tensor:
    for index in range(0, len(weights), 2):
        x = F.linear(x if index == 0 else F.relu(x), weights[index], weights[index + 1])
    return x


def training(widths: tuple[int, ...], batch: int, optimizer: Callable[..., torch.optim.Optimizer]) -> Build:
    """Forward, backward and update, as everyone writes them."""

    def build(place: Place) -> Step:
        weights = [nn.Parameter(weight) for weight in make_weights(place, widths)]
        x, labels = place.normal(batch, widths[0]), place.integers(widths[-1], batch)
        optimize = optimizer(weights)
        loss_of = place.compiled(lambda x, labels: F.cross_entropy(forward(x, weights), labels))
        update = place.compiled(optimize.step)

        def step() -> Any:
            optimize.zero_grad()
            loss = loss_of(x, labels)
            loss.backward()
            update()
            return loss.detach(), weights[-1].detach()

        return step

    return build


def adam_jax(weight, gradient, first, second, count):
    import jax.numpy as jnp

    first = BETA1 * first + (1 - BETA1) * gradient
    second = BETA2 * second + (1 - BETA2) * gradient * gradient
    corrected = jnp.sqrt(second) / jnp.sqrt(1 - BETA2**count) + EPSILON
    return weight - RATE / (1 - BETA1**count) * first / corrected, first, second


def adam_all_jax(weights, gradients, moments, count):
    updated = [adam_jax(w, g, *m, count) for w, g, m in zip(weights, gradients, moments, strict=True)]
    return [weight for weight, _, _ in updated], [(first, second) for _, first, second in updated]


def training_jax(widths: tuple[int, ...], batch: int, with_adam: bool) -> Build:
    """The same step in one jitted function, its state donated."""

    def build(place: JaxPlace) -> Step:
        import jax
        import jax.numpy as jnp

        weights = make_weights(place, widths)
        x, labels = place.normal(batch, widths[0]), place.integers(widths[-1], batch)

        def loss_of(weights):
            y = x
            for index in range(0, len(weights), 2):
                y = (y if index == 0 else jax.nn.relu(y)) @ weights[index].T + weights[index + 1]
            return -jnp.take_along_axis(jax.nn.log_softmax(y), labels[:, None], axis=-1).mean()

        def whole(weights, moments, count):
            loss, gradients = jax.value_and_grad(loss_of)(weights)
            if with_adam:
                return (loss, *adam_all_jax(weights, gradients, moments, count))
            return loss, [w - RATE * g for w, g in zip(weights, gradients, strict=True)], moments

        moments = [(jnp.zeros_like(w), jnp.zeros_like(w)) for w in weights] if with_adam else []
        state = {"weights": weights, "moments": moments, "count": 0.0}
        update = place.compiled(whole, donate_argnums=(0, 1))

        def step() -> Any:
            state["count"] += 1.0
            loss, state["weights"], state["moments"] = update(state["weights"], state["moments"], state["count"])
            return loss, state["weights"][-1] + 0.0

        return step

    return build


def training_row(name: str, widths: tuple[int, ...], batch: int, family: str, kind: str) -> Row:
    optimizer = {
        "Adam": lambda weights: torch.optim.Adam(weights, lr=RATE, foreach=False),
        "SGD": lambda weights: torch.optim.SGD(weights, lr=RATE, foreach=False),
    }[kind]
    elements = sum(fan_in * fan_out for fan_in, fan_out in itertools.pairwise(widths))
    return Row(
        name,
        "what does a training step cost?",
        build=training(widths, batch, optimizer),
        jax=training_jax(widths, batch, kind == "Adam"),
        cost=Cost(bytes=4 * elements * (7 if kind == "Adam" else 3), flops=6 * batch * elements),
        family=family,
        tolerance=1e-3,
    )


def squares(place: Place, count: int, side: int) -> tuple[list[Any], list[Any]]:
    """Parameters and their gradients."""
    parameters = [place.normal(side, side) for _ in range(count)]
    return parameters, [place.normal(side, side, scale=0.01) for _ in range(count)]


def optimizer_steps(make: Callable[..., torch.optim.Optimizer], count: int, side: int, foreach: bool) -> Build:
    def build(place: Place) -> Step:
        numbers, gradients = squares(place, count, side)
        parameters = [nn.Parameter(number) for number in numbers]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        update = place.compiled(make(parameters, lr=RATE, foreach=foreach).step)

        def step() -> Any:
            update()
            return parameters[-1].detach()

        return step

    return build


def adam_by_hand(count: int, side: int) -> Build:
    """Seven operations a parameter, as tutorials write it."""

    def build(place: Place) -> Step:
        parameters, gradients = squares(place, count, side)
        first = [torch.zeros_like(p) for p in parameters]
        second = [torch.zeros_like(p) for p in parameters]

        def update() -> None:
            for p, g, m, v in zip(parameters, gradients, first, second, strict=True):
                m.mul_(BETA1).add_(g, alpha=1 - BETA1)
                v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
                p.addcdiv_(m, v.sqrt().add_(EPSILON), value=-RATE)

        apply = place.compiled(update)

        def step() -> Any:
            apply()
            return parameters[-1]

        return place.without_gradients(step)

    return build


def adam_steps_jax(count: int, side: int) -> Build:
    def build(place: JaxPlace) -> Step:
        import jax.numpy as jnp

        weights, gradients = squares(place, count, side)
        moments = [(jnp.zeros_like(w), jnp.zeros_like(w)) for w in weights]
        state = {"weights": weights, "moments": moments, "count": 0.0}
        update = place.compiled(adam_all_jax, donate_argnums=(0, 2))

        def step() -> Any:
            state["count"] += 1.0
            state["weights"], state["moments"] = update(state["weights"], gradients, state["moments"], state["count"])
            return state["weights"][-1] + 0.0

        return step

    return build


def sgd(parameters: list[nn.Parameter], lr: float, foreach: bool) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=lr, momentum=MOMENTUM, foreach=foreach)


OPTIMIZERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], int]] = {
    "Adam": (torch.optim.Adam, 7),
    "AdamW": (torch.optim.AdamW, 7),
    "SGD": (sgd, 5),
}


def optimizer_rows() -> list[Row]:
    rows = []
    for name, (make, streams) in OPTIMIZERS.items():
        for count, side in ((50, 256), (500, 64)):
            for foreach in (False, True):
                with_jax = name == "Adam"
                rows.append(
                    Row(
                        f"{name}, {count} x {side} x {side}{', foreach' if foreach else ''}",
                        "are many small equal kernels run as one?",
                        build=optimizer_steps(make, count, side, foreach),
                        jax=adam_steps_jax(count, side) if with_jax else None,
                        cost=Cost(bytes=streams * 4 * count * side * side),
                        family="Adam" if with_jax and count == 50 else "",
                        kernels=count,  # one for all that a parameter needs, however it is written
                        only=None if count <= 50 else EVERYONE - {"compile"},  # which takes minutes
                    )
                )
    return rows


ROWS = (
    training_row("training step, 32-64-10, batch 16, Adam", (32, 64, 10), 16, "overhead bound", "Adam"),
    training_row("training step, 784-512-512-10, batch 64, Adam", (784, 512, 512, 10), 64, "", "Adam"),
    training_row(
        "training step, 1024-2048-2048-1024, batch 512, SGD", (1024, 2048, 2048, 1024), 512, "training", "SGD"
    ),
    *optimizer_rows(),
    Row(
        "Adam by hand, 50 x 256 x 256",
        "are many small equal kernels run as one?",
        build=adam_by_hand(50, 256),
        cost=Cost(bytes=7 * 4 * 50 * 256 * 256),
        family="Adam",
        kernels=50,
    ),
)
