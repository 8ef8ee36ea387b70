// spyre/lazy/buffer.cpp — the beginning and the end of a buffer's use.
#include "spyre/lazy/buffer.h"

#include "device_state.h"
#include "tiled_content.h"

namespace spyre::lazy {

Buffer::Buffer(Device& device, Bytes size) : size_(size), device_(device) {}

Buffer::~Buffer() = default;

const Tiled* Buffer::tiled() const { return tiled_ ? &tiled_->tiled : nullptr; }

void Buffer::drop_reference() {
  if (release_reference()) device_.state_->buffers.give_back(*this);
}

void Buffer::drop_outside() {
  // Once the count is down, another thread may end the buffer.
  Device::State& device = *device_.state_;
  const Bytes size = size_;
  const bool counted = !is_tiled();  // else its sticks are
  const std::uint64_t before = owners_.fetch_sub(kOutside + 1, std::memory_order_acq_rel);
  if (before < 2 * kOutside && counted) device.owners.remove(size);
  if (before == kOutside + 1) device.buffers.give_back(*this);
}

}  // namespace spyre::lazy
