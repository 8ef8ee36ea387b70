// spyre/engine/schema_library.cpp — the boxed adapter of the library tier: record now, call the CPU kernel later.
#include "spyre/engine/schema_library.h"

#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>
#include <limits>

#include "dense_outputs.h"
#include "host_indices.h"
#include "mask_fill.h"
#include "mask_indices.h"
#include "schema_arguments.h"
#include "schema_shapes.h"
#include "spyre/base/error.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/fallback.h"
#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"
#include "stack_tensors.h"

namespace spyre::engine {
namespace {

using c10::OperatorHandle;
using torch::jit::Stack;

/// What runs: an operator with its plain arguments; the first tensors are read, the rest are results to fill.
struct SchemaCall {
  OperatorHandle op;
  SchemaArguments arguments;
  std::vector<bool> results = {};  // per result: is there a tensor to fill
  bool in_place = false;           // results are among the arguments
  bool takes_outputs = false;      // op is an out form: results go in as its last arguments
  std::int64_t batch = 0;          // extent to split, 0: do not split
  std::uint64_t elements = 0;
  bool faults = false;

  std::string_view name() const { return op.operator_name().name; }
  void describe(KeyWriter& key) const;
  bool may_fault() const { return faults; }
  std::int64_t work_items() const { return batch == 0 ? 1 : panels().count(); }
  Panels panels() const { return Panels::of(batch, 32, 1); }
  kernels::LibraryCost cost() const { return {.macs = 0, .lane_ops = elements}; }
  void run(Tensors operands, std::int64_t first, std::int64_t last) const;
  void call(Tensors inputs, Tensors outputs) const;
};

void SchemaCall::describe(KeyWriter& key) const {
  key(takes_outputs, in_place, batch);
  for (const std::string& text : {op.operator_name().overload_name, arguments.key()}) {
    key(text.size());
    for (const char c : text) key(c);
  }
  for (const bool defined : results) key(defined);
}

/// A kernel may leave its result as the conjugate of what it wrote: device memory has no such mark.
void store_plainly(at::Tensor& output) {
  if (!output.is_conj()) return;
  const at::Tensor plain = output.resolve_conj();
  output._set_conj(false);
  output.copy_(plain);
}

void SchemaCall::call(Tensors inputs, Tensors outputs) const {
  Stack stack = arguments.with_tensors(inputs);
  if (takes_outputs) stack.insert(stack.end(), outputs.begin(), outputs.end());
  op.callBoxed(stack);
  if (takes_outputs)
    for (at::Tensor& output : outputs) store_plainly(output);
  if (takes_outputs || in_place) return;
  std::size_t next = 0;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (results[i]) outputs[next++].copy_(stack[i].toTensor());
}

void SchemaCall::run(Tensors operands, std::int64_t first, std::int64_t last) const {
  const std::size_t inputs = arguments.slots().size();
  if (batch == 0) return call(operands.first(inputs), operands.subspan(inputs));
  for (std::int64_t piece = first; piece < last; ++piece) {
    std::vector<at::Tensor> part;
    for (const at::Tensor& t : operands) part.push_back(panels().slice(t, 0, piece));
    call(Tensors(part).first(inputs), Tensors(part).subspan(inputs));
  }
}

/// An out= tensor becomes as large as its result; a tensor that is read, too, has to be.
void fit_destination(const OperatorHandle& op, const SchemaArguments& call,
                     const at::Tensor& tensor, const ResultGeometry& result) {
  const Dims sizes = dims_of(result.sizes);
  const bool is_out = op.schema().arguments().back().is_out();
  const auto is_same = [&](const at::Tensor& other) { return other.is_same(tensor); };
  if (is_out && std::ranges::count_if(call.tensors(), is_same) == 1)
    resize_output(tensor, sizes, dims_of(result.strides));
  else check_inplace_shape(tensor, sizes);
}

SchemaShapes& known_shapes() {
  static SchemaShapes shapes;
  return shapes;
}

/// Serves one overload.
class SchemaLibraryKernel final : public c10::OperatorKernel {
 public:
  SchemaLibraryKernel(const SchemaLibraryRow& row, std::optional<OperatorHandle> out)
      : row_(row), out_(std::move(out)) {}

  void operator()(const OperatorHandle& op, c10::DispatchKeySet, Stack* stack) const {
    bounded([&] { call(op, *stack); });
  }
  void call(const OperatorHandle& op, Stack& stack) const {
    const DenseOutputs outputs(op, stack);
    serve(op, stack);
    outputs.deliver(stack);
  }

