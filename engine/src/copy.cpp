// spyre/engine/copy.cpp — every copy is one of four: up, down, across a card, from card to card.
//
// Transfers move dense bytes of one type. Type conversion and conjugation happen on the CPU side of a transfer, so that
// they give the CPU's bits; other layouts are gathered and scattered on the device by a recorded copy. Across the
// device, types without a native form travel as others of their size, whose bits stay whatever the numerics, or are
// converted by a library operation. From card to card go dense bytes as well; what is more than that happens across
// one of the two cards.
#include "spyre/engine/copy.h"

#include <ATen/Dispatch_v2.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/empty_strided.h>
#include <torch/library.h>

#include <array>

#include "converting_copy.h"
#include "spyre/base/dims.h"
#include "spyre/engine/card_numbers.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/host_view.h"
#include "spyre/engine/pinned_memory.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/source.h"
#include "spyre/engine/storage.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() &&
         (a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous()));
}

Bytes offset_of(const at::Tensor& tensor) {
  return {static_cast<std::uint64_t>(tensor.storage_offset()) * tensor.itemsize()};
}

/// The same memory as elements that the device can move: native types as they are, others as types of their size of
/// which every bit is kept. int64 is none with the card's numbers.
at::Tensor movable(const at::Tensor& tensor) {
  if (native_type(tensor.scalar_type()).has_value()) return tensor;
  constexpr std::size_t kWide = 16;  // complex128: two float64 each
  if (tensor.itemsize() == kWide) {
    auto sizes = tensor.sizes().vec(), strides = tensor.strides().vec();
    for (std::int64_t& stride : strides) stride *= 2;
    sizes.push_back(2);
    strides.push_back(1);
    return alias(tensor, at::kDouble, sizes, strides, tensor.storage_offset() * 2);
  }
  constexpr std::array kBySize{at::kByte, at::kShort, at::kInt, at::kDouble};
  const auto log2 = static_cast<std::size_t>(std::countr_zero(tensor.itemsize()));
  return alias(tensor, kBySize.at(log2), tensor.sizes(), tensor.strides(), tensor.storage_offset());
}

void record_copy(const at::Tensor& source, const at::Tensor& target) {
  const DType from = *native_type(source.scalar_type()), to = *native_type(target.scalar_type());
  const std::array<Operand, 1> operands{source};
  record_pointwise({.op = words().copy, .compute = from, .result = to}, operands, target);
}

bool device_can_copy(const at::Tensor& source, const at::Tensor& target) {
  const bool native = native_type(source.scalar_type()).has_value() &&
                      native_type(target.scalar_type()).has_value();
  return same_bits(source, target) && target.dim() < static_cast<std::int64_t>(kMaxRank) &&
         (native || source.scalar_type() == target.scalar_type());
}

void copy_across(const at::Tensor& source, const at::Tensor& target) {
  if (device_can_copy(source, target)) return record_copy(movable(source), movable(target));
  if (record_converting_copy(source, target)) return;
  HostViews views;
  views.view(target).copy_(views.view(source));
  lazy_device(target).price_host_work(current_stream(target.device()), {source.nbytes()},
                                      {target.nbytes()});
}

/// A dense tensor of the same values and type on the device: the tensor itself if it is dense.
at::Tensor dense(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return tensor;
  at::Tensor copy = empty(tensor.sizes(), tensor.scalar_type(), tensor.device());
  copy._set_conj(tensor.is_conj());
  copy._set_neg(tensor.is_neg());
  copy_across(tensor, copy);
  return copy;
}

bool may_transfer_directly(const at::Tensor& host, const at::Tensor& device) {
  return host.scalar_type() == device.scalar_type() && same_bits(host, device) &&
         same_layout(host, device);
}

/// As TensorIterator says it.
at::Tensor broadcast_to(const at::Tensor& source, const at::Tensor& target) {
  if (source.sizes() == target.sizes()) return source;
  const auto shape = at::infer_size_dimvector(target.sizes(), source.sizes());
  TORCH_CHECK(target.sizes() == c10::IntArrayRef(shape), "output with shape ", target.sizes(),
              " doesn't match the broadcast shape ", c10::IntArrayRef(shape));
  return source.expand(target.sizes());
}

/// A dense tensor of these sizes on `device`, of the type and the bits of `like`.
at::Tensor dense_like(const at::Tensor& like, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                      c10::Device device) {
  at::Tensor tensor = empty_strided(sizes, strides, like.scalar_type(), device);
  tensor._set_conj(like.is_conj());
  tensor._set_neg(like.is_neg());
  return tensor;
}

/// Whether its elements are one range of the bytes that its buffer holds.
bool is_one_range(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && !buffer_of(tensor).is_tiled();
}

/// What is sent lands in the target itself, or beside it if it is to be broadcast, widened or scattered there.
at::Tensor landing_for(const at::Tensor& source, const at::Tensor& target) {
  if (source.sizes() == target.sizes() && target.itemsize() <= source.itemsize() &&
      is_one_range(target))
    return target;
  const at::Tensor& narrow = target.itemsize() <= source.itemsize() ? target : source;
  return dense_like(narrow, source.sizes(), as_array(contiguous_strides(dims_of(source.sizes()))),
                    target.device());
}

void copy_to_peer(const at::Tensor& source, const at::Tensor& target) {
  const at::Tensor landing = landing_for(source, target);
  at::Tensor sent = source;
  if (!may_transfer_directly(source, landing) || !is_one_range(source)) {
    sent = dense_like(landing, landing.sizes(), landing.strides(), source.device());
    copy_across(source, sent);
  }
  lazy_device(sent).copy_to_peer(current_stream(sent.device()), {buffer_of(sent), offset_of(sent)},
                                 current_stream(landing.device()),
                                 {buffer_of(landing), offset_of(landing)}, {landing.nbytes()});
  if (!landing.is_same(target)) copy_across(broadcast_to(landing, target), target);
}

