// spyre/engine/recorder.cpp — records primitive operations over torch tensors.
#include "spyre/engine/recorder.h"

#include <ATen/MemoryOverlap.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/engine/iota.h"
#include "spyre/engine/ruling.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/source.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

lazy::View view_under(const at::Tensor& tensor, std::span<const std::int64_t> strides) {
  lazy::View view = view_of(tensor);
  view.strides = strides;
  return view;
}

/// The device tensors among the operands.
struct TensorList {
  std::array<const at::Tensor*, kMaxOperands> tensors{};
  std::size_t count = 0;
  explicit TensorList(Operands operands) {
    ensure(operands.size() <= kMaxOperands, "a pointwise operator has at most eight inputs");
    for (const Operand& o : operands)
      if (o.on_device()) tensors[count++] = &o.tensor();
  }
  TensorRefs refs() const { return {tensors.data(), count}; }
  c10::Device device() const {
    ensure(count > 0, "a pointwise operator has a tensor on the device");
    return tensors[0]->device();
  }
  /// Raises CPU's errors for operands of different devices or shapes.
  Dims common_sizes() const {
    check_same_device(refs(), device());
    return broadcast_sizes(refs());
  }
};

/// A call in lazy's words. Borrows the operands and the output; owns what else the words point to.
class Description {
 public:
  Description(const PointwiseOp& op, Operands operands, const at::Tensor& out) {
    ensure(operands.size() <= kMaxOperands, "a pointwise operator has at most eight inputs");
    strides_.reserve(operands.size());  // the words point into it
    for (const Operand& operand : operands)
      inputs_.push_back(operand.on_device()
                            ? lazy::Input::of(window(operand.tensor(), out.sizes()))
                            : number_input(operand.number(), kernels::op(op.op).info, op.compute));
    words_ = {.op = op.op,
              .compute = op.compute,
              .result = op.result,
              .sizes = as_span(out.sizes()),
              .inputs = {inputs_.data(), inputs_.size()},
              .output = view_of(out),
              .source = recorded_source(op.may_fault),
              .may_fault = op.may_fault};
  }
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  const lazy::Pointwise& words() const { return words_; }

 private:
  lazy::View window(const at::Tensor& tensor, c10::IntArrayRef sizes) {
    if (tensor.sizes() == sizes) return view_of(tensor);
    strides_.push_back(broadcast_strides(tensor, dims_of(sizes)));
    return view_under(tensor, strides_.back().span());
  }

  c10::SmallVector<lazy::Input, 4> inputs_;
  c10::SmallVector<Dims, 2> strides_;
  lazy::Pointwise words_;
};

/// The operands, with copies of those that may overlap `out` in a way that CPU cannot judge.
/// Confined to the call.
class SeparateOperands {
 public:
  SeparateOperands(Operands operands, const at::Tensor& out) : operands_(operands) {
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (operands[i].on_device() && check_overlap(out, operands[i].tensor())) replace(i);
  }
  SeparateOperands(const SeparateOperands&) = delete;
  SeparateOperands& operator=(const SeparateOperands&) = delete;
  Operands get() const { return operands_; }

 private:
  void replace(std::size_t i) {
    if (replaced_.empty()) {
      replaced_.assign(operands_.begin(), operands_.end());
      operands_ = replaced_;
    }
    replaced_[i] =
        *copies_.emplace_back(std::make_unique<at::Tensor>(materialized(operands_[i].tensor())));
  }

  Operands operands_;
  std::vector<Operand> replaced_;
  std::vector<std::unique_ptr<at::Tensor>> copies_;
};

/// The key of an operation in the words of composite operators, which nobody else has.
CallKey key_of(const PointwiseOp& op, ResultLayout layout, Arguments operands) {
  static constexpr char kComposite = 0;
  const std::uint64_t selection = op.op.value | static_cast<std::uint64_t>(op.compute) << 16 |
                                  static_cast<std::uint64_t>(op.result) << 24 |
                                  std::uint64_t{op.may_fault} << 32 |
                                  static_cast<std::uint64_t>(layout) << 33;
  return {&kComposite, selection, operands};
}

at::Tensor pointwise_as_known(const PointwiseOp& op, Operands operands, ResultLayout layout) {
  c10::SmallVector<Argument, 4> arguments;
  Places places{};
  for (const Operand& o : operands) {
    places.at(arguments.size()) = static_cast<std::uint8_t>(arguments.size());
    if (o.on_device()) arguments.emplace_back(o.tensor());
    else arguments.emplace_back(o.number());
  }
  const Arguments given{arguments.data(), arguments.size()};
  const CallKey key = key_of(op, layout, given);
  if (Ruling* known = RulingMemo::of_thread().find(key)) return known->record(given);
  at::Tensor out = pointwise_by_rules(op, operands, layout);
  RulingMemo::of_thread().remember(key, {op, operands, places, {}}, out, true);
  return out;
}

}  // namespace

lazy::Input number_input(const c10::Scalar& number, const kernels::OpInfo& info, DType compute) {
  if (is_reduced_float(compute) && info.wide_scalars)
    return lazy::Input::of_double(number.toDouble(), DType::F32);
  if (is_float(compute)) return lazy::Input::of_double(number.toDouble(), compute);
  if (compute == DType::Bool) return lazy::Input::of_int(number.toBool() ? 1 : 0, compute);
  const bool absent = number.isFloatingPoint() && !std::isfinite(number.toDouble());
  return lazy::Input::of_int(absent ? 0 : wrapped_integer(number), compute);
}

