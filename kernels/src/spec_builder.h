// spyre/kernels/spec_builder.h — writes KernelSpecs in a line per step (tests and benchmarks only).
#pragma once
#include <algorithm>
#include <string_view>

#include "spyre/kernels/kernel_spec.h"

namespace spyre::kernels {

/// Steps are named by number. A value.
class SpecBuilder {
 public:
  explicit SpecBuilder(Form form, std::uint8_t rank = 1) {
    spec_.form = form;
    spec_.rank = rank;
  }

  std::uint16_t load(DType type, InnerStride inner = InnerStride::Unit,
                     Level level = Level::Element) {
    return argument_step(Step::Kind::Load, ArgumentSpec::Kind::Load, type, inner, level);
  }

  std::uint16_t iota(InnerStride inner = InnerStride::Any) {
    return argument_step(Step::Kind::Load, ArgumentSpec::Kind::Iota, DType::I64, inner,
                         Level::Element);
  }

  std::uint16_t param(DType type) {
    Step s{.kind = Step::Kind::Param,
           .compute = type,
           .result = type,
           .level = Level::Uniform,
           .argument = spec_.params++};
    return push(s);
  }

  std::uint16_t apply(std::string_view name, DType compute, DType result,
                      std::vector<std::uint16_t> inputs) {
    Step s{.kind = Step::Kind::Apply, .op = op_named(name), .compute = compute, .result = result};
    for (const std::uint16_t i : inputs) s.level = std::max(s.level, spec_.steps[i].level);
    s.inputs = std::move(inputs);
    return push(s);
  }
  std::uint16_t apply(std::string_view name, DType type, std::vector<std::uint16_t> inputs) {
    return apply(name, type, type, std::move(inputs));
  }

  std::uint16_t reduce(Reduction reduction, DType compute, DType result, std::uint16_t input) {
    Step s{.kind = Step::Kind::Reduce,
           .reduction = reduction,
           .compute = compute,
           .result = result,
           .level = Level::Result};
    s.inputs = {input};
    return push(s);
  }

  void store(std::uint16_t value, DType type, InnerStride inner = InnerStride::Unit) {
    const bool per_row = spec_.form != Form::Pointwise && spec_.steps[value].level == Level::Result;
    store_at(per_row ? Level::Result : Level::Element, value, type, inner);
  }
  void store_at(Level level, std::uint16_t value, DType type, InnerStride inner) {
    const std::uint16_t step =
        argument_step(Step::Kind::Store, ArgumentSpec::Kind::Store, type, inner, level);
    spec_.steps[step].inputs = {value};
  }

  const Step& step(std::uint16_t i) const { return spec_.steps[i]; }
  KernelSpec spec() const {
    spec_.verify();
    return spec_;
  }

 private:
  std::uint16_t argument_step(Step::Kind kind, ArgumentSpec::Kind argument, DType type,
                              InnerStride inner, Level level) {
    spec_.arguments.push_back({argument, type, inner});
    Step s{.kind = kind, .compute = type, .result = type, .level = level};
    s.argument = static_cast<std::uint16_t>(spec_.arguments.size() - 1);
    return push(s);
  }
  std::uint16_t push(Step s) {
    spec_.steps.push_back(std::move(s));
    return static_cast<std::uint16_t>(spec_.steps.size() - 1);
  }

  KernelSpec spec_;
};

}  // namespace spyre::kernels
