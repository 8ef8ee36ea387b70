// spyre/kernels/product_call.h — matrix products as the compute queue runs them.
#pragma once
#include <limits>

#include "spyre/kernels/library.h"
#include "spyre/kernels/product.h"

namespace spyre::kernels {

/// Right operands [k, n] or [batch, k, n] -> a row of packed bytes for each matrix. Done once where
/// several panels of rows use them; the card's matrix units need no such thing, so it costs nothing
/// on its clock. Immutable.
class PackCall final : public LibraryCall {
 public:
  PackCall(const Product& product, std::int64_t matrices)
      : product_(product), matrices_(matrices) {}
  std::string_view name() const override { return "pack"; }
  std::int64_t work_items() const override;
  void run(std::span<const DeviceView> operands, std::int64_t first, std::int64_t last,
           std::span<std::byte> scratch) const override;
  LibraryCost cost() const override { return {.on_card = false}; }

 private:
  std::int64_t tiles_an_item() const;

  Product product_;
  std::int64_t matrices_;
};

/// What a product of causal attention leaves out: of its result or its left operand, the columns c of
/// row r with c > r + offset.
struct Causal {
  enum class Matrix : std::uint8_t {
    None,
    Result,  // `hidden` stands there
    Left,    // 0 stands there. Blocks of rows share where their sums end, so not all are left out:
             // infinity or NaN on the right may give NaN to rows of a block that do not reach it
  };
  Matrix matrix{};
  std::int64_t offset = 0;  // not negative
  float hidden = -std::numeric_limits<float>::infinity();

  /// Of row r, columns from here on are left out: a function of r alone, whatever panel it is in.
  std::int64_t end(std::int64_t row) const { return ((row + offset) / kRows + 1) * kRows; }
  static constexpr std::int64_t kRows = 32;  // some tiles of rows, that end at the same column
};

/// [rows, k] x [k, n], or a batch of them. Immutable.
class ProductCall final : public LibraryCall {
 public:
  /// The right operand comes from PackCall; as it is, to be packed by the core that needs it; or as
  /// the inner loop can read it.
  enum class Right : std::uint8_t { Packed, Plain, InPlace };
  ProductCall(const Product& product, RowSpace rows, Right right, Causal causal = {})
      : product_(product), rows_(rows), right_(right), causal_(causal) {}

  /// More rows than this are worth packing once for all of them: by a PackCall,
  static constexpr std::int64_t kPlainRows = 96;
  /// or, if the matrix of a batch takes no more than this, in the scratchpad of each core that
  /// works on the batch. Larger ones are packed anew for each panel.
  static constexpr Bytes kKeptTiles{512 << 10};

  std::string_view name() const override { return rows_.batches == 1 ? "mm" : "bmm"; }
  std::int64_t work_items() const override;
  void run(std::span<const DeviceView> operands, std::int64_t first, std::int64_t last,
           std::span<std::byte> scratch) const override;
  LibraryCost cost() const override;
  std::optional<RowSpace> row_space() const override { return rows_; }
  void run_rows(std::span<const DeviceView> operands, const RowPanel& panel,
                std::span<const std::byte> prepared, std::span<std::byte> scratch) const override;
  Bytes row_scratch() const override;
  void prepare_batch(std::span<const DeviceView> operands, std::int64_t batch,
                     std::span<std::byte> prepared) const override;
  Bytes batch_bytes() const override;

 private:
  /// Groups of column tiles by panels of rows.
  struct Division {
    std::int64_t panels = 1, groups = 1, group_tiles = 1;
  };
  /// Neighbouring tiles of columns.
  struct TileRange {
    std::int64_t first = 0, last = 0;
  };
  Division division() const;
  bool keeps() const { return batch_bytes().count != 0; }
  void pack(std::span<const DeviceView> operands, std::int64_t batch, TileRange tiles,
            std::span<std::byte> packed) const;
  /// `packed`: those tiles, if keeps().
  void run_tiles(std::span<const DeviceView> operands, const RowPanel& panel, TileRange tiles,
                 std::span<const std::byte> packed, std::span<std::byte> scratch) const;
  void multiply(std::span<const DeviceView> operands, const RowPanel& panel,
                const RightTiles& right, TileRange tiles, std::span<std::byte> scratch) const;
  static void multiply_rows(const Product& product, std::span<const DeviceView> operands,
                            const RowPanel& panel, const RightTiles& right, TileRange tiles,
                            std::span<std::byte> scratch);
  void multiply_causal(std::span<const DeviceView> operands, const RowPanel& panel,
                       const RightTiles& right, TileRange tiles,
                       std::span<std::byte> scratch) const;
  void hide(const DeviceView& out, const RowPanel& panel, TileRange tiles) const;

  Product product_;
  RowSpace rows_;
  Right right_;
  Causal causal_;
};

}  // namespace spyre::kernels
