// spyre/engine/cat.cpp — concatenation: one copy for each piece.
#include <ATen/MemoryOverlap.h>
#include <ATen/Operators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/TensorShape.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>
#include <array>

#include "spyre/engine/operators.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/schema_library.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;

/// Empty vectors have always been ignored.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

bool serves(const at::MaterializedITensorListRef& tensors, c10::ScalarType type) {
  return native_type(type) && std::ranges::all_of(tensors, [](const Tensor& t) {
           return native_type(t.scalar_type()) && t.dim() > 0 &&
                  t.dim() < static_cast<std::int64_t>(kMaxRank);
         });
}

c10::MemoryFormat common_format(std::span<const Tensor> pieces) {
  const auto format = pieces.front().suggest_memory_format();
  const bool agreed = std::ranges::all_of(
      pieces, [&](const Tensor& t) { return t.suggest_memory_format() == format; });
  return agreed ? format : c10::MemoryFormat::Contiguous;
}

Tensor cat(const at::ITensorListRef& list, std::int64_t dim) {
  const auto tensors = list.materialize();
  if (tensors.empty()) return as_library<ATEN_OP(cat)>::call(list, dim);
  std::vector<Tensor> pieces;
  std::vector<const Tensor*> all;
  for (const Tensor& t : tensors) {
    all.push_back(&t);
    if (!is_skipped(t)) pieces.push_back(t);
  }
  const auto on_device =
      std::ranges::find_if(all, [](const Tensor* t) { return t->is_privateuseone(); });
  check_same_device(all, (on_device == all.end() ? all.front() : *on_device)->device());
  const c10::ScalarType type = at::native::result_type(list);
  if (!serves(tensors, type)) return as_library<ATEN_OP(cat)>::call(list, dim);
  if (pieces.empty()) return at::empty({0}, all.front()->options().dtype(type));

  dim = at::maybe_wrap_dim(dim, pieces.front().dim());
  std::vector<std::int64_t> sizes = pieces.front().sizes().vec();
  sizes[static_cast<std::size_t>(dim)] = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    at::native::check_cat_shape_except_dim(pieces.front(), pieces[i], dim,
                                           static_cast<std::int64_t>(i));
    sizes[static_cast<std::size_t>(dim)] += pieces[i].size(dim);
  }
  const Tensor out =
      at::empty(sizes, pieces.front().options().dtype(type).memory_format(common_format(pieces)));
  std::int64_t start = 0;
  for (const Tensor& piece : pieces) {
    const DType from = *native_type(piece.scalar_type());
    const std::array<Operand, 1> operands{piece};
    record_pointwise({words().copy, from, *native_type(type)}, operands,
                     out.narrow(dim, start, piece.size(dim)));
    start += piece.size(dim);
  }
  return out;
}

Tensor& cat_out(const at::ITensorListRef& list, std::int64_t dim, Tensor& out) {
  at::assert_no_internal_overlap(out);
  for (const Tensor& t : list) at::assert_no_overlap(out, t);
  TORCH_CHECK_TYPE(list.empty() || c10::canCast(at::native::result_type(list), out.scalar_type()),
                   "torch.cat(): input types can't be cast to the desired output type ",
                   out.scalar_type());
  const Tensor joined = engine::cat(list, dim);
  check_same_device(std::array{&out}, joined.device());
  resize_output(out, dims_of(joined.sizes()), dims_of(joined.strides()));
  return out.copy_(joined);
}

}  // namespace

void register_assembly(Registrations& registrations) {
  registrations.add_overload<&cat>("cat");
  registrations.add_overload<&cat_out>("cat.out");
}

}  // namespace spyre::engine
