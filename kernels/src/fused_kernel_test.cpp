// spyre/kernels/fused_kernel_test.cpp — compiled kernels against the interpreter, bit for bit: every op, random
// chains, rows, columns, every element type and stride, in place, split into ranges.
#include <gtest/gtest.h>

#include "cpu_features.h"
#include "launch_sample.h"
#include "spec_builder.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

constexpr DType kAllDTypes[] = {DType::Bool, DType::U8,  DType::I8,   DType::I16, DType::I32,
                                DType::I64,  DType::F16, DType::BF16, DType::F32, DType::F64};
constexpr DType kFloatDTypes[] = {DType::F16, DType::BF16, DType::F32, DType::F64};

class FusedKernelTest : public testing::TestWithParam<Isa> {
 protected:
  void SetUp() override {
    if (!cpu_runs(GetParam())) GTEST_SKIP() << "this CPU lacks the instruction set";
  }

  /// Compares on several extents; `alias` makes the last argument overwrite the first.
  void check(const KernelSpec& spec, const std::vector<std::vector<std::int64_t>>& shapes,
             bool alias = false) {
    const std::unique_ptr<Kernel> compiled = compile(spec, GetParam());
    const std::unique_ptr<Kernel> interpreted = interpret(spec);
    for (const std::vector<std::int64_t>& extents : shapes) {
      LaunchSample sample(spec, extents, ++seed_);
      if (alias) sample.store_over_first(spec.arguments.size() - 1);
      std::string expected_fault;
      std::string fault;
      const auto expected = sample.run(*interpreted, 1, expected_fault);
      const auto got = sample.run(*compiled, static_cast<int>(seed_ % 3) + 1, fault);
      EXPECT_EQ(expected_fault, fault) << spec.print();
      if (!fault.empty()) continue;
      const std::string difference = sample.difference(expected, got);
      EXPECT_EQ(difference, "") << spec.print() << "extents " << Dims(std::span(extents));
      if (!difference.empty()) return;
    }
  }

  std::uint32_t seed_ = 0;
};

DType result_of(const OpInfo& info, DType compute) {
  return info.types == TypeRule::Compare || info.types == TypeRule::ToBool ? DType::Bool : compute;
}

TEST_P(FusedKernelTest, EveryOpInEveryTypeAlone) {
  for (const Op& op : op_table()) {
    for (const DType type : kAllDTypes) {
      if (!op.info.computes.has(type)) continue;
      SpecBuilder b(Form::Pointwise);
      std::vector<std::uint16_t> inputs;
      for (int i = 0; i < op.info.arity; ++i) inputs.push_back(b.load(type));
      const DType result = result_of(op.info, type);
      b.store(b.apply(op.info.name, type, result, inputs), result);
      check(b.spec(), {{1}, {7}, {333}});
    }
  }
}

TEST_P(FusedKernelTest, EveryOpInPlace) {
  for (const Op& op : op_table()) {
    if (!op.info.computes.has(DType::F32) || result_of(op.info, DType::F32) != DType::F32) continue;
    SpecBuilder b(Form::Pointwise);
    std::vector<std::uint16_t> inputs;
    for (int i = 0; i < op.info.arity; ++i) inputs.push_back(b.load(DType::F32));
    b.store(b.apply(op.info.name, DType::F32, inputs), DType::F32);
    check(b.spec(), {{100}}, true);
  }
}

TEST_P(FusedKernelTest, CastsBetweenAllTypes) {
  for (const DType from : kAllDTypes) {
    for (const DType to : kAllDTypes) {
      SpecBuilder b(Form::Pointwise);
      b.store(b.load(from), to);
      check(b.spec(), {{1}, {15}, {16}, {40}, {257}});
    }
  }
}

TEST_P(FusedKernelTest, AllStridesOfAllTypesAtAllTails) {
  for (const DType type : kAllDTypes) {
    for (const InnerStride in : {InnerStride::Zero, InnerStride::Unit, InnerStride::Any}) {
      for (const InnerStride out : {InnerStride::Unit, InnerStride::Any}) {
        SpecBuilder b(Form::Pointwise, 3);
        const std::uint16_t x = b.load(type, in);
        const std::uint16_t y = b.load(type);
        const DType compute = type == DType::Bool ? DType::I32 : type;
        b.store(b.apply("maximum", compute, type, {x, y}), type, out);
        std::vector<std::vector<std::int64_t>> shapes;
        for (std::int64_t n = 1; n <= 35; ++n) shapes.push_back({2, 1 + n % 3, n});
        check(b.spec(), shapes);
      }
    }
  }
}

