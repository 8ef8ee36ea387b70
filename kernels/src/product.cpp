// spyre/kernels/product.cpp — packs operands and walks the tiles of a product.
#include "spyre/kernels/product.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "product_packing.h"
#include "product_tiles.h"
#include "spyre/base/error.h"

namespace spyre::kernels {
namespace {

constexpr std::int64_t kSetBytes = 4096;  // rows this far apart contend for the same cache lines
constexpr std::int64_t kNearRows =
    2048;  // bytes: rows further apart are not worth reading in place

std::byte* at(DType type, const MatrixView& m, std::int64_t row, std::int64_t column) {
  return m.data + (row * m.row_stride + column * m.column_stride) * size_of(type);
}

/// Rows that are multiplied in turn, in tiles that are as long as one another or one row longer, and what they have of the
/// scratchpad.
struct RowTiles {
  RowTiles(std::int64_t first_row, std::int64_t rows, std::int64_t tile_rows)
      : first(first_row),
        count((rows + tile_rows - 1) / tile_rows),
        shorter(rows / count),
        longer(rows % count) {}

  std::int64_t begin(std::int64_t tile) const {
    return first + tile * shorter + std::min(tile, longer);
  }

  std::int64_t first, count;
  std::int64_t shorter, longer;  // rows of the later tiles; how many, the first ones, are longer
  std::byte* packed = nullptr;
  std::byte* sums = nullptr;
};

/// Some steps of k of a band of columns.
struct Part {
  std::int64_t first_column = 0, last_column = 0;  // tiles
  std::int64_t first_word = 0, words = 0;
  std::int64_t next_step_bytes = 0;  // of what comes next, fetched by the way
};

/// One call of multiply(). Confined to it.
///
/// Sums of many steps are made part by part, so that the part of the right operand that all rows meet stays near. In
/// between they are kept as float32, which changes no bit: in the result, or in the scratchpad for a band of columns.
class Multiplication {
 public:
  Multiplication(const Product& product, const MatrixView& left, const RightTiles& right,
                 std::int64_t first, std::int64_t last, const MatrixView& out)
      : product_(product),
        loops_(product_loops(product.isa, product.type, product.n)),
        words_(words_of(product)),
        left_(left),
        right_(right),
        first_(first),
        last_(last),
        out_(out),
        packs_(!reads_in_place()),
        tile_rows_(!packs_ && crowded() ? kUncrowdedRows : loops_.rows()),
        // What meets one column comes by but once, and best in one go.
        parts_(last - first == 1 ? 1 : parts_of(product)),
        keeps_sums_(parts_ > 1 && !(is_direct(first) && is_direct(last - 1))),
        reads_on_(!packs_ && parts_ == 1 &&
                  left_.row_stride * size_of(product.type) == words_ * kWord) {}

  std::int64_t tile_rows() const { return tile_rows_; }
  /// What a tile of rows takes of the scratchpad, beside the spill of them all.
  std::int64_t row_tile_bytes() const {
    return (packs_ ? packed_bytes() : 0) + (keeps_sums_ ? sum_bytes(product_) : 0);
  }

  /// `scratch` has room for the tiles of these rows.
  void run(std::int64_t first_row, std::int64_t rows, std::byte* scratch) const {
    RowTiles tiles(first_row, rows, tile_rows_);
    tiles.packed = tiles.sums = scratch;
    if (packs_) {
      pack(tiles);
      tiles.sums += tiles.count * packed_bytes() + kPackingSpill;
    }
    const std::int64_t band = keeps_sums_ ? kBandTiles : last_ - first_;
    for (std::int64_t column = first_; column < last_; column += band)
      run_band(tiles, column, std::min(column + band, last_));
  }

  static std::int64_t parts_of(const Product& product) {
    return (words_of(product) + kPartWords - 1) / kPartWords;
  }
  /// Of a tile of rows by a band.
  static std::int64_t sum_bytes(const Product& product) {
    return kBandTiles * kTileRoom * product.tile_columns() * kWord;
  }

 private:
  static constexpr std::int64_t kCrowdedColumns = 256;  // fewer do not pay for packing the rows,
  static constexpr std::int64_t kUncrowdedRows = 6;     // and then only so many rows go together
  static constexpr std::int64_t kPartWords =
      1024;  // of k: 64 or 128 KiB of a tile of the right operand
  static constexpr std::int64_t kNearWords = 8;  // ways of a first-level cache
  static constexpr std::int64_t kBandTiles = 4;  // of columns whose sums are kept at a time