at::Tensor host_tensor_like(const at::Tensor& tensor) {
  at::Tensor host =
      at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
  host._set_conj(tensor.is_conj());
  host._set_neg(tensor.is_neg());
  return host;
}

void upload(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  std::shared_ptr<const void> keep = non_blocking ? pinned_block(source.const_data_ptr()) : nullptr;
  const bool blocking = keep == nullptr;
  lazy_device(target).upload(current_stream(target.device()), buffer_of(target), offset_of(target),
                             static_cast<const std::byte*>(source.const_data_ptr()),
                             {target.nbytes()}, blocking, std::move(keep));
}

void download(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  std::shared_ptr<const void> keep = non_blocking ? pinned_block(target.const_data_ptr()) : nullptr;
  const bool blocking = keep == nullptr;
  lazy_device(source).download(
      current_stream(source.device()), buffer_of(source), offset_of(source),
      static_cast<std::byte*>(target.mutable_data_ptr()), {source.nbytes()},
      lazy::FlushReason::DeviceToHost, blocking, std::move(keep));
}

void copy_up(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  if (!target.is_non_overlapping_and_dense()) {
    at::Tensor staged = empty(target.sizes(), target.scalar_type(), target.device());
    staged._set_conj(target.is_conj());
    staged._set_neg(target.is_neg());
    copy_up(source, staged, non_blocking);
    return copy_across(staged, target);
  }
  if (may_transfer_directly(source, target)) {
    upload(source, target, non_blocking);
  } else {
    const at::Tensor converted_source = host_tensor_like(target);
    converted_source.copy_(source);
    upload(converted_source, target, false);
  }
  round_to_card(target);
}

void copy_down(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  const at::Tensor from = dense(source);
  if (may_transfer_directly(target, from)) return download(from, target, non_blocking);
  const at::Tensor landed = host_tensor_like(from);
  download(from, landed, false);
  target.copy_(landed);
}

/// True if both are the same elements in the same places: such a copy does nothing, as on CPU.
bool is_same_view(const at::Tensor& a, const at::Tensor& b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides() && a.scalar_type() == b.scalar_type() &&
         a.is_conj() == b.is_conj() && a.is_neg() == b.is_neg();
}

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  TORCH_CHECK(source.defined() && target.defined(), "copy_: source and target must be defined");
  if (source._is_zerotensor()) return at::Tensor(target).zero_();
  const at::Tensor from = broadcast_to(source, target);
  if (target.numel() == 0 || is_same_view(from, target)) return target;
  at::assert_no_internal_overlap(target);
  if (!target.is_privateuseone()) copy_down(from, target, non_blocking);
  else if (!from.is_privateuseone()) copy_up(from, target, non_blocking);
  else if (from.device() == target.device()) copy_across(from, target);
  else copy_to_peer(source, target);
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  target.resize_(source.sizes());
  return copy_from(source, target, false);
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(),
              " elements cannot be converted to Scalar");
  alignas(16) std::array<std::byte, 16> value{};
  lazy_device(self).download(current_stream(self.device()), buffer_of(self), offset_of(self),
                             value.data(), {self.itemsize()}, lazy::FlushReason::Item);
  at::Scalar scalar;
  AT_DISPATCH_V2(
      self.scalar_type(), "_local_scalar_dense",
      AT_WRAP([&] { scalar = at::Scalar(*reinterpret_cast<const scalar_t*>(value.data())); }),
      AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES), at::kComplexHalf, at::kHalf, at::kBool,
      at::kBFloat16, AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), AT_EXPAND(AT_FLOAT8_TYPES));
  return scalar;
}

}  // namespace

void copy_from_host(const at::Tensor& source, const at::Tensor& target) {
  if (target.numel() != 0) copy_up(source, target, false);
}

at::Tensor host_copy(const at::Tensor& tensor) {
  at::Tensor host = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  if (tensor.numel() != 0) copy_down(tensor, host, false);
  return host;
}

std::optional<std::int64_t> read_count(const at::Tensor& count) {
  ensure(count.scalar_type() == at::kLong && count.numel() == 1, "a count is one int64");
  std::int64_t value = 0;
  lazy::Device& device = lazy_device(count);
  device.download(current_stream(count.device()), buffer_of(count), offset_of(count),
                  reinterpret_cast<std::byte*>(&value), Bytes{sizeof value},
                  lazy::FlushReason::DataDependent);
  if (device.settings().execution == kernels::Execution::Null) return std::nullopt;
  return value;
}

void copy_bytes(c10::Device device, lazy::Buffer& source, lazy::Buffer& target, Bytes length) {
  const std::int64_t count = static_cast<std::int64_t>(length.count), stride = 1;
  const lazy::Input input =
      lazy::Input::of({.buffer = &source, .dtype = DType::U8, .strides = {&stride, 1}});
  source.device().record(
      current_stream(device),
      lazy::Pointwise{.op = words().copy,
                      .compute = DType::U8,
                      .result = DType::U8,
                      .sizes = {&count, 1},
                      .inputs = {&input, 1},
                      .output = {.buffer = &target, .dtype = DType::U8, .strides = {&stride, 1}},
                      .source = recorded_source(false)});
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", guarded<&copy_from>);
  m.impl("_copy_from_and_resize", guarded<&copy_from_and_resize>);
  m.impl("_local_scalar_dense", guarded<&local_scalar_dense>);
}

// The copy itself honours the bits; the keys' own kernels would clone, which copies, which …
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace spyre::engine
