"""What torch.cuda reads from a card's sensors, here from the model: clock, load and power of the recorded run."""

from __future__ import annotations

from ._engine import DeviceLike, device_index
from .report import report
from .stats import device_spec

__all__ = ["clock_rate", "power_draw", "temperature", "utilization"]


def clock_rate(device: DeviceLike = None) -> int:
    """The cores' clock in MHz."""
    device_index(device)
    return round(device_spec()["core_clock_ghz"] * 1000)


def utilization(device: DeviceLike = None) -> int:
    """Percent of the modelled time in which a kernel ran, over what timeline() has recorded; 0 if nothing is."""
    run = report(device=device)
    busy = run["pipelines"].get("COMPUTE", {}).get("busy_us", 0.0)
    return round(100 * busy / run["modelled_us"]) if run["modelled_us"] else 0


def power_draw(device: DeviceLike = None) -> int:
    """Mean modelled power in milliwatts over what timeline() has recorded; an idle card's if nothing is."""
    run, card = report(device=device), device_spec()
    if not run["modelled_us"]:
        return round(1000 * card["idle_watts"])
    return round(1000 * min(run["energy"]["joules"] / (run["modelled_us"] * 1e-6), card["cap_watts"]))


def temperature(device: DeviceLike = None) -> int:
    """Raises: nothing is known of how a card warms up, so the model has no temperature."""
    device_index(device)
    raise NotImplementedError("spyre: the simulated card has no temperature; power_draw() has its modelled power")
