// spyre/kernels/product.cpp — packs operands and walks the tiles of a product.
#include "spyre/kernels/product.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "product_tiles.h"
#include "spyre/base/error.h"

namespace spyre::kernels {
namespace {

constexpr std::int64_t kWord = 4;          // bytes
constexpr std::int64_t kMostColumns = 32;  // of any tile
constexpr std::int64_t kSetBytes = 4096;   // rows this far apart contend for the same cache lines
constexpr std::int64_t kNearRows =
    2048;  // bytes: rows further apart are not worth reading in place

/// The lanes of a packed tile: columns of the right operand, or rows of the left one.
struct Lanes {
  const std::byte* data = nullptr;
  std::int64_t step_stride = 0, lane_stride = 0;  // elements
  std::int64_t count = 0;
};

std::int64_t words_of(const Product& p) {
  const std::int64_t steps = product_loops(p.isa, p.type, p.n).word_steps;
  return (p.k + steps - 1) / steps;
}

/// Neighbours along the lanes: runs of them are copied, widened, or interleaved in pairs.
class StepPacker {
 public:
  StepPacker(const Product& p, const Lanes& lanes)
      : type_(p.type),
        k_(p.k),
        pairs_(product_loops(p.isa, p.type, p.n).word_steps == 2),
        lanes_(lanes) {}

  void pack(std::int64_t word, std::byte* out) const {
    if (pairs_) {
      const bool whole = 2 * word + 1 < k_;
      interleave(step(2 * word), whole ? step(2 * word + 1) : kZeros.data(), lanes_.count, out);
    } else if (type_ != DType::F32) {
      widen_row(type_, step(word), lanes_.count, reinterpret_cast<float*>(out));
    } else if (lanes_.count == kMostColumns) {  // known to the compiler: no call
      std::memcpy(out, step(word), kMostColumns * kWord);
    } else {
      std::memcpy(out, step(word), static_cast<std::size_t>(lanes_.count * kWord));
    }
  }

 private:
  static constexpr std::array<std::byte, kMostColumns * 2> kZeros{};

  const std::byte* step(std::int64_t number) const {
    return lanes_.data + number * lanes_.step_stride * size_of(type_);
  }

