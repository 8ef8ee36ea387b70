"""Every optimizer of torch.optim but LBFGS and SparseAdam with its defaults, compiled: parameters and states of CPU,
eager code's bits and mostly its launches, and no C++ compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import optim
from torch._inductor.utils import run_and_get_code

from .test_optimizers import Make, sgd

COUNT, STEPS = 3, 4


def with_options(make: Make, **options: Any) -> Make:
    return lambda weights: make(weights, **{key: one() if callable(one) else one for key, one in options.items()})


def rate() -> torch.Tensor:
    return torch.tensor(0.01, device="spyre")


# These compute what depends on the number of steps from tensors where eager code has Python's numbers.
COUNTED: dict[str, Make] = {
    "adam": optim.Adam,
    "adamw": optim.AdamW,
    "adamax": optim.Adamax,
    "nadam": optim.NAdam,
    "radam": optim.RAdam,
    "amsgrad": with_options(optim.Adam, amsgrad=True, weight_decay=0.1),
    "one by one": with_options(optim.Adam, foreach=False),
    "rate on the host": with_options(optim.Adam, foreach=False, lr=lambda: torch.tensor(0.01)),
}
SAME_BITS: dict[str, Make] = {
    "adadelta": optim.Adadelta,
    "adafactor": optim.Adafactor,
    "adagrad": optim.Adagrad,
    "asgd": optim.ASGD,
    "muon": optim.Muon,
    "rmsprop": optim.RMSprop,
    "rmsprop centered": with_options(optim.RMSprop, centered=True, momentum=0.9),
    "rprop": optim.Rprop,
    "sgd": optim.SGD,
    "sgd with momentum": sgd,
    "adam capturable": with_options(optim.Adam, capturable=True),
    "adam with a rate on the device": with_options(optim.Adam, capturable=True, lr=rate),
    "nadam capturable": with_options(optim.NAdam, capturable=True),
    "asgd capturable": with_options(optim.ASGD, capturable=True),
}
# What capturable=True and a rate on the device are to CPU, which has neither.
ON_CPU: dict[str, Make] = {
    "adam capturable": optim.Adam,
    "adam with a rate on the device": with_options(optim.Adam, lr=0.01),
    "nadam capturable": optim.NAdam,
    "asgd capturable": optim.ASGD,
}


def optimizer(make: Make, device: str) -> optim.Optimizer:
    torch.manual_seed(0)
    made = [torch.nn.Parameter(torch.randn(8, 8).to(device)) for _ in range(COUNT)]
    for parameter in made:
        parameter.grad = torch.randn(8, 8).to(device)
    return make(made)


def values(of: optim.Optimizer) -> list[dict[str, torch.Tensor]]:
    """Of each parameter: itself, and its states."""
    parameters = of.param_groups[0]["params"]
    states = [{key: torch.as_tensor(state).cpu() for key, state in of.state[p].items()} for p in parameters]
    return [{"parameter": p.detach().cpu(), **state} for p, state in zip(parameters, states, strict=True)]


def launches(step: Callable[[], Any]) -> int:
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    step()
    torch.spyre.synchronize()
    return torch.spyre.stats()["kernel_launches"]


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled", "ignore:Profiler")
@pytest.mark.parametrize("name", [*COUNTED, *SAME_BITS])
def test_parameters_and_states(name: str) -> None:
    make = {**COUNTED, **SAME_BITS}[name]
    ours, eager, theirs = (
        optimizer(m, d) for m, d in ((make, "spyre"), (make, "spyre"), (ON_CPU.get(name, make), "cpu"))
    )
    compiled = torch.compile(ours.step)
    with torch._inductor.config.patch(force_disable_caches=True):
        _, modules = run_and_get_code(compiled)
    assert not any("cpp_pybinding" in module for module in modules)
    for _ in range(STEPS - 1):
        compiled()
    for _ in range(STEPS):
        eager.step()
        theirs.step()
    exact = {"rtol": 0.0, "atol": 0.0} if name in SAME_BITS else {"rtol": 1e-5, "atol": 1e-6}
    for found, same, expected in zip(values(ours), values(eager), values(theirs), strict=True):
        assert found.keys() == same.keys() == expected.keys()
        for key in found:
            torch.testing.assert_close(found[key], same[key], msg=key, **exact)
            torch.testing.assert_close(found[key], expected[key], rtol=1e-4, atol=1e-5, msg=key)
    if name not in ("adafactor", "adagrad", "adam with a rate on the device"):  # each has a count or a rate of its own
        assert launches(compiled) <= launches(eager.step)
