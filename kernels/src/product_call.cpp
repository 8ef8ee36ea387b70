// spyre/kernels/product_call.cpp — the division of products into work items.
#include "spyre/kernels/product_call.h"

#include <algorithm>

#include "spyre/base/float16.h"

namespace spyre::kernels {
namespace {

constexpr Bytes kPackedBytes{128 << 10};   // that one item packs: worth another thread
constexpr std::int64_t kGroupTiles = 64;   // at most, of columns in one item
constexpr std::int64_t kEnoughItems = 16;  // then columns need not be divided further
constexpr std::int64_t kFewestRows = 24;   // two tiles of rows: an item of less is not worth it
constexpr Bytes kAlignment = 64_B;

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Matrix `batch` of an operand [rows, columns] or [batch, rows, columns].
MatrixView matrix_of(const DeviceView& view, std::int64_t batch) {
  const std::size_t rank = view.sizes.size();
  const std::int64_t offset = rank == 3 ? batch * view.strides[0] * view.element_size : 0;
  return {static_cast<std::byte*>(view.data) + offset, view.strides[rank - 2],
          view.strides[rank - 1]};
}

/// Calls `use` with the value as elements of that type hold it.
template <class Use> void with_element(DType type, float value, Use use) {
  if (type == DType::F32) return use(value);
  use(type == DType::BF16 ? bfloat16_bits(value) : float16_bits(value));
}

/// The packed bytes of matrix `batch`.
std::byte* packed_of(const DeviceView& view, std::int64_t batch) {
  return static_cast<std::byte*>(view.data) + batch * view.strides[0] * view.element_size;
}

}  // namespace

std::int64_t PackCall::tiles_an_item() const {
  const auto worth = static_cast<std::int64_t>(kPackedBytes.count / product_.tile_bytes().count);
  return std::clamp<std::int64_t>(worth, 1, product_.tiles());
}

std::int64_t PackCall::work_items() const {
  return matrices_ * ceil_of(product_.tiles(), tiles_an_item());
}

void PackCall::run(std::span<const DeviceView> operands, std::int64_t first, std::int64_t last,
                   std::span<std::byte> /*scratch*/) const {
  const std::int64_t tiles = product_.tiles(), some = tiles_an_item(),
                     groups = ceil_of(tiles, some);
  for (std::int64_t item = first; item < last; ++item) {
    const std::int64_t batch = item / groups, tile = item % groups * some;
    product_.pack(matrix_of(operands[0], batch), tile, std::min(tile + some, tiles),
                  packed_of(operands[1], batch) +
                      product_.tile_bytes().count * static_cast<std::uint64_t>(tile));
  }
}

ProductCall::Division ProductCall::division() const {
  Division d;
  const bool packed = right_ != Right::Plain || keeps();
  if (packed) d.panels = ceil_of(rows_.rows, kPlainRows);
  const auto wanted = [&](std::int64_t others) {
    return ceil_of(kEnoughItems, rows_.batches * others);
  };
  const std::int64_t tiles = product_.tiles();
  d.group_tiles = std::clamp<std::int64_t>(tiles / wanted(d.panels), 1, kGroupTiles);
  d.groups = ceil_of(tiles, d.group_tiles);
  // Few columns: the rows alone are to be divided.
  if (packed) d.panels = std::max(d.panels, std::min(wanted(d.groups), rows_.rows / kFewestRows));
  return d;
}

std::int64_t ProductCall::work_items() const {
  const Division d = division();
  return rows_.batches * d.panels * d.groups;
}

LibraryCost ProductCall::cost() const {
  // Of each row, as many columns as are not left out meet all of the other dimension.
  const bool sums_end = causal_.matrix == Causal::Matrix::Left;
  const std::int64_t columns = sums_end ? product_.k : product_.n,
                     others = sums_end ? product_.n : product_.k;
  std::int64_t met = rows_.rows * columns;
  if (causal_.matrix != Causal::Matrix::None) {
    met = 0;
    for (std::int64_t row = 0; row < rows_.rows; ++row) met += std::min(causal_.end(row), columns);
  }
  return {.macs = static_cast<std::uint64_t>(rows_.batches * met * others), .product = true};
}

/// Neighbouring items share the tiles of a group.
void ProductCall::run(std::span<const DeviceView> operands, std::int64_t first, std::int64_t last,
                      std::span<std::byte> scratch) const {
  const Division d = division();
  const auto packed = scratch.first(batch_bytes().count);
  for (std::int64_t item = first; item < last; ++item) {
    const std::int64_t panel = item % d.panels, group = item / d.panels % d.groups,
                       batch = item / d.panels / d.groups;
    const TileRange tiles{group * d.group_tiles,
                          std::min((group + 1) * d.group_tiles, product_.tiles())};
    if (keeps() && (item == first || panel == 0)) pack(operands, batch, tiles, packed);
    run_tiles(operands, {batch, rows_.rows * panel / d.panels, rows_.rows * (panel + 1) / d.panels},
              tiles, packed, scratch.subspan(packed.size()));
  }
}

void ProductCall::run_rows(std::span<const DeviceView> operands, const RowPanel& panel,
                           std::span<const std::byte> prepared,
                           std::span<std::byte> scratch) const {
  run_tiles(operands, panel, {0, product_.tiles()}, prepared, scratch);
}

Bytes ProductCall::row_scratch() const {
  const Bytes left = product_.left_bytes(1);  // rows come in turns
  return right_ != Right::Plain || keeps() ? left
                                           : left + std::max(kKeptTiles, product_.tile_bytes());
}

void ProductCall::prepare_batch(std::span<const DeviceView> operands, std::int64_t batch,
                                std::span<std::byte> prepared) const {
  if (keeps()) pack(operands, batch, {0, product_.tiles()}, prepared);
}

Bytes ProductCall::batch_bytes() const {
  const Bytes bytes = product_.packed_bytes();
  return right_ == Right::Plain && bytes <= kKeptTiles ? bytes.rounded_up(kAlignment) : Bytes{};
}

void ProductCall::pack(std::span<const DeviceView> operands, std::int64_t batch, TileRange tiles,
                       std::span<std::byte> packed) const {
  product_.pack(matrix_of(operands[1], batch), tiles.first, tiles.last, packed.data());
}

void ProductCall::run_tiles(std::span<const DeviceView> operands, const RowPanel& panel,
                            TileRange tiles, std::span<const std::byte> packed,
                            std::span<std::byte> scratch) const {
  const std::uint64_t tile_bytes = product_.tile_bytes().count;
  if (right_ == Right::InPlace)
    return multiply(operands, panel,
                    product_.tiles_in_place(matrix_of(operands[1], panel.batch), tiles.first),
                    tiles, scratch);
  if (right_ == Right::Packed)
    return multiply(operands, panel,
                    product_.packed_tiles(packed_of(operands[1], panel.batch) +
                                          tile_bytes * static_cast<std::uint64_t>(tiles.first)),
                    tiles, scratch);
  if (keeps())
    return multiply(operands, panel, product_.packed_tiles(packed.data()), tiles, scratch);
  const auto at_a_time = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(kKeptTiles.count / std::max<std::uint64_t>(1, tile_bytes)));
  for (std::int64_t tile = tiles.first; tile < tiles.last; tile += at_a_time) {
    const TileRange some{tile, std::min(tile + at_a_time, tiles.last)};
    const Bytes used =
        Bytes{tile_bytes * static_cast<std::uint64_t>(some.last - tile)}.rounded_up(kAlignment);
    pack(operands, panel.batch, some, scratch);
    multiply(operands, panel, product_.packed_tiles(scratch.data()), some,
             scratch.subspan(used.count));
  }
}

