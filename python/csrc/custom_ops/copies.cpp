// python/csrc/custom_ops/copies.cpp — copies, writes into a part of a tensor, new tensors.
//
// A view knows its offset here, so upstream's explicit offsets are only checked.
#include <ATen/Functions.h>
#include <torch/library.h>

#include <array>
#include <optional>

namespace spyre::python {
namespace {

using at::Tensor;

void check_offset(const Tensor& tensor, const c10::SymInt& offset, const char* which) {
  TORCH_CHECK_VALUE(offset == 0 || offset == tensor.sym_storage_offset(),
                    "spyre::copy_from_d2d: ", which, " begins at element ",
                    tensor.sym_storage_offset(), " of its storage; got ", offset);
}

void copy_from_d2d(const Tensor& src, Tensor& dst, c10::SymInt src_off, c10::SymInt dst_off) {
  check_offset(src, src_off, "src");
  check_offset(dst, dst_off, "dst");
  dst.copy_(src);
}

void copy_forced(const Tensor& src, Tensor& dst) { dst.copy_(src); }

/// The caller goes on with the result in place of `acc`.
Tensor opaque_copy(const Tensor& value, const Tensor& /*acc*/) { return value.clone(); }

/// output[..., offsets[i] : offsets[i] + input.size(dims[i]), ...] = input
void overwrite(const Tensor& input, Tensor& output, c10::IntArrayRef dims,
               c10::SymIntArrayRef offsets) {
  TORCH_CHECK_VALUE(dims.size() == offsets.size(), "spyre::overwrite: expected an offset for each ",
                    "of ", dims.size(), " dimensions; got ", offsets.size());
  Tensor part = output;
  for (std::size_t i = 0; i < dims.size(); ++i)
    part = part.narrow_symint(dims[i], offsets[i], input.sym_size(dims[i]));
  TORCH_CHECK_VALUE(part.sym_sizes().equals(input.sym_sizes()), "spyre::overwrite: an input of ",
                    input.sym_sizes(), " does not fill a part of ", part.sym_sizes());
  part.copy_(input);
}

Tensor overwrite_f(const Tensor& input, const Tensor& output, c10::IntArrayRef dims,
                   c10::SymIntArrayRef offsets) {
  Tensor result = output.clone();
  overwrite(input, result, dims, offsets);
  return result;
}

/// Which dimension lies in sticks is a matter of layouts; the values stay.
Tensor restickify(const Tensor& x) { return x.clone(); }

Tensor reshaped(const Tensor& input, c10::SymIntArrayRef shape) {
  return input.reshape_symint(shape).clone();
}

Tensor converted(const Tensor& input, c10::ScalarType dtype) {
  return input.to(dtype, /*non_blocking=*/false, /*copy=*/true);
}

/// Each stick of 64 halves as fp32todl16 leaves it: four of its first half, four of its second, and
/// so on. Restores their order.
Tensor stagger_to_standard(const Tensor& x) {
  TORCH_CHECK_VALUE(x.dim() > 0 && x.sym_size(-1) % 64 == 0,
                    "spyre::stagger_to_standard_ea: expected whole sticks of 64 elements; got a ",
                    "tensor of ", x.sym_sizes());
  const std::array<c10::SymInt, 4> parts{x.sym_size(-1) / 64, 8, 2, 4};
  const Tensor staggered = x.unflatten_symint(-1, parts);
  return staggered.transpose(-3, -2).clone(at::MemoryFormat::Contiguous).view_symint(x.sym_sizes());
}

Tensor empty(c10::SymIntArrayRef size, c10::Device device, std::optional<c10::ScalarType> dtype) {
  return at::empty_symint(size, at::TensorOptions().device(device).dtype(dtype));
}

c10::Scalar constant(const c10::Scalar& fill_value, c10::ScalarType /*dtype*/,
                     c10::Device /*device*/) {
  return fill_value;
}

TORCH_LIBRARY_FRAGMENT(spyre, m) {
  m.def("copy_from_d2d(Tensor src, Tensor(a!) dst, SymInt src_off=0, SymInt dst_off=0) -> ()",
        &copy_from_d2d);
  m.def("copy_forced(Tensor src, Tensor(a!) dst) -> ()", &copy_forced);
  m.def("opaque_copy_(Tensor value, Tensor acc) -> Tensor", &opaque_copy);
  m.def("overwrite(Tensor input, Tensor(a!) output, int[] dims, SymInt[] offsets) -> ()",
        &overwrite);
  m.def("overwrite_f(Tensor input, Tensor output, int[] dims, SymInt[] offsets) -> Tensor",
        &overwrite_f);
  m.def("restickify(Tensor x) -> Tensor", &restickify);
  m.def("reshape_via_cpu(Tensor input, SymInt[] shape) -> Tensor", &reshaped);
  m.def("to_dtype_cpu(Tensor input, ScalarType dtype) -> Tensor", &converted);
  m.def("stagger_to_standard_ea(Tensor x) -> Tensor", &stagger_to_standard);
  m.def("empty(SymInt[] size, Device device, ScalarType? dtype=None) -> Tensor", &empty);
  m.def("constant(Scalar fill_value, ScalarType dtype, Device device) -> Scalar", &constant);
}

}  // namespace
}  // namespace spyre::python