  /// Whether the inner loop can read the left operand where it lies.
  bool reads_in_place() const {
    const bool words =
        size_of(product_.type) * loops_.word_steps == kWord && product_.k % loops_.word_steps == 0;
    const bool worth_packing = crowded() && product_.n >= kCrowdedColumns;
    return words && (left_.column_stride == 1 || product_.k == 1) && !worth_packing;
  }
  bool crowded() const { return left_.row_stride * size_of(product_.type) % kSetBytes == 0; }
  std::int64_t packed_bytes() const { return words_ * loops_.rows() * kWord; }
  std::int64_t width_of(std::int64_t column_tile) const {
    return std::min(loops_.columns, product_.n - column_tile * loops_.columns);
  }
  /// Whether the loops can write this tile of columns where it belongs.
  bool is_direct(std::int64_t column_tile) const {
    return product_.result == DType::F32 && out_.column_stride == 1 &&
           width_of(column_tile) == loops_.columns;
  }

  void pack(const RowTiles& tiles) const {
    const auto lanes = [&](std::int64_t t) {
      return Lanes{at(product_.type, left_, tiles.begin(t), 0), left_.column_stride,
                   left_.row_stride, tiles.begin(t + 1) - tiles.begin(t)};
    };
    if (left_.row_stride != 1) {
      for (std::int64_t t = 0; t < tiles.count; ++t)
        pack_lanes(product_, lanes(t), loops_.rows(), tiles.packed + t * packed_bytes());
      return;
    }
    // A line of the cache has words of several tiles, and steps may contend for the same lines.
    for (std::int64_t word = 0; word < words_; word += kNearWords)
      for (std::int64_t t = 0; t < tiles.count; ++t)
        pack_neighbours(product_, lanes(t), word, std::min(word + kNearWords, words_),
                        loops_.rows(), tiles.packed + t * packed_bytes());
  }

  void run_band(const RowTiles& tiles, std::int64_t first, std::int64_t last) const {
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t word = words_ * i / parts_, words = words_ * (i + 1) / parts_ - word;
      const std::int64_t bytes = right_.tile_bytes * words / words_;  // of a tile of columns
      const Part part{first, last, word, words, bytes / tiles.count / words};
      for (std::int64_t column = first; column < last; ++column)
        for (std::int64_t t = 0; t < tiles.count; ++t) run_tile(tiles, part, t, column);
    }
  }

  void run_tile(const RowTiles& tiles, const Part& part, std::int64_t row_tile,
                std::int64_t column_tile) const {
    ProductTile tile = left_of(tiles, row_tile, part.first_word);
    tile.steps = part.words;
    tile.continues = part.first_word != 0;
    tile.right = right_of(column_tile, part.first_word);
    tile.right_step_bytes = right_.step_bytes;
    const std::int64_t first = tiles.begin(row_tile), rows = tiles.begin(row_tile + 1) - first;
    // The rows of a column of tiles share the fetching of what comes next. Behind the last column
    // come the next rows: with few rows, weights come from memory, and the processor does not
    // foresee so far.
    if (reads_on_ && column_tile + 1 == last_) {
      tile.next = tile.left + rows * tile.row_bytes;
      tile.next_step_bytes = rows * kWord;
    } else {
      tile.next = next_right(part, column_tile) + row_tile * part.words * part.next_step_bytes;
      tile.next_step_bytes = part.next_step_bytes;
    }
    std::byte* const target = at(product_.result, out_, first, column_tile * loops_.columns);
    const bool complete = part.first_word + part.words == words_;
    if (is_direct(column_tile)) {
      tile.out = reinterpret_cast<float*>(target);
      tile.out_row = out_.row_stride;
      return multiply(tile, rows);
    }
    alignas(64) std::array<float, kTileRoom * kMostColumns> here;
    tile.out =
        keeps_sums_ ? sums_of(tiles, row_tile, column_tile - part.first_column) : here.data();
    tile.out_row = loops_.columns;
    multiply(tile, rows);
    if (complete) store(tile.out, rows, width_of(column_tile), target);
  }

  void multiply(const ProductTile& tile, std::int64_t rows) const {
    loops_.by_rows[static_cast<std::size_t>(rows - 1)](tile);
  }

  const std::byte* right_of(std::int64_t column_tile, std::int64_t word) const {
    return right_.data + (column_tile - first_) * right_.tile_bytes + word * right_.step_bytes;
  }
  const std::byte* next_right(const Part& part, std::int64_t column_tile) const {
    if (column_tile + 1 != part.last_column) return right_of(column_tile + 1, part.first_word);
    const std::int64_t word = part.first_word + part.words;
    return word == words_ ? right_of(part.last_column, 0) : right_of(part.first_column, word);
  }

  ProductTile left_of(const RowTiles& tiles, std::int64_t row_tile, std::int64_t word) const {
    const std::int64_t row_word = loops_.rows() * kWord;
    if (packs_)
      return {.left = tiles.packed + row_tile * packed_bytes() + word * row_word,
              .row_bytes = kWord,
              .step_bytes = row_word};
    return {.left = at(product_.type, left_, tiles.begin(row_tile), 0) + word * kWord,
            .row_bytes = left_.row_stride * size_of(product_.type),
            .step_bytes = kWord};
  }

