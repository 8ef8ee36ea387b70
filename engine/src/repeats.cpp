// spyre/engine/repeats.cpp — repeat_interleave: how often each index is wanted is counted on the device, or told.
#include <ATen/Functions.h>
#include <ATen/Operators.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "spyre/engine/copy.h"
#include "spyre/engine/fallback.h"
#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;

/// A library operation: each index as often as the operand says, in a result of `size` elements. Another sum than that,
/// or a number below zero, is a fault. Immutable when recorded.
struct Repeats {
  std::int64_t size = 0;

  std::string_view name() const { return "aten::repeat_interleave"; }
  void describe(KeyWriter& key) const { key(size); }
  std::int64_t work_items() const { return 1; }
  kernels::LibraryCost cost() const {
    return {.macs = 0, .lane_ops = static_cast<std::uint64_t>(size)};
  }
  bool may_fault() const { return true; }
  void run(Tensors operands, std::int64_t /*first*/, std::int64_t /*last*/) const {
    operands[1].copy_(at::_ops::repeat_interleave_Tensor::call(operands[0], c10::SymInt(size)));
  }
};

/// Nothing to give is not recorded, and CPU checks that it is right.
bool serves(const Tensor& repeats, std::optional<std::int64_t> size) {
  const c10::ScalarType type = repeats.scalar_type();
  return repeats.is_privateuseone() && repeats.layout() == at::kStrided && repeats.dim() == 1 &&
         (type == at::kLong || type == at::kInt) && (!size || *size > 0);
}

/// Waits for the device.
std::int64_t sum_of(const Tensor& repeats) {
  const Tensor sum = repeats.sum(), low = repeats.min().to(at::kLong);
  TORCH_CHECK(read_count(low).value_or(0) >= 0, "repeats can not be negative");
  return read_count(sum).value_or(0);
}

Tensor repeat_interleave(const Tensor& repeats, std::optional<std::int64_t> size) {
  if (!serves(repeats, size))
    return on_host<ATEN_OP2(repeat_interleave, Tensor)>::call(repeats, size);
  const bool none = repeats.numel() == 0;
  const std::int64_t count = none ? 0 : size ? *size : sum_of(repeats);
  const Tensor out = at::empty({count}, repeats.options());
  record_library(Repeats{count}, {&repeats}, {&out});
  return out;
}

}  // namespace

void register_repeats(Registrations& registrations) {
  registrations.add_function<&repeat_interleave>("repeat_interleave.Tensor");
}

}  // namespace spyre::engine