TEST_P(FusedKernelTest, LongRowsSplitIntoBlocks) {
  SpecBuilder b(Form::Pointwise, 2);
  const std::uint16_t x = b.load(DType::F32);
  const std::uint16_t scale = b.param(DType::F32);
  const std::uint16_t product = b.apply("mul", DType::F32, {x, scale});
  b.store(b.apply("add_scaled", DType::F32, {product, x, scale}), DType::F32);
  check(b.spec(), {{1, 4096}, {3, 4097}, {2, 12289}, {5, 8191}});
}

TEST_P(FusedKernelTest, CountersOfEveryStride) {
  for (const InnerStride inner : {InnerStride::Zero, InnerStride::Unit, InnerStride::Any}) {
    SpecBuilder b(Form::Pointwise, 2);
    const std::uint16_t i = b.iota(inner);
    b.store(b.apply("cast", DType::I64, DType::I64, {i}), DType::I64);
    b.store(i, DType::F32);
    check(b.spec(), {{3, 1}, {2, 50}, {1, 5000}});
  }
}

/// Chains of ops that always have a body, on values of a few types.
TEST_P(FusedKernelTest, RandomChains) {
  std::mt19937 random(7);
  std::vector<const Op*> ops;
  for (const Op& op : op_table())
    if (op.info.cost == Cost::Simple && op.info.computes.has(DType::F32) &&
        op.info.signature != Signature::Internal)
      ops.push_back(&op);
  for (int round = 0; round < 60; ++round) {
    SpecBuilder b(Form::Pointwise, 2);
    std::vector<std::uint16_t> values;
    for (int i = 0; i < 3; ++i)
      values.push_back(b.load(kFloatDTypes[random() % 4], static_cast<InnerStride>(random() % 3)));
    values.push_back(b.param(DType::F32));
    for (int i = 0; i < 12; ++i) {
      const Op& op = *ops[random() % ops.size()];
      DType type = kFloatDTypes[random() % 4];
      if (!op.info.computes.has(type)) type = DType::F32;
      std::vector<std::uint16_t> inputs;
      for (int k = 0; k < op.info.arity; ++k)
        inputs.push_back(
            values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 5)]);
      values.push_back(b.apply(op.info.name, type, result_of(op.info, type), inputs));
    }
    for (std::size_t i = values.size() - 2; i < values.size(); ++i)
      b.store(values[i], b.step(values[i]).result, InnerStride::Unit);
    check(b.spec(), {{2, 40}, {1, 3}, {3, 129}});
  }
}

std::vector<std::vector<std::int64_t>> row_shapes() {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t n = 1; n <= 200; n += n < 70 ? 1 : 13) shapes.push_back({n % 4 + 1, n});
  shapes.push_back({2, 5000});
  return shapes;
}

KernelSpec softmax(DType type) {
  SpecBuilder b(Form::Row, 2);
  const std::uint16_t x = b.load(type);
  const std::uint16_t largest = b.reduce(Reduction::Max, type, type, x);
  const std::uint16_t shifted = b.apply("affine", DType::F32, {x, b.param(DType::F32), largest});
  const std::uint16_t e = b.apply("exp", DType::F32, {shifted});
  const std::uint16_t total = b.reduce(Reduction::Sum, DType::F32, DType::F32, e);
  b.store(b.apply("div", DType::F32, {e, total}), type);
  return b.spec();
}

KernelSpec layer_norm(DType type) {
  SpecBuilder b(Form::Row, 2);
  const DType f32 = DType::F32;
  const std::uint16_t x = b.load(type);
  const std::uint16_t n = b.param(f32);
  const std::uint16_t mean = b.apply("div", f32, {b.reduce(Reduction::Sum, f32, f32, x), n});
  const std::uint16_t centred = b.apply("sub_scaled", f32, {x, mean, b.param(f32)});
  const std::uint16_t square = b.apply("square", f32, {centred});
  const std::uint16_t variance =
      b.apply("div", f32, {b.reduce(Reduction::Sum, f32, f32, square), n});
  const std::uint16_t scale = b.apply("rsqrt", f32, {variance});
  const std::uint16_t normal = b.apply("mul", f32, {centred, scale});
  const std::uint16_t weight = b.load(type);
  b.store(b.apply("mul", f32, {normal, weight}), type);
  b.store(mean, type, InnerStride::Zero);
  b.store(scale, f32, InnerStride::Zero);
  return b.spec();
}

TEST_P(FusedKernelTest, SoftmaxRows) {
  for (const DType type : kFloatDTypes) check(softmax(type), row_shapes());
  check(softmax(DType::F32), row_shapes(), true);
}

TEST_P(FusedKernelTest, LayerNormRows) {
  for (const DType type : kFloatDTypes) check(layer_norm(type), row_shapes());
}

