// spyre/kernels/streaming.h — whether a launch writes its results past the caches.
#pragma once
#include "spyre/base/bytes.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// Half of what a last-level cache of `cache` bytes holds goes past it where as much is read beside it: little of either
/// would still be there for the next reader, and a plain store first reads the line that it overwrites. Where little is
/// read, results have the cache for themselves, and plain stores are many times as fast as the others up to twice its size
/// (docs/performance.md).
bool outgrows_caches(const KernelSpec& spec, const LaunchArguments& launch, Bytes cache);

}  // namespace spyre::kernels
