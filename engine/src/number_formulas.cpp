// spyre/engine/number_formulas.cpp — a formula is a kernel of one point, which the interpreter runs.
#include "spyre/engine/number_formulas.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/recorder.h"

namespace spyre::engine {
namespace {

using Leaf = NumberFormula::Leaf;
using kernels::KernelSpec;

constexpr std::size_t kMostValues = 1U << 15;  // far within what steps of a kernel can name
constexpr std::array kTypes{DType::F32, DType::F64, DType::I64, DType::Bool};

void holds(bool condition, std::string_view what) {
  if (!condition) throw InvalidArgument(str("a number of a kernel: ", what));
}

bool is_served(DType type) { return std::ranges::find(kTypes, type) != kTypes.end(); }

void check(const NumberFormula& formula, const std::vector<bool>& arguments, std::size_t numbers) {
  holds(!formula.steps.empty(), "no operation gives it");
  for (const Leaf& leaf : formula.leaves) {
    holds(is_served(leaf.type), "a type that is not computed with on the host");
    holds(
        leaf.kind != Leaf::Kind::Host || (leaf.place < arguments.size() && !arguments[leaf.place]),
        "no number among the arguments of this program");
    holds(leaf.kind != Leaf::Kind::Call || leaf.place < numbers, "no number of a call");
  }
  holds(formula.leaves.size() + formula.steps.size() < kMostValues, "it has too many operations");
  std::size_t known = formula.leaves.size();
  for (const NumberFormula::Step& step : formula.steps) {
    const kernels::OpInfo& info = kernels::op(step.op).info;
    holds(step.inputs.size() == info.arity && info.computes.has(step.compute),
          "an op has other inputs");
    holds(is_served(step.compute) && is_served(step.result),
          "a type that is not computed with on the host");
    for (const std::uint32_t input : step.inputs) holds(input < known, "an input is not known yet");
    ++known;
  }
}

/// Parameters, operations, and the store of the last one's value at the only point.
KernelSpec spec_of(std::span<const DType> leaves, std::span<const NumberFormula::Step> steps,
                   kernels::Numerics numerics) {
  KernelSpec spec{.form = kernels::Form::Pointwise,
                  .params = static_cast<std::uint16_t>(leaves.size()),
                  .numerics = numerics};
  for (const DType type : leaves)
    spec.steps.push_back({.kind = kernels::Step::Kind::Param,
                          .compute = type,
                          .result = type,
                          .level = kernels::Level::Uniform,
                          .argument = static_cast<std::uint16_t>(spec.steps.size())});
  for (const NumberFormula::Step& step : steps)
    spec.steps.push_back({.kind = kernels::Step::Kind::Apply,
                          .op = step.op,
                          .compute = step.compute,
                          .result = step.result,
                          .level = kernels::Level::Uniform,
                          .inputs = {step.inputs.begin(), step.inputs.end()}});
  const DType type = steps.back().result;
  spec.arguments.push_back({.kind = kernels::ArgumentSpec::Kind::Store,
                            .dtype = type,
                            .inner = kernels::InnerStride::Unit});
  spec.steps.push_back({.kind = kernels::Step::Kind::Store,
                        .compute = type,
                        .result = type,
                        .level = kernels::Level::Element,
                        .inputs = {static_cast<std::uint16_t>(spec.steps.size() - 1)}});
  spec.verify();
  return spec;
}

c10::Scalar scalar_from(std::uint64_t bits, DType type) {
  switch (type) {
    case DType::F32: return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    case DType::F64: return std::bit_cast<double>(bits);
    case DType::Bool: return (bits & 0xff) != 0;
    default: return static_cast<std::int64_t>(bits);
  }
}

c10::Scalar value_of(const kernels::Kernel& kernel, std::span<const std::uint64_t> leaves) {
  const DType type = kernel.spec().arguments.front().dtype;
  std::uint64_t cell = 0;
  const auto base = reinterpret_cast<std::uint64_t>(&cell);
  const std::int64_t extent = 1, stride = static_cast<std::int64_t>(size_of(type));
  kernel.run({.bases = &base, .extents = &extent, .strides = &stride, .params = leaves.data()}, 0,
             1, nullptr);
  return scalar_from(cell, type);
}

const c10::Scalar& number_of(const Leaf& leaf, std::span<const c10::Scalar> on_host,
                             std::span<const c10::Scalar> numbers) {
  switch (leaf.kind) {
    case Leaf::Kind::Constant: break;
    case Leaf::Kind::Host: return on_host[leaf.place];
    case Leaf::Kind::Call: return numbers[leaf.place];
  }
  return leaf.number;
}

}  // namespace

NumberFormulas::NumberFormulas(std::span<const NumberFormula> formulas,
                               const std::vector<bool>& arguments, std::size_t numbers) {
  for (const NumberFormula& formula : formulas) {
    check(formula, arguments, numbers);
    uses_.push_back({.code = code_of(formula), .leaves = formula.leaves});
  }
  values_.resize(formulas.size());
}

std::size_t NumberFormulas::code_of(const NumberFormula& formula) {
  std::vector<DType> types;
  for (const Leaf& leaf : formula.leaves) types.push_back(leaf.type);
  const auto known = std::ranges::find_if(codes_, [&](const Code& code) {
    return code.leaves == types && code.steps == formula.steps;
  });
  const auto place = static_cast<std::size_t>(known - codes_.begin());
  if (known == codes_.end()) codes_.push_back({.leaves = std::move(types), .steps = formula.steps});
  return place;
}

std::span<const c10::Scalar> NumberFormulas::values(std::span<const c10::Scalar> on_host,
                                                    std::span<const c10::Scalar> numbers,
                                                    kernels::Numerics numerics) {
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    Code& code = codes_[uses_[i].code];
    // An op's own rule for numbers is about reduced floats, which are none of these types: any op will do.
    const kernels::OpInfo& info = kernels::op(code.steps.front().op).info;
    leaves_.clear();
    for (const Leaf& leaf : uses_[i].leaves)
      leaves_.push_back(number_input(number_of(leaf, on_host, numbers), info, leaf.type).bits);
    const bool known = code.kernel != nullptr && code.kernel->spec().numerics == numerics;
    if (!known) code.kernel = kernels::interpret(spec_of(code.leaves, code.steps, numerics));
    if (!known || code.given != leaves_) {
      code.value = value_of(*code.kernel, leaves_);
      code.given = leaves_;
    }
    values_[i] = code.value;
  }
  return values_;
}

}  // namespace spyre::engine