constexpr Reduction kReductions[] = {Reduction::Sum, Reduction::Prod,   Reduction::Max,
                                     Reduction::Min, Reduction::ArgMax, Reduction::ArgMin,
                                     Reduction::Any, Reduction::All};

DType outcome_type(Reduction r, DType type) {
  if (r == Reduction::ArgMax || r == Reduction::ArgMin) return DType::I64;
  if (r == Reduction::Any || r == Reduction::All) return DType::Bool;
  const bool sums = r == Reduction::Sum || r == Reduction::Prod;
  return sums && !is_float(type) ? DType::I64 : type;
}

TEST_P(FusedKernelTest, EveryReductionOfEveryTypeAlongRows) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t n = 1; n <= 50; ++n) shapes.push_back({2, 2, n});
  shapes.push_back({1, 1, 1000});
  for (const Reduction r : kReductions) {
    for (const DType type : kAllDTypes) {
      for (const InnerStride inner : {InnerStride::Unit, InnerStride::Any}) {
        SpecBuilder b(Form::Row, 3);
        const DType out = outcome_type(r, type);
        b.store(b.reduce(r, type, out, b.load(type, inner)), out, InnerStride::Zero);
        check(b.spec(), shapes);
      }
    }
  }
}

TEST_P(FusedKernelTest, EveryReductionOfEveryTypeDownColumns) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::int64_t n = 1; n <= 37; ++n) shapes.push_back({2, n % 5 + 1, n});
  shapes.push_back({1, 40, 200});
  for (const Reduction r : kReductions) {
    for (const DType type : kAllDTypes) {
      for (const InnerStride inner : {InnerStride::Unit, InnerStride::Any}) {
        SpecBuilder b(Form::Column, 3);
        const DType out = outcome_type(r, type);
        b.store(b.reduce(r, type, out, b.load(type, inner)), out, inner);
        check(b.spec(), shapes);
      }
    }
  }
}

TEST_P(FusedKernelTest, QuirksOfTheCard) {
  for (const DType type : {DType::F16, DType::BF16, DType::F32}) {
    for (const Form form : {Form::Row, Form::Column}) {
      SpecBuilder b(form, 2);
      const std::uint16_t x = b.load(type);
      const std::uint16_t sum = b.reduce(Reduction::Sum, type, type, b.apply("add", type, {x, x}));
      b.store(b.apply("ceil", type, {b.apply("floor", type, {sum})}), type,
              form == Form::Row ? InnerStride::Zero : InnerStride::Unit);
      KernelSpec spec = b.spec();
      spec.numerics = Numerics::Quirks;
      check(spec, {{3, 1}, {1, 17}, {5, 100}, {40, 200}, {2, 1000}});
    }
  }
}

TEST_P(FusedKernelTest, ColumnsWithProducersEpiloguesAndSideOutputs) {
  SpecBuilder b(Form::Column, 2);
  const DType f32 = DType::F32;
  const std::uint16_t x = b.load(f32);
  const std::uint16_t w = b.load(DType::F16, InnerStride::Zero);
  const std::uint16_t bias = b.load(f32, InnerStride::Unit, Level::Result);
  const std::uint16_t y = b.apply("mul", f32, {x, w});
  const std::uint16_t z = b.apply("sub_scaled", f32, {y, bias, b.param(f32)});
  const std::uint16_t total = b.reduce(Reduction::Sum, f32, f32, z);
  const std::uint16_t at = b.reduce(Reduction::ArgMin, f32, DType::I64, z);
  b.store(z, f32);
  b.store(b.apply("mul", f32, {total, bias}), f32);
  b.store(at, DType::I64);
  check(b.spec(), {{1, 1}, {9, 15}, {30, 64}, {17, 131}});
}

TEST_P(FusedKernelTest, InPlaceRowsKeepWhatLaterPassesRead) {
  // y = x - mean(x) written over x, and x itself used again after the second reduction.
  SpecBuilder b(Form::Row, 2);
  const DType f32 = DType::F32;
  const std::uint16_t x = b.load(f32);
  const std::uint16_t total = b.reduce(Reduction::Sum, f32, f32, x);
  const std::uint16_t y = b.apply("mul", f32, {x, total});
  const std::uint16_t largest = b.reduce(Reduction::Max, f32, f32, y);
  const std::uint16_t z = b.apply("add_scaled", f32, {x, largest, b.param(f32)});
  b.store(z, f32);
  b.store(y, f32);
  check(b.spec(), {{3, 5}, {2, 100}, {4, 16}}, true);
}

