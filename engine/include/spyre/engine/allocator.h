// spyre/engine/allocator.h — PyTorch's allocator for spyre storages: an address now, memory when a plan needs it.
#pragma once
#include <c10/core/CachingDeviceAllocator.h>

#include "spyre/base/bytes.h"
#include "spyre/lazy/buffer.h"
#include "spyre/lazy/tiled.h"

namespace spyre::engine {

struct DeviceEntry;

/// {address, buffer}: the context is the lazy::Buffer, owned by the pointer.
c10::DataPtr new_memory(Bytes size, c10::DeviceIndex device);
/// The same for a tensor in sticks.
c10::DataPtr new_memory(lazy::Tiled content, c10::DeviceIndex device);
/// The same for a buffer that exists: it gets an address, and belongs to the pointer.
c10::DataPtr own(DeviceEntry& entry, lazy::BufferRef buffer);
/// The deleter of such pointers.
void release_memory(void* buffer);
/// The buffer whose address it is, for pointers that others made of bare addresses. Throws TypeMismatch.
lazy::Buffer& buffer_at(const c10::DataPtr& pointer);
/// The buffer behind such a pointer.
inline lazy::Buffer& buffer_behind(const c10::DataPtr& pointer) {
  if (pointer.get_deleter() == &release_memory) [[likely]]
    return *static_cast<lazy::Buffer*>(pointer.get_context());
  return buffer_at(pointer);
}

/// Never destroyed.
c10::DeviceAllocator& device_allocator();

}  // namespace spyre::engine
