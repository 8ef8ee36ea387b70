// spyre/engine/views.cpp — views are metadata over one storage. PyTorch's other view operators are composites of these.
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "spyre/engine/error_boundary.h"

namespace spyre::engine {
namespace {

/// PyTorch asks before it swaps a parameter's data in place; "no" would untie shared parameters in module.to().
bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  return self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set()) ||
         (self.layout() == from.layout() && self.layout() == c10::kStrided &&
          (self.is_privateuseone() || self.is_cpu()) && (from.is_privateuseone() || from.is_cpu()));
}

// Nothing to note: traces hold references to what they use on any stream, and launches until they
// are done, so memory is not reused before.
void record_stream(at::Tensor&, c10::Stream) {}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("as_strided", guarded<&at::native::as_strided_tensorimpl>);
  m.impl("view", guarded<&at::native::view>);
  m.impl("_reshape_alias", guarded<&at::native::_reshape_alias>);
  m.impl("unfold", guarded<&at::native::unfold>);
  m.impl("view_as_real", guarded<&at::native::view_as_real>);
  m.impl("view_as_complex", guarded<&at::native::view_as_complex>);
  m.impl("_has_compatible_shallow_copy_type", guarded<&has_compatible_shallow_copy_type>);
  m.impl("record_stream", guarded<&record_stream>);
}

}  // namespace spyre::engine
