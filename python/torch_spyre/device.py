"""torch.spyre: devices, and everything of the other modules that torch.cuda has under the same name."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from typing import Any

import torch

from . import graphs, memory, random, streams
from ._engine import DeviceLike, device_index, engine
from ._hooks import card_numbers, device_count
from .config import config
from .diagnostics import get_diagnostic_report
from .explain import explain
from .faults import inject_faults
from .graphs import SpyreGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables
from .memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from .metrics import metrics
from .random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from .report import report, what_if
from .state import (
    SpyreDeviceState,
    SpyreStreamError,
    get_device_state,
    get_downcast_warning,
    set_downcast_warning,
    stream_get_error,
    stream_get_error_string,
)
from .stats import device_spec, op_table, reset_stats, save_timeline, stats, timeline
from .streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    get_stream_from_pool,
    host_compute_stream,
    host_compute_stream_by_id,
    set_current_stream,
    set_stream,
    stream,
    synchronize,
)
from .telemetry import clock_rate, power_draw, temperature, utilization

__all__ = [
    "DeviceProperties",
    "Event",
    "SpyreDeviceState",
    "SpyreGraph",
    "SpyreStreamError",
    "Stream",
    "StreamContext",
    "can_device_access_peer",
    "clock_rate",
    "config",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "device_spec",
    "empty_cache",
    "explain",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_device_state",
    "get_diagnostic_report",
    "get_downcast_warning",
    "get_rng_state",
    "get_rng_state_all",
    "get_stream_from_pool",
    "graph",
    "graph_pool_handle",
    "graphs",
    "host_compute_stream",
    "host_compute_stream_by_id",
    "init",
    "initial_seed",
    "inject_faults",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "metrics",
    "op_table",
    "power_draw",
    "random",
    "report",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "reset_stats",
    "save_timeline",
    "seed",
    "seed_all",
    "set_current_stream",
    "set_device",
    "set_downcast_warning",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stats",
    "stream",
    "stream_get_error",
    "stream_get_error_string",
    "streams",
    "synchronize",
    "temperature",
    "timeline",
    "utilization",
    "what_if",
]


def _lazy_init() -> None:
    """PyTorch calls this before it first touches a spyre tensor: loads the kernels, starts nothing."""
    engine()


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that used the device."""
    return "torch_spyre._C" in sys.modules and bool(engine().is_in_bad_fork())


def _is_compiled() -> bool:
    """Always: the package is the build."""
    return True


def init() -> None:
    """Starts the runtime; it starts by itself at first use."""
    engine().start_runtime()


def is_available() -> bool:
    """Whether there is a device. Starts nothing.

    PyTorch's compiler asks when it begins to trace, which is when it has to know how operators decompose here.
    """
    if hasattr(sys.modules.get("torch._inductor.compile_fx"), "compile_fx"):
        _inductor_asks()
    return device_count() > 0


def is_initialized() -> bool:
    """Whether anything has used the device yet."""
    return "torch_spyre._C" in sys.modules and bool(engine().is_initialized())


# Names of torch_spyre.layouts, which is loaded when one of them is first used.
_LAYOUT_NAMES = frozenset(
    [
        "DataFormats",
        "ElementArrangement",
        "SpyreTensorLayout",
        "encode_constant",
        "get_device_dtype",
        "get_elem_in_stick",
    ]
)


def __getattr__(name: str) -> Any:
    """Layouts and plans on demand; `_initialized`, by which torch.utils.checkpoint knows to keep the random state."""
    if name == "_initialized":
        return is_initialized()
    if name == "Scheduling":
        return _inductor_asks()
    if name in _LAYOUT_NAMES:
        from . import layouts

        return getattr(layouts, name)
    if name == "plans":
        return importlib.import_module("torch_spyre.plans")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _inductor_asks() -> None:
    """Inductor looks for a private device here when it first traces or compiles anything: the time to register.

    None, since registering has told it all. Nobody else's question loads Inductor.
    """
    if "torch._inductor.codegen.common" in sys.modules:
        from .inductor import register

        register()


def current_device() -> int:
    """Index of the thread's current device."""
    return int(engine().current_device())


def set_device(device: DeviceLike) -> None:
    """Makes a device the thread's current one."""
    engine().exchange_device(device_index(device))


class device:  # noqa: N801 - torch.cuda.device has this name
    """Context manager: another current device inside."""

    def __init__(self, device: DeviceLike) -> None:
        self.index = device_index(device)
        self._previous = self.index

    def __enter__(self) -> device:
        self._previous = engine().exchange_device(self.index)
        return self

    def __exit__(self, *exception: object) -> None:
        engine().exchange_device(self._previous)


class device_of(device):  # noqa: N801
    """Context manager: the device of a tensor, if it lives on one, as the current one."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.device if tensor.device.type == "spyre" else None)


@dataclass(frozen=True)
class DeviceProperties:
    """What a card is."""

    name: str
    type: str
    total_memory: int
    multi_processor_count: int
    scratchpad_bytes: int
    major: int
    minor: int
    card: int = 0  # its number in the machine


_NAME = "IBM Spyre (simulated)"
_CAPABILITY = (1, 0)


def get_device_properties(device: DeviceLike = None) -> DeviceProperties:
    """Name, memory and cores of a device."""
    index = device_index(device)
    spec = device_spec()
    return DeviceProperties(
        name=get_device_name(index),
        type=spec["profile"],
        total_memory=mem_get_info(index)[1],
        multi_processor_count=spec["cores"],
        scratchpad_bytes=spec["scratchpad"],
        major=_CAPABILITY[0],
        minor=_CAPABILITY[1],
        card=card_numbers()[index],
    )


def get_device_name(device: DeviceLike = None) -> str:
    """Name of a device."""
    device_index(device)
    return _NAME


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """Version of the card that is simulated; torch.accelerator.get_device_capability() has the dtypes."""
    device_index(device)
    return _CAPABILITY


def can_device_access_peer(device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one card reads another's memory: never, except its own."""
    return device_index(device) == device_index(peer_device)


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The types that torch.autocast("spyre") may use."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    """bfloat16 is a native type."""
    return True
