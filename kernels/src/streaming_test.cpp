// spyre/kernels/streaming_test.cpp — which launches write past the caches.
#include "streaming.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "spec_builder.h"

namespace spyre::kernels {
namespace {

constexpr std::int64_t kRow = 1024;
constexpr Bytes kCache = 32_MiB;

/// A launch over rows of 1024 float32, whose argument a starts at address bases[a].
bool outgrows(const KernelSpec& spec, std::int64_t rows, std::vector<std::uint64_t> bases,
              bool one_row_is_read = false) {
  const std::vector<std::int64_t> extents{rows, kRow};
  std::vector<std::int64_t> strides;
  for (const ArgumentSpec& a : spec.arguments) {
    const bool repeated = one_row_is_read && a.kind == ArgumentSpec::Kind::Load;
    strides.insert(strides.end(), {repeated ? 0 : kRow * 4, 4});
  }
  return outgrows_caches(spec, {bases.data(), extents.data(), strides.data(), nullptr}, kCache);
}

KernelSpec doubled() {
  SpecBuilder b(Form::Pointwise, 2);
  const std::uint16_t x = b.load(DType::F32);
  b.store(b.apply("mul", DType::F32, {x, x}), DType::F32);
  return b.spec();
}

std::int64_t rows_of(Bytes bytes) { return static_cast<std::int64_t>(bytes.count) / (kRow * 4); }

TEST(StreamingTest, ResultsBesideAsMuchThatIsReadGoPastHalfACache) {
  EXPECT_TRUE(outgrows(doubled(), rows_of(16_MiB), {1, 2}));
  EXPECT_FALSE(outgrows(doubled(), rows_of(16_MiB) - 1, {1, 2}));
}

TEST(StreamingTest, ResultsBesideLittleStayUpToTwoCaches) {
  EXPECT_FALSE(outgrows(doubled(), rows_of(64_MiB) - 1, {1, 2}, true));
  EXPECT_TRUE(outgrows(doubled(), rows_of(64_MiB), {1, 2}, true));
}

TEST(StreamingTest, WhatIsOverwrittenInPlaceIsAtHand) {
  EXPECT_FALSE(outgrows(doubled(), rows_of(256_MiB), {1, 1}));
}

TEST(StreamingTest, SmallLaunchesStay) { EXPECT_FALSE(outgrows(doubled(), 1, {1, 2})); }

}  // namespace
}  // namespace spyre::kernels
