// spyre/kernels/kernel_spec_test.cpp — keys tell specs apart, the printed form is stable, broken rules are named.
#include "spyre/kernels/kernel_spec.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "spyre/base/error.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

/// out[row] = sum(x * p) of float16 rows.
KernelSpec scaled_sum() {
  KernelSpec spec{.form = Form::Row, .rank = 2, .params = 1};
  spec.arguments = {{ArgumentSpec::Kind::Load, DType::F16, InnerStride::Unit},
                    {ArgumentSpec::Kind::Store, DType::F32, InnerStride::Zero}};
  spec.steps = {
      {.kind = Step::Kind::Load, .result = DType::F16, .level = Level::Element, .argument = 0},
      {.kind = Step::Kind::Param, .result = DType::F32, .level = Level::Uniform, .argument = 0},
      {.kind = Step::Kind::Apply,
       .op = op_named("mul"),
       .compute = DType::F16,
       .result = DType::F16,
       .level = Level::Element,
       .inputs = {0, 1}},
      {.kind = Step::Kind::Reduce,
       .reduction = Reduction::Sum,
       .compute = DType::F32,
       .result = DType::F32,
       .level = Level::Result,
       .inputs = {2}},
      {.kind = Step::Kind::Store, .level = Level::Result, .argument = 1, .inputs = {3}}};
  return spec;
}

TEST(KernelSpec, PrintsOneLinePerStep) {
  EXPECT_EQ(scaled_sum().print(),
            "row rank 2 params 1\n"
            "  a0: load float16 inner unit\n"
            "  a1: store float32 inner zero\n"
            "  %0 = load a0 -> float16 element\n"
            "  %1 = param p0 -> float32 uniform\n"
            "  %2 = mul %0, %1 in float16 -> float16 element\n"
            "  %3 = reduce sum %2 in float32 -> float32 result\n"
            "  %4 = store a1 %3 result\n");
}

using Change = std::function<void(KernelSpec&)>;

TEST(KernelSpec, EveryFieldIsInTheKey) {
  const std::vector<Change> changes{
      [](KernelSpec&) {},
      [](KernelSpec& s) { s.form = Form::Pointwise; },
      [](KernelSpec& s) { s.rank = 3; },
      [](KernelSpec& s) { s.params = 2; },
      [](KernelSpec& s) { s.arguments[0].dtype = DType::BF16; },
      [](KernelSpec& s) { s.arguments[0].inner = InnerStride::Any; },
      [](KernelSpec& s) { s.arguments[0].kind = ArgumentSpec::Kind::Iota; },
      [](KernelSpec& s) { s.arguments.push_back(s.arguments[0]); },
      [](KernelSpec& s) { s.steps[2].op = op_named("add"); },
      [](KernelSpec& s) { s.steps[2].compute = DType::F32; },
      [](KernelSpec& s) { s.steps[2].result = DType::F32; },
      [](KernelSpec& s) { s.steps[2].inputs = {1, 0}; },
      [](KernelSpec& s) { s.steps[2].inputs = {0}; },
      [](KernelSpec& s) { s.steps[3].reduction = Reduction::Prod; },
      [](KernelSpec& s) { s.steps[4].level = Level::Element; },
      [](KernelSpec& s) { s.steps[4].argument = 0; },
      [](KernelSpec& s) { s.steps.pop_back(); },
  };
  std::set<std::string> keys;
  for (const Change& change : changes) {
    KernelSpec spec = scaled_sum();
    change(spec);
    EXPECT_EQ(spec.key(), KernelSpec(spec).key());
    keys.insert(spec.key());
  }
  EXPECT_EQ(keys.size(), changes.size());
}

void expect_broken(const Change& change, std::string_view complaint) {
  KernelSpec spec = scaled_sum();
  change(spec);
  try {
    spec.verify();
    ADD_FAILURE() << "accepted a spec that " << complaint;
  } catch (const InternalError& e) {
    EXPECT_NE(std::string_view(e.what()).find(complaint), std::string_view::npos) << e.what();
  }
}

TEST(KernelSpec, NoEngineTakesABrokenOne) {
  KernelSpec spec = scaled_sum();
  spec.steps[2].inputs = {0};  // mul of one input
  EXPECT_THROW(compile(spec, best_isa()), Error);
  EXPECT_THROW(interpret(spec), Error);
  EXPECT_THROW(null_kernel(spec), Error);
}

TEST(KernelSpec, AcceptsAWellFormedSpec) { EXPECT_NO_THROW(scaled_sum().verify()); }

TEST(KernelSpec, NamesTheBrokenRule) {
  expect_broken([](KernelSpec& s) { s.steps[2].inputs = {0, 3}; }, "step %2 reads a later step");
  expect_broken([](KernelSpec& s) { s.steps[2].inputs = {0}; },
                "step %2 has the wrong number of inputs");
  expect_broken([](KernelSpec& s) { s.steps[2].level = Level::Result; },
                "step %2 has another level");
  expect_broken([](KernelSpec& s) { s.steps[2].op = OpId{60000}; },
                "step %2 applies an unknown op");
  expect_broken([](KernelSpec& s) { s.steps[2].op = op_named("bitwise_and"); },
                "computes in a type");
  expect_broken([](KernelSpec& s) { s.steps[0].argument = 7; }, "step %0 names an argument");
  expect_broken([](KernelSpec& s) { s.steps[0].argument = 1; }, "step %0 loads a store");
  expect_broken([](KernelSpec& s) { s.steps[0].result = DType::F32; },
                "step %0 loads another type");
  expect_broken([](KernelSpec& s) { s.arguments[0].kind = ArgumentSpec::Kind::Iota; },
                "iota that is not int64");
  expect_broken([](KernelSpec& s) { s.params = 0; }, "step %1 names a parameter");
  expect_broken([](KernelSpec& s) { s.steps[3].inputs = {1}; },
                "reduces a value that is not per element");
  expect_broken([](KernelSpec& s) { s.steps[3].reduction = Reduction::ArgMax; },
                "whose result is not int64");
  expect_broken([](KernelSpec& s) { s.steps[4].argument = 0; },
                "stores to an argument that is not a store");
  expect_broken([](KernelSpec& s) { s.steps[4].inputs = {2}; }, "stores at a lower level");
  expect_broken([](KernelSpec& s) { s.form = Form::Pointwise; }, "pointwise");
  expect_broken([](KernelSpec& s) { s.form = Form::Column, s.rank = 1; }, "rank 1 is too low");
}

TEST(KernelSpec, ColumnsAllowNoElementsAfterTheReduction) {
  const Change element_after = [](KernelSpec& s) {
    s.form = Form::Column;
    s.steps[4] = {.kind = Step::Kind::Apply,
                  .op = op_named("mul"),
                  .compute = DType::F32,
                  .result = DType::F32,
                  .level = Level::Element,
                  .inputs = {2, 3}};
  };
  expect_broken(element_after, "works on elements after a column reduction");
}

}  // namespace
}  // namespace spyre::kernels
