"""torch.compile for spyre: Inductor's loops become programs over the op table, recorded into the stream's trace.

Inductor looks for a private device's classes on its module when it first needs them; that is when `register` runs, so
that neither `import torch` nor eager code loads any of this.
"""

from __future__ import annotations

import functools

__all__ = ["register"]


@functools.cache
def register() -> None:
    """Tells Dynamo and Inductor of the device, through their public extension points. Starts nothing."""
    from torch._dynamo.device_interface import register_interface_for_device
    from torch._inductor.codegen.common import register_backend_for_device, register_device_op_overrides

    from .decompositions import keep_whole
    from .device_interface import SpyreDeviceOpOverrides, SpyreInterface
    from .library_steps import LibrarySteps
    from .lowering import register_lowerings
    from .scheduling import SpyreScheduling
    from .wrapper import SpyrePythonWrapperCodegen

    register_interface_for_device("spyre", SpyreInterface)
    register_device_op_overrides("spyre", SpyreDeviceOpOverrides())
    keep_whole()
    register_lowerings()
    register_backend_for_device("spyre", SpyreScheduling, SpyrePythonWrapperCodegen, device_custom_pass=LibrarySteps())