  float* sums_of(const RowTiles& tiles, std::int64_t row_tile, std::int64_t column) const {
    return reinterpret_cast<float*>(tiles.sums) +
           (row_tile * kBandTiles + column) * kTileRoom * loops_.columns;
  }

  void store(const float* values, std::int64_t rows, std::int64_t width, std::byte* target) const {
    const std::int64_t size = size_of(product_.result);
    if (out_.row_stride == 1 && out_.column_stride != 1)
      return store_columns(product_.result, values, loops_.columns, rows, width, target,
                           out_.column_stride * size);
    for (std::int64_t r = 0; r < rows; ++r)
      store_row(values + r * loops_.columns, width, target + r * out_.row_stride * size);
  }

  void store_row(const float* values, std::int64_t width, std::byte* target) const {
    const bool rounds = product_.result != DType::F32, dense = out_.column_stride == 1;
    if (rounds && dense) return round_row(product_.result, values, width, target);
    const std::int64_t size = size_of(product_.result);
    std::array<std::byte, kMostColumns * kWord> rounded;
    const auto* source = reinterpret_cast<const std::byte*>(values);
    if (rounds) {
      round_row(product_.result, values, width, rounded.data());
      source = rounded.data();
    }
    if (dense) {
      std::memcpy(target, source, static_cast<std::size_t>(width * size));
      return;
    }
    for (std::int64_t i = 0; i < width; ++i)
      std::memcpy(target + i * out_.column_stride * size, source + i * size,
                  static_cast<std::size_t>(size));
  }

  const Product& product_;
  const ProductLoops& loops_;
  std::int64_t words_;
  const MatrixView& left_;
  const RightTiles& right_;
  std::int64_t first_, last_;  // tiles of columns
  const MatrixView& out_;
  bool packs_;
  std::int64_t tile_rows_, parts_;
  bool keeps_sums_;
  bool reads_on_;  // the left operand lies as it is read: what follows are the next tile's rows
};

}  // namespace

bool Product::supports(DType type) { return product_loops(Isa::Avx2, type, 1).rows() != 0; }

std::int64_t Product::tile_columns() const { return product_loops(isa, type, n).columns; }

Bytes Product::tile_bytes() const {
  return {static_cast<std::uint64_t>(words_of(*this) * tile_columns() * kWord)};
}

Bytes Product::left_bytes(std::int64_t rows) const {
  const std::int64_t tile_rows = product_loops(isa, type, n).rows();
  const std::int64_t tiles = (rows + tile_rows - 1) / tile_rows;
  const std::int64_t sums =
      Multiplication::parts_of(*this) == 1 ? 0 : Multiplication::sum_bytes(*this);
  return {static_cast<std::uint64_t>(tiles * (words_of(*this) * tile_rows * kWord + sums) +
                                     kPackingSpill)};
}

void Product::pack(const MatrixView& right, std::int64_t first, std::int64_t last,
                   std::byte* packed) const {
  const std::int64_t columns = tile_columns();
  for (std::int64_t tile = first; tile < last; ++tile) {
    const std::int64_t column = tile * columns, width = std::min(columns, n - column);
    if (width < columns) std::memset(packed, 0, tile_bytes().count);
    pack_lanes(*this, {at(type, right, 0, column), right.row_stride, right.column_stride, width},
               columns, packed);
    packed += tile_bytes().count;
  }
}

RightTiles Product::packed_tiles(const std::byte* packed) const {
  return {packed, static_cast<std::int64_t>(tile_bytes().count), tile_columns() * kWord};
}

bool Product::reads_in_place(std::int64_t row_stride, std::int64_t column_stride) const {
  const std::int64_t row = row_stride * kWord;
  return type == DType::F32 && column_stride == 1 && n % tile_columns() == 0 &&
         std::abs(row) <= kNearRows;
}

RightTiles Product::tiles_in_place(const MatrixView& right, std::int64_t first) const {
  return {at(type, right, 0, first * tile_columns()), tile_columns() * kWord,
          right.row_stride * kWord};
}

void Product::multiply(const MatrixView& left, std::int64_t rows, const RightTiles& tiles,
                       std::int64_t first, std::int64_t last, const MatrixView& out,
                       std::span<std::byte> scratch) const {
  ensure(rows > 0 && k > 0 && first < last, "a product has rows, steps and columns");
  const Multiplication work(*this, left, tiles, first, last, out);
  const std::int64_t bytes = work.row_tile_bytes();
  if (bytes == 0) return work.run(0, rows, nullptr);
  const auto room = static_cast<std::int64_t>(scratch.size()) - kPackingSpill;
  const std::int64_t fitting = room / bytes * work.tile_rows();
  ensure(fitting > 0, "a tile of rows fits the scratchpad");
  for (std::int64_t row = 0; row < rows; row += fitting)
    work.run(row, std::min(fitting, rows - row), scratch.data());
}

}  // namespace spyre::kernels
