// spyre/engine/unit_range.cpp — a library operation that only looks.
#include "unit_range.h"

#include <ATen/Functions.h>

#include <string>

#include "spyre/engine/library_op.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

struct UnitRange {
  std::string_view op;
  std::string message;
  Panels panels;
  std::uint64_t elements = 0;

  std::string_view name() const { return op; }
  void describe(KeyWriter& key) const {
    key(std::string_view(message), panels.extent, panels.size);
  }
  bool may_fault() const { return true; }
  std::int64_t work_items() const { return panels.count(); }
  kernels::LibraryCost cost() const { return {.macs = 0, .lane_ops = 2 * elements}; }
  void run(Tensors operands, std::int64_t first, std::int64_t last) const {
    for (std::int64_t piece = first; piece < last; ++piece) {
      const at::Tensor part =
          operands[0].dim() == 0 ? operands[0] : panels.slice(operands[0], 0, piece);
      const at::Tensor inside = part.ge(0).logical_and_(part.le(1)).all();
      TORCH_CHECK(inside.item<bool>(), message);  // false for NaN, too
    }
  }
};

}  // namespace

void check_unit_range(const at::Tensor& values, std::string_view op, std::string_view message) {
  if (values.numel() == 0) return;
  // A node needs an output to have a place in the trace; nobody reads this one.
  const at::Tensor verdict = empty({1}, c10::kBool, values.device());
  constexpr std::int64_t kInnermost = -1;  // no dimension is special: the pieces are independent
  record_library(UnitRange{op, std::string(message), Panels::beside(kInnermost, values.sizes()),
                           static_cast<std::uint64_t>(values.numel())},
                 {&values}, {&verdict});
}

}  // namespace spyre::engine