void record_pointwise(const PointwiseOp& op, Operands operands, const at::Tensor& out) {
  if (out.numel() == 0) return;
  const SeparateOperands separate(operands, out);
  const Description description(op, separate.get(), out);
  lazy_device(out).record(current_stream(out.device()), description.words());
}

lazy::PreparedPointwise prepare(const PointwiseOp& op, Operands operands, const at::Tensor& out) {
  return lazy::PreparedPointwise(Description(op, operands, out).words());
}

Iota Iota::row_major(c10::IntArrayRef sizes) { return {0, contiguous_strides(dims_of(sizes))}; }

void record_iota(const PointwiseOp& op, const Iota& iota, Operands numbers, const at::Tensor& out) {
  if (out.numel() == 0) return;
  std::array<lazy::Input, kMaxOperands> inputs{lazy::Input::iota(iota.first, iota.strides.span())};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    inputs[i + 1] = number_input(numbers[i].number(), kernels::op(op.op).info, op.compute);
  lazy_device(out).record(current_stream(out.device()),
                          lazy::Pointwise{.op = op.op,
                                          .compute = op.compute,
                                          .result = op.result,
                                          .sizes = as_span(out.sizes()),
                                          .inputs = std::span(inputs).first(numbers.size() + 1),
                                          .output = view_of(out),
                                          .source = recorded_source(false)});
}

at::Tensor pointwise_by_rules(const PointwiseOp& op, Operands operands, ResultLayout layout) {
  const TensorList tensors(operands);
  const Dims sizes = tensors.common_sizes();
  const bool beside_number = std::ranges::any_of(
      operands, [](const Operand& o) { return !o.on_device() && o.promoting() != nullptr; });
  const Dims strides = layout == ResultLayout::Contiguous
                           ? contiguous_strides(sizes)
                           : result_strides(sizes, tensors.refs(), beside_number);
  at::Tensor out =
      empty_strided(as_array(sizes), as_array(strides), scalar_type(op.result), tensors.device());
  record_pointwise(op, operands, out);
  return out;
}

at::Tensor pointwise(const PointwiseOp& op, Operands operands) {
  return pointwise_as_known(op, operands, ResultLayout::OfOperands);
}

at::Tensor pointwise_contiguous(const PointwiseOp& op, Operands operands) {
  return pointwise_as_known(op, operands, ResultLayout::Contiguous);
}

at::Tensor apply_contiguous(OpId op, DType compute, DType result,
                            std::initializer_list<Operand> operands) {
  return pointwise_contiguous({op, compute, result}, {operands.begin(), operands.size()});
}

at::Tensor apply(OpId op, DType type, std::initializer_list<Operand> operands) {
  return pointwise({op, type, type}, {operands.begin(), operands.size()});
}

at::Tensor apply(OpId op, DType compute, DType result, std::initializer_list<Operand> operands) {
  return pointwise({op, compute, result}, {operands.begin(), operands.size()});
}

at::Tensor converted(const at::Tensor& tensor, DType type) {
  const DType from = *native_type(tensor.scalar_type());
  return from == type ? tensor : apply(words().copy, from, type, {tensor});
}

at::Tensor materialized(const at::Tensor& tensor) {
  return apply(words().copy, *native_type(tensor.scalar_type()), {tensor});
}

at::Tensor reduce(const Reducing& how, const at::Tensor& input, bool keep) {
  const Dims sizes = dims_of(input.sizes());
  Dims kept;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (!how.reduces(d)) kept.push_back(sizes[d]);
    else if (keep) kept.push_back(1);
  at::Tensor out = empty(as_array(kept), scalar_type(how.result), input.device());
  if (out.numel() == 0) return out;
  Dims strides = Dims::filled(sizes.size(), 0);
  for (std::size_t d = 0, next = 0; d < sizes.size(); ++d) {
    if (!how.reduces(d)) strides[d] = out.stride(static_cast<std::int64_t>(next));
    if (!how.reduces(d) || keep) ++next;
  }
  lazy_device(out).record(current_stream(out.device()),
                          lazy::Reduce{.reduction = how.reduction,
                                       .compute = how.compute,
                                       .result = how.result,
                                       .sizes = sizes.span(),
                                       .reduced = how.dims,
                                       .input = view_of(input),
                                       .output = view_under(out, strides.span()),
                                       .source = recorded_source(false)});
  return out;
}

const Vocabulary& words() {
  static const Vocabulary words = [] {
    const auto id = [](std::string_view name) { return kernels::op_named(name); };
    return Vocabulary{.abs = id("abs"),
                      .add = id("add"),
                      .add_scaled = id("add_scaled"),
                      .affine = id("affine"),
                      .copy = id("cast"),
                      .div = id("div"),
                      .exp = id("exp"),
                      .isnan = id("isnan"),
                      .log = id("log"),
                      .lt = id("lt"),
                      .mul = id("mul"),
                      .ne = id("ne"),
                      .pow = id("pow"),
                      .reciprocal = id("reciprocal"),
                      .rsqrt = id("rsqrt"),
                      .sqrt = id("sqrt"),
                      .square = id("square"),
                      .sub = id("sub"),
                      .where = id("where")};
  }();
  return words;
}

}  // namespace spyre::engine
