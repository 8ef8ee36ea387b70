// spyre/engine/converting_copy.cpp — one CPU kernel; the bits of its operands travel in the call.
#include "converting_copy.h"

#include "spyre/base/dims.h"
#include "spyre/engine/library_op.h"

namespace spyre::engine {
namespace {

/// Whether a tensor's elements are stored as their conjugate or negative.
struct StoredAs {
  bool conjugate = false, negative = false;
  explicit StoredAs(const at::Tensor& tensor)
      : conjugate(tensor.is_conj()), negative(tensor.is_neg()) {}
  void mark(const at::Tensor& tensor) const {
    tensor._set_conj(conjugate);
    tensor._set_neg(negative);
  }
};

struct ConvertingCopy {
  StoredAs source, target;
  std::uint64_t elements;

  std::string_view name() const { return "copy_"; }
  void describe(KeyWriter& key) const {
    key(source.conjugate, source.negative, target.conjugate, target.negative);
  }
  std::int64_t work_items() const { return 1; }
  kernels::LibraryCost cost() const { return {.macs = 0, .lane_ops = elements}; }
  void run(Tensors operands, std::int64_t /*first*/, std::int64_t /*last*/) const {
    source.mark(operands[0]);
    target.mark(operands[1]);
    operands[1].copy_(operands[0]);
  }
};

}  // namespace

bool record_converting_copy(const at::Tensor& source, const at::Tensor& target) {
  const bool drops_imaginary_part = source.is_complex() && !target.is_complex();
  if (drops_imaginary_part || source.is_alias_of(target) ||
      target.dim() > static_cast<std::int64_t>(kMaxRank))
    return false;
  record_library(ConvertingCopy{StoredAs(source), StoredAs(target),
                                static_cast<std::uint64_t>(target.numel())},
                 {&source}, {&target});
  return true;
}

}  // namespace spyre::engine
