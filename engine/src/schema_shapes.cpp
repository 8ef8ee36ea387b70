// spyre/engine/schema_shapes.cpp — the geometry of an operator's results, from PyTorch's own rules, remembered.
#include "schema_shapes.h"

#include <ATen/Functions.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>

#include "spyre/base/error.h"

namespace spyre::engine {
namespace {

/// The trial run costs a CPU call: above this size only the shape function is asked.
constexpr std::int64_t kTrialElements = 1 << 20;

void append_raw(std::string& key, std::span<const std::int64_t> values) {
  key.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// The operator and its element types: what decides whether a CPU kernel exists.
std::string kind_key(const c10::OperatorHandle& op, const SchemaArguments& call) {
  std::string key = op.operator_name().name + '.' + op.operator_name().overload_name;
  for (const at::Tensor& t : call.tensors()) {
    key += static_cast<char>(t.scalar_type());
    key += static_cast<char>(t.dim());
  }
  return key;
}

std::string full_key(const std::string& kind, const SchemaArguments& call) {
  std::string key = kind + '|' + call.key();
  for (const at::Tensor& t : call.tensors()) {
    append_raw(key, {t.sizes().data(), t.sizes().size()});
    append_raw(key, {t.strides().data(), t.strides().size()});
  }
  return key;
}

torch::jit::Stack on_device_type(const SchemaArguments& call, c10::DeviceType type) {
  std::vector<at::Tensor> stand_ins;
  for (const at::Tensor& t : call.tensors()) {
    stand_ins.push_back(
        at::empty_strided(t.sizes(), t.strides(), t.options().device(type).requires_grad(false)));
    if (type == c10::DeviceType::CPU) stand_ins.back().zero_();
  }
  return call.with_tensors(stand_ins);
}

void append_geometry(const at::Tensor& t, ResultGeometries& results) {
  ResultGeometry geometry;
  geometry.defined = t.defined();
  if (t.defined()) {
    geometry.sizes.assign(t.sizes().begin(), t.sizes().end());
    geometry.strides.assign(t.strides().begin(), t.strides().end());
    geometry.type = t.scalar_type();
  }
  results.push_back(std::move(geometry));
}

ResultGeometries geometries_of(const torch::jit::Stack& returned) {
  ResultGeometries results;
  for (const c10::IValue& value : returned) {
    if (!value.isTensor() && !value.isNone())
      throw Unsupported("library operation: a result is not a tensor");
    append_geometry(value.isTensor() ? value.toTensor() : at::Tensor(), results);
  }
  return results;
}

bool small(const SchemaArguments& call) {
  return std::all_of(call.tensors().begin(), call.tensors().end(),
                     [](const at::Tensor& t) { return t.numel() <= kTrialElements; });
}

ResultGeometries run_on_cpu(const c10::OperatorHandle& op, const SchemaArguments& call) {
  torch::jit::Stack stack = on_device_type(call, c10::DeviceType::CPU);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  op.callBoxed(stack);
  return geometries_of(stack);
}

/// Zeros are valid indices unless nothing can be indexed; those complaints belong to the run.
void try_on_cpu(const c10::OperatorHandle& op, const SchemaArguments& call) {
  try {
    run_on_cpu(op, call);
  } catch (const c10::IndexError&) {  // data dependent: reported when the operation runs
  }
}

/// Where there is no shape function, or it complains, the CPU kernel has the first say.
ResultGeometries ask_meta(const c10::OperatorHandle& op, const SchemaArguments& call) {
  torch::jit::Stack stack = on_device_type(call, c10::DeviceType::Meta);
  try {
    op.callBoxed(stack);
  } catch (const std::exception&) { return run_on_cpu(op, call); }
  return geometries_of(stack);
}

}  // namespace

std::shared_ptr<const ResultGeometries> SchemaShapes::results(const c10::OperatorHandle& op,
                                                              const SchemaArguments& call) {
  const std::string kind = kind_key(op, call);
  const std::string key = full_key(kind, call);
  bool tried = false;
  {
    const Lock lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    tried = tried_.contains(kind);
  }
  auto results = std::make_shared<const ResultGeometries>(ask_meta(op, call));
  if (!tried && small(call)) try_on_cpu(op, call);

  const Lock lock(mutex_);
  if (known_.size() >= kCapacity) known_.clear();
  known_[key] = results;
  tried_[kind] = true;
  return results;
}

}  // namespace spyre::engine
