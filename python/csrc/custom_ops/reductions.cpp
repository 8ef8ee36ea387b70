// python/csrc/custom_ops/reductions.cpp — top k, and reductions that upstream sends to the host.
#include <ATen/Functions.h>
#include <torch/library.h>

#include <tuple>

namespace spyre::python {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

constexpr std::int64_t kMostFound = 128;

Pair topk(const Tensor& x, const c10::SymInt& k, std::int64_t dim) {
  TORCH_CHECK_VALUE(k <= kMostFound, "spyre::topk: a card finds at most ", kMostFound,
                    " values; got k = ", k);
  return at::topk_symint(x, k, dim);
}

Tensor topkvalue(const Tensor& x, c10::SymInt k, std::int64_t dim) {
  return std::get<0>(topk(x, k, dim));
}

/// Positions in the type of the values.
Tensor topkindex(const Tensor& x, c10::SymInt k, std::int64_t dim) {
  return std::get<1>(topk(x, k, dim)).to(x.scalar_type());
}

Pair max_dim(const Tensor& input, std::int64_t dim, bool keepdim) {
  return at::max(input, dim, keepdim);
}
Pair min_dim(const Tensor& input, std::int64_t dim, bool keepdim) {
  return at::min(input, dim, keepdim);
}
Tensor max_default(const Tensor& input) { return at::max(input); }
Tensor prod_dim_int(const Tensor& input, std::int64_t dim, bool keepdim) {
  return at::prod(input, dim, keepdim);
}

TORCH_LIBRARY_FRAGMENT(spyre, m) {
  m.def("topkvalue(Tensor x, SymInt k, int dim) -> Tensor", &topkvalue);
  m.def("topkindex(Tensor x, SymInt k, int dim) -> Tensor", &topkindex);
  m.def("max_dim_int64_fallback(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
        &max_dim);
  m.def("min_dim_int64_fallback(Tensor input, int dim, bool keepdim=False) -> (Tensor, Tensor)",
        &min_dim);
  m.def("max_default_int64_fallback(Tensor input) -> Tensor", &max_default);
  m.def("prod_dim_int(Tensor input, int dim, bool keepdim=False) -> Tensor", &prod_dim_int);
}

}  // namespace
}  // namespace spyre::python