  DType type_;
  std::int64_t k_;
  bool pairs_;
  Lanes lanes_;
};

/// The word of one lane, of so many steps, from anywhere.
std::uint32_t word_at(const Product& p, const Lanes& lanes, std::int64_t steps, std::int64_t lane,
                      std::int64_t word) {
  const std::int64_t size = size_of(p.type);
  const auto element = [&](std::int64_t step) {
    return lanes.data + (lane * lanes.lane_stride + step * lanes.step_stride) * size;
  };
  std::uint32_t result = 0;
  if (p.type == DType::F32) {
    std::memcpy(&result, element(word), sizeof result);
  } else if (steps == 2) {
    std::uint16_t even = 0, odd = 0;
    std::memcpy(&even, element(2 * word), sizeof even);
    if (2 * word + 1 < p.k) std::memcpy(&odd, element(2 * word + 1), sizeof odd);
    result = even | std::uint32_t{odd} << 16;
  } else {
    float wide = 0;
    widen_row(p.type, element(word), 1, &wide);
    std::memcpy(&result, &wide, sizeof result);
  }
  return result;
}

/// Words from `first` on, one by one, from anywhere.
void pack_words(const Product& p, const Lanes& lanes, std::int64_t first, std::int64_t pitch,
                std::byte* out) {
  const std::int64_t steps = product_loops(p.isa, p.type, p.n).word_steps, words = words_of(p);
  for (std::int64_t lane = 0; lane < lanes.count; ++lane)
    for (std::int64_t w = first; w < words; ++w) {
      const std::uint32_t word = word_at(p, lanes, steps, lane, w);
      std::memcpy(out + (w * pitch + lane) * kWord, &word, sizeof word);
    }
}

constexpr std::int64_t kBlock = 8;  // lanes and words that are transposed together

/// A block of elements that are widened on the way.
void transpose_wide(DType type, const std::byte* source, std::int64_t source_row, std::byte* out,
                    std::int64_t pitch) {
  std::array<float, kBlock * kBlock> wide;
  for (std::int64_t lane = 0; lane < kBlock; ++lane)
    widen_row(type, source + lane * source_row, kBlock,
              &wide[static_cast<std::size_t>(lane * kBlock)]);
  transpose_words(reinterpret_cast<const std::byte*>(wide.data()), kBlock * kWord, out, pitch);
}

void transpose_block(DType type, bool whole_words, const std::byte* source, std::int64_t source_row,
                     std::byte* out, std::int64_t pitch) {
  if (whole_words) transpose_words(source, source_row, out, pitch);
  else transpose_wide(type, source, source_row, out, pitch);
}

/// The same of fewer lanes than a block has, as the tiles of some instruction sets do.
void transpose_few(DType type, bool whole_words, const std::byte* source, std::int64_t source_row,
                   std::int64_t lanes, std::byte* out, std::int64_t pitch) {
  std::array<std::byte, kBlock * kBlock * kWord> rows{}, turned;
  const std::int64_t row = kBlock * (whole_words ? kWord : size_of(type));
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    std::memcpy(rows.data() + lane * row, source + lane * source_row,
                static_cast<std::size_t>(row));
  transpose_block(type, whole_words, rows.data(), row, turned.data(), kBlock);
  for (std::int64_t word = 0; word < kBlock; ++word)
    std::memcpy(out + word * pitch * kWord, turned.data() + word * kBlock * kWord,
                static_cast<std::size_t>(lanes * kWord));
}

/// Neighbours along k: transposed in blocks.
void pack_transposed(const Product& p, const Lanes& lanes, std::int64_t pitch, std::byte* out) {
  constexpr std::int64_t kLine = 16;  // words of a line of the cache
  const std::int64_t steps = product_loops(p.isa, p.type, p.n).word_steps, size = size_of(p.type),
                     word_bytes = size * steps, row_bytes = lanes.lane_stride * size;
  const bool whole_words = word_bytes == kWord;
  const std::int64_t words = p.k / steps / kLine * kLine;
  for (std::int64_t w = 0; w < words; w += kLine)
    for (std::int64_t lane = 0; lane < lanes.count; lane += kBlock)
      for (std::int64_t i = w; i < w + kLine; i += kBlock) {
        const std::byte* const column = lanes.data + i * word_bytes;
        std::byte* const target = out + i * pitch * kWord;
        if (lanes.count < kBlock) {
          transpose_few(p.type, whole_words, column, row_bytes, lanes.count, target, pitch);
          continue;
        }
        const std::int64_t block = std::min(lane, lanes.count - kBlock);  // the last may overlap
        transpose_block(p.type, whole_words, column + block * row_bytes, row_bytes,
                        target + block * kWord, pitch);
      }
  pack_words(p, lanes, words, pitch, out);
}

/// out[word * pitch + lane], for all of k.
void pack_lanes(const Product& p, const Lanes& lanes, std::int64_t pitch, std::byte* out) {
  if (lanes.lane_stride == 1 || lanes.count == 1) {
    const StepPacker packer(p, lanes);
    for (std::int64_t w = 0, words = words_of(p); w < words; ++w)
      packer.pack(w, out + w * pitch * kWord);
  } else if (lanes.step_stride == 1) {
    pack_transposed(p, lanes, pitch, out);
  } else {
    pack_words(p, lanes, 0, pitch, out);
  }
}

std::byte* at(DType type, const MatrixView& m, std::int64_t row, std::int64_t column) {
  return m.data + (row * m.row_stride + column * m.column_stride) * size_of(type);
}

/// One call of multiply(). Confined to it.
class Multiplication {
 public:
  Multiplication(const Product& product, const MatrixView& left, const MatrixView& out)
      : product_(product),
        loops_(product_loops(product.isa, product.type, product.n)),
        words_(words_of(product)),
        left_(left),
        out_(out) {}

  /// Whether the inner loop can read the left operand where it lies.
  bool reads_in_place() const {
    const bool words =
        size_of(product_.type) * loops_.word_steps == kWord && product_.k % loops_.word_steps == 0;
    const bool worth_packing = crowded() && product_.n >= kCrowdedColumns;
    return words && (left_.column_stride == 1 || product_.k == 1) && !worth_packing;
  }

