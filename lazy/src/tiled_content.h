// spyre/lazy/tiled_content.h — what is behind a buffer that stands for a tensor in sticks.
#pragma once
#include "spyre/lazy/buffer.h"
#include "spyre/lazy/tiled.h"

namespace spyre::lazy {

struct TiledContent {
  Tiled tiled;
  BufferRef sticks;  // where the elements are
  /// The image that the host was last given the address of: newer than the sticks, until the buffer
  /// is next used. Guarded by the device's lock.
  BufferRef lent = {};
};

}  // namespace spyre::lazy
