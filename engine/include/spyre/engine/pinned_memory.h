// spyre/engine/pinned_memory.h — host memory that transfers may use without a copy, and keep alive.
#pragma once
#include <ATen/core/CachingHostAllocator.h>

#include <memory>

namespace spyre::engine {

/// Never destroyed.
at::HostAllocator& pinned_allocator();

/// What keeps the pinned block around `address` alive; null if the address is not in pinned memory.
std::shared_ptr<const void> pinned_block(const void* address);

}  // namespace spyre::engine
