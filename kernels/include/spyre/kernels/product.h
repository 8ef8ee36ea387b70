// spyre/kernels/product.h — matrix products with a specified order of addition.
//
// Every element of the result is one chain: 0, then one fused multiply-add per step in ascending
// order, in float32, rounded once to its type at the end. So the bits depend neither on how rows
// and columns are divided, nor on the instruction set. The exception is bfloat16 with AVX-512 on a
// CPU with vdpbf16ps, whose chain takes two steps at a time with that instruction's own rounding:
// there the order is the same for every division.
//
// The inner loop reads the right operand in tiles of columns, step by step: packed that way first,
// or where it lies, if its rows are the tiles' rows.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "spyre/base/bytes.h"
#include "spyre/base/dtype.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// Strides in elements, of any sign, or 0.
struct MatrixView {
  std::byte* data = nullptr;
  std::int64_t row_stride = 0, column_stride = 0;
};

/// Tiles of a right operand, in memory. `step_bytes`: from one row of a tile to the next.
struct RightTiles {
  const std::byte* data = nullptr;
  std::int64_t tile_bytes = 0, step_bytes = 0;
};

/// [rows, k] x [k, n]. A plain value; its functions may be called from many threads.
struct Product {
  DType type{}, result{};  // `result`: the same, or float32
  std::int64_t k = 0, n = 0;
  Isa isa = Isa::Avx512;  // at most; a CPU without it runs what it has

  /// True for float types up to float32, if this CPU has AVX2 and FMA.
  static bool supports(DType type);

  std::int64_t tile_columns() const;
  std::int64_t tiles() const { return (n + tile_columns() - 1) / tile_columns(); }
  Bytes tile_bytes() const;
  Bytes packed_bytes() const { return tile_bytes() * static_cast<std::uint64_t>(tiles()); }
  /// What multiply() may use to rearrange `rows` rows of the left operand, and for sums on their way.
  Bytes left_bytes(std::int64_t rows) const;

  /// Writes tiles [first, last) of the right operand to `packed`, which is 64-byte aligned.
  void pack(const MatrixView& right, std::int64_t first, std::int64_t last,
            std::byte* packed) const;
  /// What pack() has written to `packed`.
  RightTiles packed_tiles(const std::byte* packed) const;
  /// Whether a right operand with these strides, in elements, serves as it is.
  bool reads_in_place(std::int64_t row_stride, std::int64_t column_stride) const;
  /// Tiles from `first` on of such an operand.
  RightTiles tiles_in_place(const MatrixView& right, std::int64_t first) const;
  /// Computes the columns of tiles [first, last), which begin at `tiles`, of `rows` rows; there are
  /// some of each, and of k. With
  /// less `scratch` than left_bytes(rows) it takes the rows in several turns; one tile of rows must
  /// fit.
  void multiply(const MatrixView& left, std::int64_t rows, const RightTiles& tiles,
                std::int64_t first, std::int64_t last, const MatrixView& out,
                std::span<std::byte> scratch) const;
};

}  // namespace spyre::kernels
