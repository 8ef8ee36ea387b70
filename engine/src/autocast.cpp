// spyre/engine/autocast.cpp — which operators torch.autocast("spyre") casts, by PyTorch's own shared lists.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace spyre::engine {

// The lists name these without their namespace.
using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;

#define SPYRE_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define SPYRE_FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define SPYRE_FLOAT32_SET_OPTION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define SPYRE_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(SPYRE_LOWER_PRECISION)
  AT_FORALL_FP32(SPYRE_FLOAT32)
  AT_FORALL_FP32_SET_OPT_DTYPE(SPYRE_FLOAT32_SET_OPTION)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(SPYRE_PROMOTE)
}

#undef SPYRE_LOWER_PRECISION
#undef SPYRE_FLOAT32
#undef SPYRE_FLOAT32_SET_OPTION
#undef SPYRE_PROMOTE

}  // namespace spyre::engine