 private:
  void serve(const OperatorHandle& op, Stack& stack) const;
  bool needs_host(const OperatorHandle& op, const Stack& stack) const;
  /// Gives the arguments a form that can be recorded. False if CPU has to serve them.
  bool prepare(const OperatorHandle& op, Stack& stack) const;
  std::shared_ptr<const ResultGeometries> results(const OperatorHandle& op,
                                                  const SchemaArguments& call,
                                                  const Stack& stack) const;
  std::vector<at::Tensor> written(const OperatorHandle& op, const SchemaArguments& call) const;
  void record(SchemaCall call, const std::vector<at::Tensor>& inputs,
              const std::vector<at::Tensor>& outputs) const;

  SchemaLibraryRow row_;
  std::optional<OperatorHandle> out_;  // the form that fills given results, if there is one
};

/// Whether CPU's kernel refuses or warns under torch.use_deterministic_algorithms(): that is heard at the call.
bool is_nondeterministic(const OperatorHandle& op) {
  const std::string& name = op.operator_name().name;
  return name == "aten::put_" || name.starts_with("aten::max_unpool");
}

/// The caller waits to hear whether every matrix had a result.
bool waits_for_a_check(const OperatorHandle& op, const Stack& stack) {
  const auto& schema = op.schema();
  const std::optional<int> check = schema.argumentIndexWithName("check_errors");
  return check &&
         torch::jit::last(stack, schema.arguments().size())[static_cast<std::size_t>(*check)]
             .toBool();
}

bool SchemaLibraryKernel::needs_host(const OperatorHandle& op, const Stack& stack) const {
  if (waits_for_a_check(op, stack)) return true;
  if (at::globalContext().deterministicAlgorithms() && is_nondeterministic(op)) return true;
  return row_.on_host != nullptr &&
         row_.on_host(op, torch::jit::last(stack, op.schema().arguments().size()));
}

bool fits_device(const SchemaArguments& call, const ResultGeometries& results) {
  return std::ranges::all_of(
             call.tensors(),
             [](const at::Tensor& t) { return static_cast<std::size_t>(t.dim()) <= kMaxRank; }) &&
         std::ranges::all_of(results,
                             [](const ResultGeometry& r) { return r.sizes.size() <= kMaxRank; });
}

std::shared_ptr<const ResultGeometries> SchemaLibraryKernel::results(const OperatorHandle& op,
                                                                     const SchemaArguments& call,
                                                                     const Stack& stack) const {
  const bool has_count = row_.count != nullptr;
  auto known = known_shapes().results(op, call, row_.shapes, has_count);
  if (!has_count || !fits_device(call, *known)) return known;
  ResultGeometries counted = *known;
  const std::int64_t count = row_.count(torch::jit::last(stack, op.schema().arguments().size()));
  for (ResultGeometry& result : counted) result.lengthen(count);
  return std::make_shared<const ResultGeometries>(std::move(counted));
}

std::vector<at::Tensor> SchemaLibraryKernel::written(const OperatorHandle& op,
                                                     const SchemaArguments& call) const {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < call.slots().size(); ++i)
    if (is_written(op.schema().arguments()[call.slots()[i].argument]))
      tensors.push_back(call.tensors()[i]);
  return tensors;
}

std::int64_t batch_of(const SchemaLibraryRow& row, const std::vector<at::Tensor>& inputs,
                      const std::vector<at::Tensor>& outputs) {
  const auto fits = [&](const at::Tensor& t) {
    return t.dim() == row.batch_rank && t.size(0) == inputs.front().size(0);
  };
  const bool split = row.batch_rank != 0 && std::all_of(inputs.begin(), inputs.end(), fits) &&
                     std::all_of(outputs.begin(), outputs.end(), fits);
  return split ? inputs.front().size(0) : 0;
}

void SchemaLibraryKernel::record(SchemaCall call, const std::vector<at::Tensor>& inputs,
                                 const std::vector<at::Tensor>& outputs) const {
  call.batch = batch_of(row_, inputs, outputs);
  call.faults = row_.faults;
  for (const at::Tensor& t : outputs) call.elements += static_cast<std::uint64_t>(t.numel());
  const auto pointers = [](const std::vector<at::Tensor>& tensors) {
    c10::SmallVector<const at::Tensor*, 8> list;
    for (const at::Tensor& t : tensors) list.push_back(&t);
    return list;
  };
  const auto in = pointers(inputs), out = pointers(outputs);
  record_library(call, TensorArguments(in.data(), in.size()),
                 TensorArguments(out.data(), out.size()));
}

bool is_stored_otherwise(const at::Tensor& t) { return t.defined() && (t.is_conj() || t.is_neg()); }

/// Some operators take conjugate operands as they are; a recorded one does not know them. False if one is written.
bool resolve_operands(const OperatorHandle& op, Stack& stack) {
  const auto& schema = op.schema().arguments();
  bool resolved = true;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    c10::IValue& value = stack[stack.size() - schema.size() + i];
    bool any = false;
    for_each_tensor(value, [&](const at::Tensor& t) { any |= is_stored_otherwise(t); });
    if (!any) continue;
    if (is_written(schema[i])) resolved = false;
    else
      value =
          with_tensors(value, [](const at::Tensor& t) { return t.resolve_conj().resolve_neg(); });
  }
  return resolved;
}

