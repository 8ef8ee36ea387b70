// spyre/kernels/product_packing.h — operands of products in the order in which the inner loops read them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "spyre/kernels/product.h"

namespace spyre::kernels {

constexpr std::int64_t kWord = 4;          // bytes
constexpr std::int64_t kMostColumns = 32;  // of any tile
/// Bytes that packing may write behind its last word: the end of a transposed block that is wider than the tile.
constexpr std::int64_t kPackingSpill = 32;

/// The lanes of a packed tile: columns of the right operand, or rows of the left one.
struct Lanes {
  const std::byte* data = nullptr;
  std::int64_t step_stride = 0, lane_stride = 0;  // elements
  std::int64_t count = 0;
};

/// Words along k: float32, or two bfloat16 that are multiplied together.
std::int64_t words_of(const Product& p);

/// out[word * pitch + lane], for all of k. `pitch` in words.
void pack_lanes(const Product& p, const Lanes& lanes, std::int64_t pitch, std::byte* out);
/// Words [first, last) of them, of lanes that are neighbours.
void pack_neighbours(const Product& p, const Lanes& lanes, std::int64_t first, std::int64_t last,
                     std::int64_t pitch, std::byte* out);

}  // namespace spyre::kernels