void ProductCall::multiply(std::span<const DeviceView> operands, const RowPanel& panel,
                           const RightTiles& right, TileRange tiles,
                           std::span<std::byte> scratch) const {
  if (causal_.matrix != Causal::Matrix::None)
    return multiply_causal(operands, panel, right, tiles, scratch);
  multiply_rows(product_, operands, panel, right, tiles, scratch);
}

void ProductCall::multiply_rows(const Product& product, std::span<const DeviceView> operands,
                                const RowPanel& panel, const RightTiles& right, TileRange tiles,
                                std::span<std::byte> scratch) {
  MatrixView left = matrix_of(operands[0], panel.batch), out = matrix_of(operands[2], panel.batch);
  left.data += panel.first * left.row_stride * operands[0].element_size;
  out.data += panel.first * out.row_stride * operands[2].element_size;
  product.multiply(left, panel.last - panel.first, right, tiles.first, tiles.last, out, scratch);
}

void ProductCall::multiply_causal(std::span<const DeviceView> operands, const RowPanel& panel,
                                  const RightTiles& right, TileRange tiles,
                                  std::span<std::byte> scratch) const {
  RowPanel block = panel;
  for (; block.first < panel.last; block.first = block.last) {
    const std::int64_t end = causal_.end(block.first);
    block.last = std::min(end - causal_.offset, panel.last);
    if (causal_.matrix == Causal::Matrix::Left) {
      Product shorter = product_;
      shorter.k = std::min(product_.k, end);
      multiply_rows(shorter, operands, block, right, tiles, scratch);
      continue;
    }
    const std::int64_t last = std::min(tiles.last, ceil_of(end, product_.tile_columns()));
    if (tiles.first < last)
      multiply_rows(product_, operands, block, right, {tiles.first, last}, scratch);
    hide(operands[2], block, tiles);
  }
}

/// Writes what stands there where the columns of these tiles are beyond their row.
void ProductCall::hide(const DeviceView& out, const RowPanel& panel, TileRange tiles) const {
  const MatrixView matrix = matrix_of(out, panel.batch);
  const std::int64_t first = tiles.first * product_.tile_columns(),
                     last = std::min(tiles.last * product_.tile_columns(), product_.n);
  with_element(product_.result, causal_.hidden, [&](auto hidden) {
    for (std::int64_t row = panel.first; row < panel.last; ++row) {
      auto* const values =
          reinterpret_cast<decltype(hidden)*>(matrix.data) + row * matrix.row_stride;
      if (const std::int64_t begin = std::max(first, row + causal_.offset + 1);
          matrix.column_stride == 1)
        std::fill(values + std::min(begin, last), values + last, hidden);
      else
        for (std::int64_t c = begin; c < last; ++c) values[c * matrix.column_stride] = hidden;
    }
  });
}

}  // namespace spyre::kernels