  void run(std::int64_t first_row, std::int64_t rows, RightTiles right, std::int64_t first,
           std::int64_t last, std::byte* scratch) const {
    const std::int64_t most = scratch == nullptr && crowded() ? kUncrowdedRows : loops_.rows(),
                       tiles = (rows + most - 1) / most;
    const auto begin = [&](std::int64_t tile) { return first_row + rows * tile / tiles; };
    if (scratch != nullptr)
      for (std::int64_t t = 0; t < tiles; ++t)
        pack_rows(begin(t), begin(t + 1), scratch + t * tile_bytes());
    for (std::int64_t column = first; column < last; ++column) {
      for (std::int64_t t = 0; t < tiles; ++t) {
        ProductTile tile =
            left_of(begin(t), scratch == nullptr ? nullptr : scratch + t * tile_bytes());
        tile.right = right.data;
        tile.right_step_bytes = right.step_bytes;
        // The rows of a column of tiles share the fetching of the next one. Behind the last column
        // come the next rows: with few rows, weights come from memory, and the processor does not
        // foresee so far.
        const std::int64_t row_bytes = (begin(t + 1) - begin(t)) * tile.row_bytes;
        if (column + 1 == last && is_dense(tile)) fetch(tile, tile.left + row_bytes, row_bytes);
        else
          fetch(tile, right.data + right.tile_bytes + right.tile_bytes * t / tiles,
                right.tile_bytes / tiles);
        multiply_tile(tile, begin(t), begin(t + 1), column);
      }
      right.data += right.tile_bytes;
    }
  }

  std::int64_t tile_bytes() const { return words_ * loops_.rows() * kWord; }

 private:
  static constexpr std::int64_t kCrowdedColumns = 256;  // fewer do not pay for packing the rows,
  static constexpr std::int64_t kUncrowdedRows = 6;     // and then only so many rows go together

  /// Whether its rows lie one behind the other: then what follows are the next tile's.
  bool is_dense(const ProductTile& tile) const { return tile.row_bytes == words_ * kWord; }

  /// Has the tile fetch these bytes by the way.
  void fetch(ProductTile& tile, const std::byte* from, std::int64_t bytes) const {
    tile.next = from;
    tile.next_step_bytes = bytes / words_;
  }

  bool crowded() const { return left_.row_stride * size_of(product_.type) % kSetBytes == 0; }

  void pack_rows(std::int64_t first, std::int64_t last, std::byte* out) const {
    pack_lanes(
        product_,
        {at(product_.type, left_, first, 0), left_.column_stride, left_.row_stride, last - first},
        loops_.rows(), out);
  }

  /// Rows from `first` on, which are packed at `packed` unless that is null.
  ProductTile left_of(std::int64_t first, const std::byte* packed) const {
    if (packed != nullptr)
      return {
          .steps = words_, .left = packed, .row_bytes = kWord, .step_bytes = loops_.rows() * kWord};
    return {.steps = words_,
            .left = at(product_.type, left_, first, 0),
            .row_bytes = left_.row_stride * size_of(product_.type),
            .step_bytes = kWord};
  }

  void multiply_tile(ProductTile& t, std::int64_t first, std::int64_t last,
                     std::int64_t tile) const {
    alignas(64) std::array<float, kTileRoom * kMostColumns> values;
    const std::int64_t column = tile * loops_.columns,
                       width = std::min(loops_.columns, product_.n - column);
    std::byte* const target = at(product_.result, out_, first, column);
    const bool direct =
        product_.result == DType::F32 && out_.column_stride == 1 && width == loops_.columns;
    t.out = direct ? reinterpret_cast<float*>(target) : values.data();
    t.out_row = direct ? out_.row_stride : loops_.columns;
    loops_.by_rows[static_cast<std::size_t>(last - first - 1)](t);
    if (direct) return;
    const std::int64_t size = size_of(product_.result);
    if (out_.row_stride == 1 && out_.column_stride != 1)
      return store_columns(product_.result, values.data(), loops_.columns, last - first, width,
                           target, out_.column_stride * size);
    for (std::int64_t r = 0; r < last - first; ++r)
      store_row(&values[static_cast<std::size_t>(r * loops_.columns)], width,
                target + r * out_.row_stride * size);
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
  const MatrixView &left_, &out_;
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
  return {static_cast<std::uint64_t>(tiles * words_of(*this) * tile_rows * kWord)};
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
  const Multiplication work(*this, left, out);
  if (work.reads_in_place()) return work.run(0, rows, tiles, first, last, nullptr);
  const auto fitting = static_cast<std::int64_t>(scratch.size()) / work.tile_bytes() *
                       product_loops(isa, type, n).rows();
  ensure(fitting > 0, "a tile of rows fits the scratchpad");
  for (std::int64_t row = 0; row < rows; row += fitting)
    work.run(row, std::min(fitting, rows - row), tiles, first, last, scratch.data());
}

}  // namespace spyre::kernels
