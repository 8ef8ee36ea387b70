// spyre/kernels/loop_width_test.cpp — vectors side by side give the interpreter's bits: for every number of them, at every
// tail, in place, with more parameters than registers.
#include <gtest/gtest.h>

#include "cpu_features.h"
#include "launch_sample.h"
#include "spec_builder.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

const std::vector<std::int64_t> kLengths{1,  7,  8,   15,  16,  17,  31,  32,  33, 63,
                                         64, 65, 127, 128, 129, 255, 256, 257, 300};

class LoopWidthTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!cpu_runs(GetParam())) GTEST_SKIP() << "this CPU lacks the instruction set";
  }

  void check(const KernelSpec& spec, bool in_place = false) {
    const std::unique_ptr<Kernel> compiled = compile(spec, GetParam());
    const std::unique_ptr<Kernel> interpreted = interpret(spec);
    for (const std::int64_t length : kLengths) {
      std::vector<std::int64_t> extents{length};
      if (spec.rank == 2) extents = {3, length};
      if (spec.form == Form::Column) extents = {length % 7 + 1, length};
      LaunchSample sample(spec, extents, static_cast<std::uint32_t>(length));
      if (in_place) sample.store_over_first(spec.arguments.size() - 1);
      std::string fault;
      const auto expected = sample.run(*interpreted, 1, fault);
      const auto got = sample.run(*compiled, 1, fault);
      ASSERT_EQ(fault, "");
      ASSERT_EQ(sample.difference(expected, got), "") << spec.print() << "length " << length;
    }
  }
};

/// `ops` steps that each have a parameter of their own.
KernelSpec chain(DType type, int ops) {
  SpecBuilder b(Form::Pointwise);
  std::uint16_t x = b.load(type);
  for (int i = 0; i < ops; ++i)
    x = b.apply(
        i % 3 == 2   ? "sub_scaled"
        : i % 3 == 1 ? "maximum"
                     : "mul",
        type,
        i % 3 == 2 ? std::vector{x, b.param(type), b.param(type)} : std::vector{x, b.param(type)});
  b.store(x, type);
  return b.spec();
}

TEST_P(LoopWidthTest, ChainsOfAnyLength) {
  for (const DType type : {DType::F32, DType::F64, DType::I32, DType::BF16, DType::I64})
    for (const int ops : {1, 6, 12, 30, 60, 90}) check(chain(type, ops), ops % 4 == 0);
}

TEST_P(LoopWidthTest, ManyValuesAliveAtOnce) {
  for (const int width : {2, 5, 9, 20}) {
    SpecBuilder b(Form::Pointwise);
    std::vector<std::uint16_t> values;
    const std::uint16_t x = b.load(DType::F32);
    for (int i = 0; i < width; ++i)
      values.push_back(b.apply("mul", DType::F32, {x, b.param(DType::F32)}));
    std::uint16_t sum = x;
    while (!values.empty()) {
      sum = b.apply("add", DType::F32, {sum, values.back()});
      values.pop_back();
    }
    b.store(sum, DType::F32);
    check(b.spec());
  }
}

TEST_P(LoopWidthTest, FusedMultiplyAddsOverwriteOnlyTheDead) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t x = b.load(DType::F32), y = b.load(DType::F32), p = b.param(DType::F32);
  const std::uint16_t square = b.apply("mul", DType::F32, {x, x});
  const std::uint16_t one = b.apply("add_scaled", DType::F32, {square, y, square});
  const std::uint16_t two = b.apply("add_scaled", DType::F32, {p, square, one});
  const std::uint16_t three = b.apply("add_scaled", DType::F32, {two, one, p});
  const std::uint16_t four = b.apply("add_scaled", DType::F32, {three, three, three});
  b.store(square, DType::F32);
  b.store(one, DType::F32);
  b.store(four, DType::F32);
  check(b.spec());
}

TEST_P(LoopWidthTest, RowsWithShortAndLongPasses) {
  for (const Reduction r : {Reduction::Sum, Reduction::Max, Reduction::ArgMin}) {
    for (const InnerStride inner : {InnerStride::Unit, InnerStride::Any}) {
      SpecBuilder b(Form::Row, 2);
      const std::uint16_t x = b.load(DType::F32, inner);
      const std::uint16_t e = b.apply("exp", DType::F32, {x});
      const bool indexes = r == Reduction::ArgMin;
      const std::uint16_t outcome = b.reduce(r, DType::F32, indexes ? DType::I64 : DType::F32, e);
      const std::uint16_t total = b.reduce(Reduction::Sum, DType::F32, DType::F32, x);
      b.store(outcome, indexes ? DType::I64 : DType::F32, InnerStride::Zero);
      b.store(b.apply("mul", DType::F32, {e, total}), DType::F32);
      check(b.spec());
    }
  }
}

TEST_P(LoopWidthTest, ColumnsWithProducers) {
  SpecBuilder b(Form::Column, 2);
  const std::uint16_t x = b.load(DType::F32);
  const std::uint16_t e =
      b.apply("exp", DType::F32, {b.apply("mul", DType::F32, {x, b.param(DType::F32)})});
  b.store(b.reduce(Reduction::Sum, DType::F32, DType::F32, e), DType::F32);
  b.store(b.reduce(Reduction::Min, DType::F32, DType::F32, x), DType::F32);
  check(b.spec());
}

INSTANTIATE_TEST_SUITE_P(Isas, LoopWidthTest, testing::Values(Isa::Avx2, Isa::Avx512),
                         [](const auto& isa) {
                           return isa.param == Isa::Avx2 ? "Avx2" : "Avx512";
                         });

}  // namespace
}  // namespace spyre::kernels
