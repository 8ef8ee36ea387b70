// spyre/engine/schema_shapes.cpp — the geometry of an operator's results, from PyTorch's own rules, remembered.
#include "schema_shapes.h"

#include <ATen/Functions.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <array>
#include <optional>

#include "cpu_trial.h"
#include "spyre/base/error.h"
#include "spyre/engine/shape_rules.h"

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

/// True if an argument that is written shares memory with itself or with another argument.
bool writes_shared_memory(const c10::OperatorHandle& op, const SchemaArguments& call) {
  const auto& tensors = call.tensors();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!is_written(op.schema().arguments()[call.slots()[i].argument])) continue;
    if (at::has_internal_overlap(tensors[i]) != at::MemOverlap::No) return true;
    for (std::size_t j = 0; j < tensors.size(); ++j)
      if (j != i && tensors[j].is_alias_of(tensors[i])) return true;
  }
  return false;
}

/// The first of the tensors that is this very one.
std::size_t first_like(const std::vector<at::Tensor>& tensors, const at::Tensor& tensor) {
  const auto is_it = [&](const at::Tensor& other) { return other.is_same(tensor); };
  return static_cast<std::size_t>(std::ranges::find_if(tensors, is_it) - tensors.begin());
}

/// Which storage each tensor lies in, by the first tensor that has it, and where; and which are one tensor.
void append_places(std::string& key, const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& t : tensors) {
    const auto owner = std::ranges::find_if(
        tensors, [&](const at::Tensor& other) { return other.is_alias_of(t); });
    const std::array<std::int64_t, 3> place{owner - tensors.begin(), t.storage_offset(),
                                            static_cast<std::int64_t>(first_like(tensors, t))};
    append_raw(key, place);
  }
}

/// CPU tensors of zeros that share memory as the arguments do.
torch::jit::Stack sharing_on_cpu(const SchemaArguments& call) {
  std::unordered_map<const c10::StorageImpl*, at::Tensor> storages;
  std::vector<at::Tensor> stand_ins;
  for (const at::Tensor& t : call.tensors()) {
    if (const std::size_t first = first_like(call.tensors(), t); first < stand_ins.size()) {
      stand_ins.push_back(stand_ins[first]);
      continue;
    }
    const c10::StorageImpl* storage = t.storage().unsafeGetStorageImpl();
    at::Tensor& bytes = storages[storage];
    if (!bytes.defined())
      bytes = at::zeros({static_cast<std::int64_t>(storage->nbytes())}, at::kByte);
    stand_ins.push_back(at::empty({0}, t.options().device(at::kCPU).requires_grad(false)));
    stand_ins.back().set_(bytes.storage(), t.storage_offset(), t.sizes(), t.strides());
  }
  return call.with_tensors(stand_ins);
}

/// Rows of a matrix, as LAPACK counts them: from one.
bool holds_pivots(const c10::Argument& argument) { return argument.name().ends_with("pivots"); }

