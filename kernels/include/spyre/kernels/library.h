// spyre/kernels/library.h — operations whose code comes from elsewhere (matrix products, convolutions, sorts).
//
// They are recorded lazily and run in order on the compute queue. lazy/ and kernels/ know only this interface;
// engine/ implements it on libtorch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "spyre/base/bytes.h"
#include "spyre/base/dims.h"
#include "spyre/base/dtype.h"

namespace spyre::kernels {

/// A strided tensor in device memory, addresses resolved. Strides in elements.
struct DeviceView {
  void* data = nullptr;
  std::uint8_t element_size = 0;
  std::uint8_t type_code = 0;  // the engine's own code for the element type (may lie outside DType)
  Dims sizes, strides;
};

/// What a library operation moves and computes, for the card's clock.
struct LibraryCost {
  std::uint64_t macs = 0;      // multiply-accumulates on the matrix units
  std::uint64_t lane_ops = 0;  // vector lane operations
  bool product = false;        // a matrix product: the result's last two sizes are its m and n
  bool on_card = true;         // false: only this machine needs it; the card's clock does not move
};

/// Rows that a call computes one by one: row r of batch b of its only output needs row r of batch b
/// of its first input, and the other inputs whole.
struct RowSpace {
  std::int64_t batches = 0, rows = 0;
  friend bool operator==(const RowSpace&, const RowSpace&) = default;
};

/// Some neighbouring rows of one batch.
struct RowPanel {
  std::int64_t batch = 0, first = 0, last = 0;
};

/// One recorded call. Owned by the plan, shared between its launches; immutable; run() may be called from
/// several threads, for disjoint item ranges of one launch.
class LibraryCall {
 public:
  virtual ~LibraryCall() = default;
  virtual std::string_view name() const = 0;
  /// Independent pieces; the split depends on the shapes alone (law 2). Usually 1.
  virtual std::int64_t work_items() const { return 1; }
  /// `operands`: inputs first, then outputs, in the order they were recorded. Throws; the fault sticks to the stream.
  /// `scratch`: the scratchpad of the core, 64-byte aligned.
  virtual void run(std::span<const DeviceView> operands, std::int64_t first, std::int64_t last,
                   std::span<std::byte> scratch) const = 0;
  virtual LibraryCost cost() const = 0;

  /// The rows that run_rows() computes one by one, if there are such.
  virtual std::optional<RowSpace> row_space() const { return std::nullopt; }
  /// What run() computes, of some rows. Any division into panels gives the bits of run(). Needs
  /// row_scratch() bytes of `scratch`, and what prepare_batch() has written for the panel's batch.
  virtual void run_rows(std::span<const DeviceView> /*operands*/, const RowPanel& /*panel*/,
                        std::span<const std::byte> /*prepared*/,
                        std::span<std::byte> /*scratch*/) const {}
  virtual Bytes row_scratch() const { return {}; }
  /// Arranges what all panels of a batch read alike, batch_bytes() of it: in a core's scratchpad,
  /// where panels of the same batch find it again.
  virtual void prepare_batch(std::span<const DeviceView> /*operands*/, std::int64_t /*batch*/,
                             std::span<std::byte> /*prepared*/) const {}
  virtual Bytes batch_bytes() const { return {}; }
};

}  // namespace spyre::kernels
