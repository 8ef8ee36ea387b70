// spyre/engine/guard.h — the calling thread's current device and streams, and PyTorch's view of them.
#pragma once
#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "spyre/base/ids.h"

namespace spyre::engine {

c10::DeviceIndex current_device() noexcept;
/// Throws c10::Error if there is no such device.
c10::DeviceIndex exchange_device(c10::DeviceIndex index);
/// What the calling thread records on.
StreamId current_stream_on(c10::DeviceIndex device) noexcept;
StreamId exchange_stream(c10::DeviceIndex device, StreamId stream);

/// From here on the calling thread records on `capture`, whichever of its streams is current.
void begin_capture_on(c10::DeviceIndex device, StreamId capture) noexcept;
void end_capture_on(c10::DeviceIndex device) noexcept;
bool is_capturing(c10::DeviceIndex device) noexcept;
/// Throws c10::Error while the thread captures: what it recorded does not run.
void check_may_wait(c10::DeviceIndex device);

/// Never destroyed: PyTorch keeps the pointer for the life of the process.
const c10::impl::DeviceGuardImplInterface& device_guard();

}  // namespace spyre::engine