torch::jit::Stack on_device_type(const c10::OperatorHandle& op, const SchemaArguments& call,
                                 c10::DeviceType type) {
  std::vector<at::Tensor> stand_ins;
  for (std::size_t i = 0; i < call.tensors().size(); ++i) {
    const at::Tensor& t = call.tensors()[i];
    stand_ins.push_back(
        at::empty_strided(t.sizes(), t.strides(), t.options().device(type).requires_grad(false)));
    if (type != c10::DeviceType::CPU) continue;
    // Its memory, each byte once: an expanded tensor has more elements than anyone could write.
    at::Tensor memory = at::empty({0}, stand_ins.back().options()).set_(stand_ins.back().storage());
    memory.fill_(holds_pivots(op.schema().arguments()[call.slots()[i].argument]) ? 1 : 0);
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

/// Nobody computes an empty result: what is wrong with its arguments shows now or never.
bool nothing_to_compute(const ResultGeometries& results) {
  return std::ranges::all_of(results, [](const ResultGeometry& r) {
    return !r.defined || std::ranges::find(r.sizes, 0) != r.sizes.end();
  });
}

bool small(const SchemaArguments& call) {
  return std::all_of(call.tensors().begin(), call.tensors().end(),
                     [](const at::Tensor& t) { return t.numel() <= kTrialElements; });
}

ResultGeometries run_on_cpu(const c10::OperatorHandle& op, const SchemaArguments& call) {
  torch::jit::Stack stack = writes_shared_memory(op, call)
                                ? sharing_on_cpu(call)
                                : on_device_type(op, call, c10::DeviceType::CPU);
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  op.callBoxed(stack);
  return geometries_of(stack);
}

/// Of an index, not of a dimension or a shape.
bool speaks_of_a_value(const c10::IndexError& error) {
  const std::string_view text = error.what_without_backtrace();
  const auto says = [&](std::string_view part) { return text.find(part) != text.npos; };
  return says("out of bounds") || says("out of range in self") || says("tried to access index");
}

/// Zeros are valid indices unless nothing can be indexed, and a matrix of them has no inverse; those complaints belong to
/// the run. Nothing is what a call that complained so gives. A call with one tensor has no indices.
std::optional<ResultGeometries> try_on_cpu(const c10::OperatorHandle& op,
                                           const SchemaArguments& call) {
  try {
    return run_on_cpu(op, call);
  } catch (const c10::IndexError& error) {
    if (call.tensors().size() == 1 || !speaks_of_a_value(error)) throw;
  } catch (const c10::LinAlgError&) {}  // NOLINT(bugprone-empty-catch): see above
  return std::nullopt;
}

void ask_dispatcher(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  op.callBoxed(stack);
}

/// Where there is no shape function, or it complains, the CPU kernel has the first say.
ResultGeometries ask_meta(const c10::OperatorHandle& op, const SchemaArguments& call,
                          ShapeRule rule) {
  torch::jit::Stack stack = on_device_type(op, call, c10::DeviceType::Meta);
  try {
    rule(op, stack);
  } catch (const std::exception&) { return run_on_cpu(op, call); }
  return geometries_of(stack);
}

c10::ScalarType type_on_cpu(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments) {
  const torch::jit::Stack results = try_types_on_cpu(op, arguments.vec());
  return results.back().toTensor().scalar_type();
}

/// A small call is its own rule, on zeros: the dispatcher's may be one in Python.
ResultGeometries find_geometries(const c10::OperatorHandle& op, const SchemaArguments& call,
                                 ShapeRule rule) {
  if (rule != nullptr) return ask_meta(op, call, rule);
  if (!small(call)) return ask_meta(op, call, &ask_dispatcher);
  if (auto tried = try_on_cpu(op, call)) return *std::move(tried);
  return ask_meta(op, call, &ask_dispatcher);
}

}  // namespace

void ResultGeometry::lengthen(std::int64_t count) {
  const bool innermost = sizes.size() > 1 && strides.front() == 1;
  sizes.front() = innermost ? 1 : count;
  strides = c10::contiguous_strides(sizes);
  if (!innermost) return;
  for (std::int64_t& stride : strides) stride *= std::max<std::int64_t>(count, 1);
  sizes.front() = count;
  strides.front() = 1;
}

void shapes_of_elements(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto& schema = op.schema().arguments();
  const auto arguments = torch::jit::last(stack, schema.size());
  c10::SmallVector<const at::Tensor*, 4> read;
  at::Tensor given;  // that the result goes into
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!arguments[i].isTensor() || !arguments[i].toTensor().defined()) continue;
    if (is_written(schema[i])) given = arguments[i].toTensor();
    if (!schema[i].is_out()) read.push_back(&arguments[i].toTensor());
  }
  const TensorRefs operands(read.data(), read.size());
  const Dims sizes = broadcast_sizes(operands);
  if (given.defined() && !schema.back().is_out()) {
    check_inplace_shape(given, sizes);
  } else {
    const c10::ScalarType type = given.defined() ? given.scalar_type() : type_on_cpu(op, arguments);
    given = at::empty_strided(as_array(sizes), as_array(result_strides(sizes, operands)),
                              c10::TensorOptions(type).device(c10::DeviceType::Meta));
  }
  torch::jit::drop(stack, schema.size());
  torch::jit::push(stack, std::move(given));
}

std::shared_ptr<const ResultGeometries> SchemaShapes::results(const c10::OperatorHandle& op,
                                                              const SchemaArguments& call,
                                                              ShapeRule rule, bool counted) {
  const std::string kind = kind_key(op, call);
  std::string key = full_key(kind, call);
  const bool sharing = writes_shared_memory(op, call);
  if (sharing) append_places(key, call.tensors());
  bool tried = false;
  {
    const Lock lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    tried = !sharing && tried_.contains(kind);
  }
  auto results = std::make_shared<const ResultGeometries>(find_geometries(op, call, rule));
  const bool unheard = !tried || (!counted && nothing_to_compute(*results));
  if (rule != nullptr && unheard && small(call)) try_on_cpu(op, call);

  const Lock lock(mutex_);
  if (known_.size() >= kCapacity) known_.clear();
  known_[key] = results;
  if (!sharing) tried_[kind] = true;
  return results;
}

}  // namespace spyre::engine
