// spyre/base/hash.cpp — XXH3-128 from xxHash, inlined: short keys are the common case.
#include "spyre/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace spyre {

Hash128 hash(std::span<const std::byte> bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

}  // namespace spyre