bool SchemaLibraryKernel::prepare(const OperatorHandle& op, Stack& stack) const {
  return !needs_host(op, stack) && resolve_operands(op, stack) &&
         (!row_.takes_masks || indices_for_masks(op, stack));
}

void SchemaLibraryKernel::serve(const OperatorHandle& op, Stack& stack) const {
  if (row_.takes_masks && fill_by_mask(op, stack)) return;
  if (!prepare(op, stack)) return fall_back(op, &stack);
  if (row_.faults) check_host_indices(op, stack);
  const SchemaArguments call = SchemaArguments::take_apart(op, stack);
  const auto results = this->results(op, call, stack);
  if (!fits_device(call, *results)) return fall_back(op, &stack);
  const std::vector<at::Tensor> in_place = written(op, call);
  torch::jit::drop(stack, op.schema().arguments().size());

  SchemaCall recorded{.op = op, .arguments = call.without_tensors(), .in_place = !in_place.empty()};
  std::vector<at::Tensor> outputs = in_place;
  if (recorded.in_place) {
    for (std::size_t i = 0; i < in_place.size(); ++i)
      fit_destination(op, call, in_place[i], (*results)[i]);
    for (const at::Tensor& t : in_place) stack.emplace_back(t);
  } else {
    for (const ResultGeometry& r : *results) {
      recorded.results.push_back(r.defined);
      if (r.defined)
        outputs.push_back(
            empty_strided(r.sizes, r.strides, r.type, call.tensors().front().device()));
      stack.emplace_back(r.defined ? outputs.back() : at::Tensor());
    }
    const bool all = outputs.size() == results->size();
    if (out_ && all) recorded.op = *out_, recorded.takes_outputs = true;
  }
  record(std::move(recorded), call.tensors(), outputs);
}

/// Above this size, a call without a shape rule of its own would ask one in Python.
constexpr std::int64_t kUnlistedElements = 1 << 20;

bool lacks_native_form(const Stack& stack, std::size_t arguments, std::int64_t largest) {
  bool lacks = false, fits = true;
  for (const c10::IValue& value : torch::jit::last(stack, arguments)) {
    for_each_tensor(value, [&](const at::Tensor& t) {
      if (!t.defined()) return;
      lacks |= t.is_privateuseone() && !native_type(t.scalar_type());
      fits &= static_cast<std::size_t>(t.dim()) <= kMaxRank && t.numel() <= largest;
    });
  }
  return lacks && fits;
}

void record_unlisted(const SchemaLibraryRow& row, const OperatorHandle& op, Stack* stack) {
  const std::int64_t largest =
      row.shapes == nullptr ? kUnlistedElements : std::numeric_limits<std::int64_t>::max();
  if (lacks_native_form(*stack, op.schema().arguments().size(), largest))
    SchemaLibraryKernel(row, std::nullopt).call(op, *stack);
  else fall_back(op, stack);
}

}  // namespace

void record_or_fall_back(const OperatorHandle& op, Stack* stack) {
  record_unlisted(SchemaLibraryRow{.aten = {}}, op, stack);
}

void record_elements_or_fall_back(const OperatorHandle& op, Stack* stack) {
  record_unlisted(SchemaLibraryRow{.aten = {}, .shapes = &shapes_of_elements}, op, stack);
}

void register_schema_library(Registrations& registrations) {
  for (const SchemaLibraryRow& row : schema_library_rows()) {
    const Forms forms = forms_of(row.aten);
    registrations.add_boxed<SchemaLibraryKernel>(*forms.functional, row, forms.out);
    if (row.count != nullptr) {
      registrations.add_derived(forms);
      continue;
    }
    if (forms.in_place)
      registrations.add_boxed<SchemaLibraryKernel>(*forms.in_place, row, std::nullopt);
    SchemaLibraryRow given_results = row;
    given_results.shapes = nullptr;
    if (forms.out)
      registrations.add_boxed<SchemaLibraryKernel>(*forms.out, given_results, std::nullopt);
  }
}

namespace {

/// In place: real numbers stay as they are.
void conjugate(const OperatorHandle& op, Stack* stack) {
  if (stack->back().toTensor().is_complex()) record_elements_or_fall_back(op, stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  // PyTorch's kernel for all devices looks up code for each device, and knows only its own.
  m.impl("conj_physical_", torch::CppFunction::makeFromBoxedFunction<&guarded_boxed<&conjugate>>());
  m.impl(
      "conj_physical.out",
      torch::CppFunction::makeFromBoxedFunction<&guarded_boxed<&record_elements_or_fall_back>>());
}

}  // namespace spyre::engine
