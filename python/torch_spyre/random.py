"""Random state of the device: a seed and a counter per generator."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ._engine import DeviceLike, device_index, engine
from ._hooks import device_count

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def _generator(device: DeviceLike = None) -> torch.Generator:
    generator: torch.Generator = engine().default_generator(device_index(device))
    return generator


def get_rng_state(device: DeviceLike = "spyre") -> torch.Tensor:
    """State of a device's generator, as a CPU byte tensor."""
    return _generator(device).get_state()


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = "spyre") -> None:
    """Puts a device's generator into a state that get_rng_state() gave."""
    _generator(device).set_state(new_state.cpu())


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """States of all devices, in order."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device."""
    _generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds every device; torch.manual_seed() calls this."""
    for index in range(device_count()):
        _generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device with a random number."""
    _generator().seed()


def seed_all() -> None:
    """Seeds every device with the same random number."""
    seed()
    manual_seed_all(initial_seed())


def initial_seed(device: DeviceLike = None) -> int:
    """The seed in force."""
    return _generator(device).initial_seed()
