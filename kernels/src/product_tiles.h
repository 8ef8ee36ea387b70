// spyre/kernels/product_tiles.h — the inner loops of matrix products, per instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "spyre/base/dtype.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// One tile of the result: `steps` words of each of its rows times as many rows of columns.
/// A word is a float32, or two bfloat16 that are multiplied together. Writes whole rows of columns.
struct ProductTile {
  std::int64_t steps = 0;  // at least 1
  bool continues = false;  // the sums in `out`
  const std::byte* left = nullptr;
  std::int64_t row_bytes = 0, step_bytes = 0;  // of `left`
  const std::byte* right = nullptr;
  std::int64_t right_step_bytes = 0;
  const std::byte* next = nullptr;   // fetched into the second-level cache by the way,
  std::int64_t next_step_bytes = 0;  // so much in a step
  float* out = nullptr;
  std::int64_t out_row = 0;  // elements
};

/// The inner loops for one element type on this CPU. Immutable, static.
struct ProductLoops {
  std::int64_t columns = 0;                              // of a tile
  std::int64_t word_steps = 1;                           // steps of k in a word
  std::span<void (*const)(const ProductTile&)> by_rows;  // [rows - 1]
  std::int64_t rows() const { return static_cast<std::int64_t>(by_rows.size()); }
};

/// Those of `isa`, or of what the CPU has instead, that suit a right operand of `columns`. None (no rows) if the CPU or the type is not
/// supported.
const ProductLoops& product_loops(Isa isa, DType type, std::int64_t columns);

/// 8 x 8 words: target[j * target_row + i] = source[i][j]. `source_row` in bytes, `target_row` in
/// words. Of fewer `rows` the last is repeated; rows of the target are written in rising order, so that one may end
/// where the next begins, and the last has room for 8 words.
void transpose_words(const std::byte* source, std::int64_t source_row, std::int64_t rows,
                     std::byte* target, std::int64_t target_row);
/// Words even[i] | odd[i] << 16 of `count` neighbours of 16 bits.
void interleave(const std::byte* even, const std::byte* odd, std::int64_t count, std::byte* out);
/// Rows that a tile of results has room for: more than any tile has.
constexpr std::int64_t kTileRoom = 16;
/// Writes the first `rows` of each column of a tile side by side: `out` + c * column_bytes + r elements. `values` holds
/// kTileRoom rows of `pitch` (a multiple of 8) floats, of which `columns` are wanted.
void store_columns(DType type, const float* values, std::int64_t pitch, std::int64_t rows,
                   std::int64_t columns, std::byte* out, std::int64_t column_bytes);
/// Rounds `count` neighbours to float16 or bfloat16, to nearest even.
void round_row(DType type, const float* values, std::int64_t count, std::byte* out);
/// Converts `count` neighbours of float16 or bfloat16.
void widen_row(DType type, const std::byte* values, std::int64_t count, float* out);

}  // namespace spyre::kernels
