// spyre/device_sim/copies.h — operations that move and fill parts of allocations.
#pragma once
#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

// Each throws InvalidArgument if an allocation is shorter than what is asked of it. Their memory is
// the caller's to keep until they are done.

Operation upload_to(const Allocation& target, Bytes offset, const std::byte* source, Bytes length);
Operation download_from(const Allocation& source, Bytes offset, std::byte* target, Bytes length);

// On the compute queue:

Operation fill_memory(const Card& card, const Allocation& target, Bytes offset, Bytes length,
                      std::byte value);
/// From device memory to device memory. Throws InvalidArgument if the two overlap.
Operation copy_memory(const Card& card, const Allocation& source, Bytes from,
                      const Allocation& target, Bytes to, Bytes length);

}  // namespace spyre::device_sim
