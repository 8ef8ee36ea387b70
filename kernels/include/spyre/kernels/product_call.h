// spyre/kernels/product_call.h — matrix products as the compute queue runs them.
#pragma once
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
  Product product_;
  std::int64_t matrices_;
};

/// [rows, k] x [k, n], or a batch of them. The right operand comes from PackCall, or, if few rows
/// use it, as it is. Immutable.
class ProductCall final : public LibraryCall {
 public:
  enum class Right : std::uint8_t { Packed, Plain };
  ProductCall(const Product& product, RowSpace rows, Right right)
      : product_(product), rows_(rows), right_(right) {}

  /// More rows than this are worth a PackCall.
  static constexpr std::int64_t kPlainRows = 96;

  std::string_view name() const override { return rows_.batches == 1 ? "mm" : "bmm"; }
  std::int64_t work_items() const override;
  void run(std::span<const DeviceView> operands, std::int64_t first, std::int64_t last,
           std::span<std::byte> scratch) const override;
  LibraryCost cost() const override;
  std::optional<RowSpace> row_space() const override { return rows_; }
  void run_rows(std::span<const DeviceView> operands, const RowPanel& panel,
                std::span<std::byte> scratch) const override;
  Bytes row_scratch() const override;

 private:
  /// Panels of rows by groups of column tiles.
  struct Division {
    std::int64_t panels = 1, groups = 1, group_tiles = 1;
  };
  Division division() const;
  void run_tiles(std::span<const DeviceView> operands, const RowPanel& panel, std::int64_t first,
                 std::int64_t last, std::span<std::byte> scratch) const;

  Product product_;
  RowSpace rows_;
  Right right_;
};

}  // namespace spyre::kernels
