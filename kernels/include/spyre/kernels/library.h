// spyre/kernels/library.h — operations whose code comes from elsewhere (matrix products, convolutions, sorts).
//
// They are recorded lazily and run in order on the compute queue. lazy/ and kernels/ know only this interface;
// engine/ implements it on libtorch.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

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
  virtual void run(std::span<const DeviceView> operands, std::int64_t first,
                   std::int64_t last) const = 0;
  virtual LibraryCost cost() const = 0;
};

}  // namespace spyre::kernels
