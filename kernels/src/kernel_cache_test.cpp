// spyre/kernels/kernel_cache_test.cpp — hits, collisions, eviction, threads.
#include "spyre/kernels/kernel_cache.h"

#include <gtest/gtest.h>

#include <thread>

#include "spec_builder.h"

namespace spyre::kernels {
namespace {

/// A different spec for each number.
KernelSpec numbered_spec(int number) {
  SpecBuilder b(Form::Pointwise);
  std::uint16_t x = b.load(DType::F32);
  for (; number > 0; number /= 2) x = b.apply(number % 2 ? "neg" : "abs", DType::F32, {x});
  b.store(x, DType::F32);
  return b.spec();
}

constexpr Isa kIsa = Isa::Avx2;

TEST(KernelCacheTest, EqualSpecsShareCode) {
  KernelCache cache(1_MiB);
  const auto first = cache.find_or_compile(numbered_spec(5), Execution::Vector, kIsa);
  const auto again = cache.find_or_compile(numbered_spec(5), Execution::Vector, kIsa);
  EXPECT_EQ(first, again);
  EXPECT_EQ(cache.counts().hits, 1U);
  EXPECT_EQ(cache.counts().misses, 1U);
  EXPECT_EQ(cache.counts().entries, 1U);
  EXPECT_EQ(cache.kernels_compiled(), 1U);
  EXPECT_GT(cache.compile_nanoseconds(), 0U);
  EXPECT_GE(cache.counts().bytes, first->code_bytes().count);
}

TEST(KernelCacheTest, ExecutionIsPartOfTheKey) {
  KernelCache cache(1_MiB);
  const KernelSpec spec = numbered_spec(3);
  const auto vector = cache.find_or_compile(spec, Execution::Vector, kIsa);
  const auto scalar = cache.find_or_compile(spec, Execution::Scalar, kIsa);
  const auto null = cache.find_or_compile(spec, Execution::Null, kIsa);
  EXPECT_NE(vector, scalar);
  EXPECT_NE(scalar, null);
  EXPECT_GT(vector->code_bytes(), scalar->code_bytes());
}

TEST(KernelCacheTest, CollidingHashesAreToldApartByTheirKeys) {
  KernelCache cache(16_MiB);
  cache.set_hash_mask(4);
  for (int i = 1; i <= 100; ++i) cache.find_or_compile(numbered_spec(i), Execution::Null, kIsa);
  for (int i = 1; i <= 100; ++i)
    EXPECT_EQ(cache.find_or_compile(numbered_spec(i), Execution::Null, kIsa)->spec(),
              numbered_spec(i));
  EXPECT_EQ(cache.counts().entries, 100U);
  EXPECT_EQ(cache.counts().hits, 100U);
}

TEST(KernelCacheTest, LeastRecentlyUsedGoesFirstAndLivesOnWithItsPlan) {
  KernelCache cache(64_KiB);
  const auto held = cache.find_or_compile(numbered_spec(1), Execution::Vector, kIsa);
  for (int i = 2; i <= 300; ++i) {
    cache.find_or_compile(numbered_spec(i), Execution::Vector, kIsa);
    cache.find_or_compile(numbered_spec(2), Execution::Vector, kIsa);
    EXPECT_LE(cache.counts().bytes, (64_KiB).count);
  }
  EXPECT_GT(cache.counts().evictions, 0U);
  cache.reset_counts();
  cache.find_or_compile(numbered_spec(2), Execution::Vector, kIsa);
  EXPECT_EQ(cache.counts().hits, 1U);
  cache.find_or_compile(numbered_spec(1), Execution::Vector, kIsa);
  EXPECT_EQ(cache.counts().misses, 1U);
  // The evicted kernel still runs.
  float x = 3;
  float y = 0;
  const std::uint64_t bases[] = {reinterpret_cast<std::uint64_t>(&x),
                                 reinterpret_cast<std::uint64_t>(&y)};
  const std::int64_t extents[] = {1};
  const std::int64_t strides[] = {4, 4};
  held->run({bases, extents, strides, nullptr}, 0, 1, nullptr);
  EXPECT_EQ(y, -3);
}

TEST(KernelCacheTest, ClearForgetsEntriesAndKeepsCounts) {
  KernelCache cache(1_MiB);
  cache.find_or_compile(numbered_spec(1), Execution::Vector, kIsa);
  cache.clear();
  EXPECT_EQ(cache.counts().entries, 0U);
  EXPECT_EQ(cache.counts().bytes, 0U);
  cache.find_or_compile(numbered_spec(1), Execution::Vector, kIsa);
  EXPECT_EQ(cache.counts().misses, 2U);
}

TEST(KernelCacheTest, ThreadsShareIt) {
  KernelCache cache(128_KiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&cache, t] {
      for (int i = 0; i < 200; ++i) {
        const KernelSpec spec = numbered_spec(1 + (i * 7 + t) % 120);
        EXPECT_EQ(cache.find_or_compile(spec, Execution::Vector, kIsa)->spec(), spec);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(cache.counts().hits + cache.counts().misses, 800U);
}

}  // namespace
}  // namespace spyre::kernels