TEST_P(FusedKernelTest, DivisionByZeroIsAFaultOnlyWhereItHappens) {
  for (const DType type : {DType::I32, DType::I64}) {
    SpecBuilder b(Form::Pointwise);
    const std::uint16_t x = b.load(type);
    b.store(b.apply("div_trunc", type, {x, b.param(type)}), type);
    const KernelSpec spec = b.spec();
    const std::unique_ptr<Kernel> kernel = compile(spec, GetParam());
    std::vector<std::int64_t> x_data(40, 77);
    std::vector<std::int64_t> y_data(40);
    const std::uint64_t bases[] = {reinterpret_cast<std::uint64_t>(x_data.data()),
                                   reinterpret_cast<std::uint64_t>(y_data.data())};
    const std::int64_t strides[] = {size_of(type), size_of(type)};
    for (std::int64_t n = 1; n <= 20; ++n) {
      const std::uint64_t seven = 7;
      const std::uint64_t zero = 0;
      kernel->run({bases, &n, strides, &seven}, 0, 1, nullptr);
      EXPECT_THROW(kernel->run({bases, &n, strides, &zero}, 0, 1, nullptr), Error);
    }
  }
}

TEST_P(FusedKernelTest, ResultsTooLargeForTheCachesAreTheSame) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply("neg", DType::F32, {b.load(DType::F32)}), DType::F32);
  const std::unique_ptr<Kernel> kernel = compile(b.spec(), GetParam());
  constexpr std::int64_t kCount = (std::int64_t{5} << 20) + 3;
  for (const std::size_t misaligned : {0, 1}) {
    std::vector<float> x(kCount);
    std::vector<float> room(kCount + 32, 7);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
    const std::uint64_t target =
        ((reinterpret_cast<std::uint64_t>(room.data()) + 63) & ~std::uint64_t{63}) + 4 * misaligned;
    const std::uint64_t bases[] = {reinterpret_cast<std::uint64_t>(x.data()), target};
    const std::int64_t extents[] = {kCount};
    const std::int64_t strides[] = {4, 4};
    kernel->run({bases, extents, strides, nullptr}, 0, kernel->work_items(extents), nullptr);
    const auto* y = reinterpret_cast<const float*>(target);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], -x[i]) << i;
    EXPECT_EQ(y[kCount], 7);
  }
}

TEST_P(FusedKernelTest, MoreArgumentsThanRegisters) {
  SpecBuilder b(Form::Pointwise, 2);
  std::vector<std::uint16_t> loads;
  for (int i = 0; i < 28; ++i)
    loads.push_back(b.load(DType::F32, i % 9 == 8 ? InnerStride::Any : InnerStride::Unit));
  for (int i = 0; i < 4; ++i) {
    std::uint16_t sum = loads[0];
    for (const std::uint16_t x : loads)
      sum = b.apply(i % 2 ? "maximum" : "mul", DType::F32, {sum, x});
    b.store(sum, DType::F32);
  }
  check(b.spec(), {{3, 5}, {2, 100}, {1, 1000}});
}

TEST_P(FusedKernelTest, MoreMasksThanRegisters) {
  for (const DType type : {DType::F32, DType::F64}) {
    SpecBuilder b(Form::Pointwise);
    const std::uint16_t x = b.load(type);
    const std::uint16_t y = b.load(type);
    std::vector<std::uint16_t> masks;
    for (int i = 0; i < 12; ++i) {
      const std::uint16_t shifted = b.apply("mul", type, {y, b.param(type)});
      masks.push_back(b.apply(i % 2 ? "lt" : "ge", type, DType::Bool, {x, shifted}));
    }
    std::uint16_t chosen = x;
    for (std::size_t i = masks.size(); i-- > 0;)
      chosen = b.apply("where", type, {masks[i], chosen, y});
    for (const std::uint16_t mask : masks) chosen = b.apply("where", type, {mask, y, chosen});
    b.store(chosen, type);
    check(b.spec(), {{7}, {100}});
  }
}

TEST_P(FusedKernelTest, LongProgramsAreStillCorrect) {
  SpecBuilder b(Form::Pointwise);
  std::vector<std::uint16_t> values{b.load(DType::F32), b.load(DType::F32)};
  for (int i = 0; i < 120; ++i)
    values.push_back(
        b.apply(i % 3 == 0 ? "tanh" : "maximum", DType::F32,
                i % 3 == 0 ? std::vector<std::uint16_t>{values.back()}
                           : std::vector<std::uint16_t>{values.back(), values[values.size() / 2]}));
  b.store(values.back(), DType::F32);
  check(b.spec(), {{100}});
}

INSTANTIATE_TEST_SUITE_P(Isas, FusedKernelTest, testing::Values(Isa::Avx2, Isa::Avx512),
                         [](const auto& isa) {
                           return isa.param == Isa::Avx2 ? "Avx2" : "Avx512";
                         });

}  // namespace
}  // namespace spyre::kernels
