"""Every optimizer of torch.optim (optim_db) with its options, every learning rate schedule, clipping, averages."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import optim
from torch.optim import lr_scheduler as schedules
from torch.testing._internal.common_optimizers import OptimizerInfo, optim_db

from .same import assert_same, numbers, same, to_host

STEPS = 5


def loss_of(weights: list[torch.Tensor], step: int) -> torch.Tensor:
    x = numbers(4, 3, device=weights[0].device.type, seed=step)
    return ((x @ weights[0]).tanh() @ weights[1] + weights[2]).square().mean()


def new_weights(device: str) -> list[torch.nn.Parameter]:
    shapes = ((3, 4), (4, 2), (2,))
    return [torch.nn.Parameter(numbers(*s, device=device, seed=i)) for i, s in enumerate(shapes)]


def take_steps(optimizer: optim.Optimizer, weights: list[torch.nn.Parameter], first: int) -> None:
    for step in range(first, first + STEPS):

        def closure(step: int = step) -> torch.Tensor:
            optimizer.zero_grad()
            loss = loss_of(weights, step)
            loss.backward()
            return loss

        optimizer.step(closure)


def train(info: OptimizerInfo, options: dict[str, Any], device: str) -> Any:
    """Half of the steps after the state went through a new optimizer."""
    options = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    weights = new_weights(device)
    optimizer = info.optim_cls(weights, **options)
    take_steps(optimizer, weights, 0)
    again = info.optim_cls(weights, **options)
    again.load_state_dict(optimizer.state_dict())
    take_steps(again, weights, STEPS)
    return to_host([weights, again.state_dict()["state"]])


def cases(info: OptimizerInfo) -> list[tuple[str, dict[str, Any]]]:
    """Capturable and fused forms ask for kinds of devices by name."""
    inputs = info.optim_inputs_func(device="cpu")
    ways = [{}, {"foreach": True}] if "foreach" in info.supported_impls else [{}]
    return [(f"{i.desc or 'default'} {'foreach' * bool(w)}", {**i.kwargs, **w}) for i in inputs for w in ways]


# LBFGS makes much of a rounding where a loss is not convex, Muon takes matrices only: both have a test of their own.
# SparseAdam takes sparse gradients only, which the device has not.
APART = {"LBFGS", "Muon", "SparseAdam"}
CASES = {
    f"{info.optim_cls.__name__} {what}": (info, options)
    for info in optim_db
    for what, options in cases(info)
    if info.optim_cls.__name__ not in APART
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("info", "options"), CASES.values(), ids=CASES)
def test_optimizers(info, options):
    expected = train(info, options, "cpu")
    assert_same(train(info, options, "spyre"), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs(search):
    def program(device):
        torch.manual_seed(0)
        scale = torch.tensor([1.0, 2.0, 3.0, 4.0], device=device)
        x = torch.nn.Parameter(numbers(4, device=device))
        optimizer = optim.LBFGS([x], lr=0.5, max_iter=10, line_search_fn=search)

        def closure():
            optimizer.zero_grad()
            loss = (scale * (x - 1)).square().sum() + (x - 1).pow(4).sum()
            loss.backward()
            return loss

        return [optimizer.step(closure) for _ in range(3)], x

    same(program, rtol=1e-3, atol=1e-4)


def test_muon():
    def program(device):
        weights = new_weights(device)[:2]
        optimizer = optim.Muon(weights, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            (numbers(4, 3, device=device) @ weights[0] @ weights[1]).square().mean().backward()
            optimizer.step()
        return weights

    same(program, rtol=2e-2, atol=2e-2)  # it computes in bfloat16


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD", "Adagrad"])
def test_fused_forms(name):
    def program(device):
        weights = new_weights(device)
        optimizer = getattr(optim, name)(weights, lr=0.01, fused=True)
        take_steps(optimizer, weights, 0)
        return weights

    same(program, rtol=1e-3, atol=1e-4)


SCHEDULES = {
    "LambdaLR": lambda o: schedules.LambdaLR(o, lambda e: 0.9**e),
    "MultiplicativeLR": lambda o: schedules.MultiplicativeLR(o, lambda _: 0.9),
    "StepLR": lambda o: schedules.StepLR(o, 2),
    "MultiStepLR": lambda o: schedules.MultiStepLR(o, [1, 3]),
    "ConstantLR": lambda o: schedules.ConstantLR(o, 0.5, 2),
    "LinearLR": lambda o: schedules.LinearLR(o, 0.5, total_iters=4),
    "ExponentialLR": lambda o: schedules.ExponentialLR(o, 0.8),
    "PolynomialLR": lambda o: schedules.PolynomialLR(o, 6, 2.0),
    "CosineAnnealingLR": lambda o: schedules.CosineAnnealingLR(o, 5),
    "CosineAnnealingWarmRestarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, 3),
    "CyclicLR": lambda o: schedules.CyclicLR(o, 0.01, 0.1, step_size_up=3),
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 0.1, total_steps=8),
    "SequentialLR": lambda o: schedules.SequentialLR(
        o, [schedules.ConstantLR(o, 0.1, 2), schedules.ExponentialLR(o, 0.9)], [2]
    ),
    "ChainedScheduler": lambda o: schedules.ChainedScheduler([schedules.StepLR(o, 2), schedules.ExponentialLR(o, 0.9)]),
    "ReduceLROnPlateau": lambda o: schedules.ReduceLROnPlateau(o, patience=0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tensor_rate", [False, True], ids=["number", "tensor"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules(name, tensor_rate):
    def program(device):
        weights = new_weights(device)
        rate = torch.tensor(0.1) if tensor_rate else 0.1
        optimizer = optim.SGD(weights, lr=rate, momentum=0.9)
        schedule = SCHEDULES[name](optimizer)
        rates = []
        for step in range(6):
            optimizer.zero_grad()
            loss = loss_of(weights, step)
            loss.backward()
            optimizer.step()
            schedule.step(loss) if name == "ReduceLROnPlateau" else schedule.step()
            rates.append(round(float(optimizer.param_groups[0]["lr"]), 6))
        return weights, rates

    same(program, rtol=1e-3, atol=1e-4)


def test_clipping():
    def program(device):
        weights = new_weights(device)
        (loss_of(weights, 0) * 100).backward()
        total = torch.nn.utils.clip_grad_norm_(weights, 0.5)
        first = [w.grad.clone() for w in weights]
        torch.nn.utils.clip_grad_value_(weights, 0.01)
        vector = torch.nn.utils.parameters_to_vector(weights)
        return (
            total,
            first,
            [w.grad for w in weights],
            vector,
            torch.nn.utils.get_total_norm([w.grad for w in weights], math.inf),
        )

    same(program, rtol=1e-4, atol=1e-5)


def test_averaged_weights():
    def program(device):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)).to(device)
        average = optim.swa_utils.AveragedModel(model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
        mean = optim.swa_utils.AveragedModel(model)
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for step in range(4):
            optimizer.zero_grad()
            model(numbers(8, 3, device=device, seed=step)).square().sum().backward()
            optimizer.step()
            average.update_parameters(model)
            mean.update_parameters(model)
        optim.swa_utils.update_bn([numbers(8, 3, device=device)], mean)
        return list(average.parameters()), list(mean.parameters()), list(mean.buffers())

    same(program, rtol=1e-3, atol=1e-4)
