"""What Dynamo and Inductor ask of a device: streams, events, properties, and lines of generated code."""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface
from torch._inductor.codegen.common import DeviceOpOverrides

from .. import device as spyre
from .._engine import engine
from ..device import DeviceProperties


class SpyreInterface(DeviceInterface):
    """torch.spyre under the names that Dynamo uses. Asking for properties starts nothing."""

    device = spyre.device
    Event = spyre.Event
    Stream = spyre.Stream

    class Worker:
        """The card as compile workers see it: they never touch it."""

        @staticmethod
        def set_device(device: int) -> None:
            spyre.set_device(device)

        @staticmethod
        def current_device() -> int:
            return 0

        @staticmethod
        def get_device_properties(device: Any = None) -> DeviceProperties:
            spec = spyre.device_spec()
            return DeviceProperties(
                name="IBM Spyre (simulated)",
                type=spec["profile"],
                total_memory=0,
                multi_processor_count=spec["cores"],
                scratchpad_bytes=spec["scratchpad"],
                major=1,
                minor=0,
            )

    current_device = staticmethod(spyre.current_device)
    set_device = staticmethod(spyre.set_device)
    device_count = staticmethod(spyre.device_count)
    is_available = staticmethod(spyre.is_available)
    stream = staticmethod(spyre.stream)
    current_stream = staticmethod(spyre.current_stream)
    set_stream = staticmethod(spyre.set_stream)
    synchronize = staticmethod(spyre.synchronize)

    @staticmethod
    def exchange_device(device: int) -> int:
        return int(engine().exchange_device(device))

    @staticmethod
    def maybe_exchange_device(device: int) -> int:
        return SpyreInterface.exchange_device(device) if device >= 0 else -1

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        return spyre.current_stream(device_idx).stream_id

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        return "spyre"

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        return True

    @classmethod
    def is_dtype_supported(cls, dtype: torch.dtype, including_emulation: bool = False) -> bool:
        return True

    @staticmethod
    def is_triton_capable(device: Any = None) -> bool:
        return False

    @staticmethod
    def raise_if_triton_unavailable(device: Any = None) -> None:
        raise RuntimeError("spyre: there is no Triton for this device; compiled code runs on its own kernels")


class SpyreDeviceOpOverrides(DeviceOpOverrides):
    """Lines of Python in generated wrappers."""

    def import_get_raw_stream_as(self, name: str) -> str:
        return f"{name} = torch.spyre.current_stream"

    def set_device(self, device_idx: int) -> str:
        return f"torch.spyre.set_device({device_idx})"

    def synchronize(self) -> str:
        return "torch.spyre.synchronize()"

    def device_guard(self, device_idx: int) -> str:
        return f"torch.spyre.device({device_idx})"
