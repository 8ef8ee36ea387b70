// spyre/kernels/register_need_test.cpp — how many values are alive at once.
#include "register_need.h"

#include <gtest/gtest.h>

#include "spec_builder.h"

namespace spyre::kernels {
namespace {

constexpr DType kF32 = DType::F32;

RegisterNeed need_of(const SpecBuilder& b) {
  const KernelSpec spec = b.spec();
  return register_need(lower(spec).passes[0].points, spec);
}

TEST(RegisterNeed, AChainNeedsOneRegister) {
  SpecBuilder b(Form::Pointwise);
  std::uint16_t x = b.load(kF32);
  for (int i = 0; i < 20; ++i) x = b.apply("mul", kF32, {x, b.param(kF32)});
  b.store(x, kF32);
  EXPECT_EQ(need_of(b).vectors, 1);
}

TEST(RegisterNeed, ValuesThatWaitAreCounted) {
  SpecBuilder b(Form::Pointwise);
  const std::uint16_t x = b.load(kF32), y = b.load(kF32), z = b.load(kF32);
  b.store(b.apply("mul", kF32, {x, b.apply("mul", kF32, {y, z})}), kF32);
  EXPECT_EQ(need_of(b).vectors, 3);
}

TEST(RegisterNeed, DoublesTakeTwo) {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply("mul", DType::F64, {b.load(DType::F64), b.load(DType::F64)}), DType::F64);
  EXPECT_EQ(need_of(b).vectors, 4);
}

}  // namespace
}  // namespace spyre::kernels
