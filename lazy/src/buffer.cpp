// spyre/lazy/buffer.cpp — the end of a buffer.
#include "spyre/lazy/buffer.h"

#include "spyre/lazy/device.h"

namespace spyre::lazy {

void Buffer::drop_reference() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // Nobody else can reach the buffer now, so no lock is needed; the card has its own.
  if (!memory_.empty()) device_.card().free(memory_);
  delete this;
}

}  // namespace spyre::lazy
