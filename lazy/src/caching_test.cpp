// spyre/lazy/caching_test.cpp — plans are found again, verified, evicted, dumped; modes agree.
#include <filesystem>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using Floats = std::vector<float>;

class CachingTest : public DeviceFixture {
 protected:
  /// A chain whose structure depends on `n`.
  Floats chain(std::size_t n) {
    const DeviceTensor x = tensor<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8});
    for (std::size_t bit = 0; bit < 6; ++bit) {
      if ((n >> bit & 1U) != 0) apply("add", {in(x), number(static_cast<double>(bit + 1))}, x);
      else apply("mul", {in(x), number(0.5)}, x);
    }
    return read<float>(x);
  }
  static Floats expected(std::size_t n) {
    Floats x{1, 2, 3, 4, 5, 6, 7, 8};
    for (std::size_t bit = 0; bit < 6; ++bit)
      for (float& v : x) v = (n >> bit & 1U) != 0 ? v + static_cast<float>(bit + 1) : v * 0.5F;
    return x;
  }
};

TEST_F(CachingTest, SteadyLoopsHit) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(chain(5), expected(5));
  EXPECT_EQ(device.stats().plan_cache.misses, 1U);
  EXPECT_EQ(device.stats().plan_cache.hits, 99U);
}

TEST_F(CachingTest, PartsOfATensorAreOneProgram) {
  Floats all(64);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
  const DeviceTensor x = tensor<float>({64}, all);
  for (std::int64_t begin = 8; begin < 56; begin += 4) {
    const DeviceTensor y = empty({4});
    apply("mul", {in(x.slice(begin, begin + 4)), number(2)}, y);
    // In front of the part that was touched first, and behind it.
    apply("sub", {in(y), in(x.slice(begin - 8, begin - 4))}, y);
    apply("add", {in(y), in(x.slice(begin + 4, begin + 8))}, y);
    const auto b = static_cast<float>(begin);
    EXPECT_EQ(read<float>(y), (Floats{2 * b + 12, 2 * b + 14, 2 * b + 16, 2 * b + 18})) << begin;
  }
  EXPECT_EQ(device.stats().plan_cache.misses, 1U);
}

TEST_F(CachingTest, PartsAreWrittenInPlace) {
  const DeviceTensor x = tensor<float>({32}, Floats(32, 1));
  Floats expected(32, 1);
  for (std::size_t begin = 4; begin < 28; begin += 4) {
    const auto at = static_cast<std::int64_t>(begin);
    apply("mul", {in(x.slice(at, at + 4)), number(3)}, x.slice(at, at + 4));
    // What overlaps it comes after it; what nobody can tell from a dead write is none.
    apply("add", {in(x.slice(at - 2, at + 2)), number(1)}, x.slice(at - 2, at + 2));
    apply("add", {in(x.slice(at - 4, at)), number(5)}, x.slice(at - 4, at));
    for (std::size_t i = 0; i < 4; ++i) expected[begin + i] *= 3;
    for (std::size_t i = 0; i < 4; ++i) expected[begin - 2 + i] += 1;
    for (std::size_t i = 0; i < 4; ++i) expected[begin - 4 + i] += 5;
    EXPECT_EQ(read<float>(x), expected) << begin;
  }
  EXPECT_EQ(device.stats().plan_cache.misses, 1U);
}

TEST_F(CachingTest, AlternatingTracesArePredicted) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(chain(5), expected(5));
    EXPECT_EQ(chain(9), expected(9));
  }
  EXPECT_EQ(device.stats().plan_cache.misses, 2U);
  EXPECT_GE(device.stats().plans_predicted, 36U);
  // Something else in between, and other numbers of buffers, types and owners, are noticed.
  EXPECT_EQ(chain(17), expected(17));
  EXPECT_EQ(chain(9), expected(9));
  EXPECT_EQ(device.stats().plan_cache.misses, 3U);
}

TEST_F(CachingTest, APredictionIsVerified) {
  const auto kept_or_not = [&](bool keep) {
    const DeviceTensor x = tensor<float>({2}, {1, 2});
    DeviceTensor y = empty({2}), z = empty({2});
    apply("mul", {in(x), number(2)}, y);
    apply("add", {in(y), number(1)}, z);
    const DeviceTensor kept = keep ? y : z;
    y.buffer = {};
    EXPECT_EQ(read<float>(z), (Floats{3, 5}));
    return read<float>(kept);
  };
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(kept_or_not(false), (Floats{3, 5}));
    if (i % 3 == 2) { EXPECT_EQ(kept_or_not(true), (Floats{2, 4})); }
  }
  EXPECT_EQ(device.stats().plan_cache.misses, 2U);
}

TEST_F(CachingTest, CollidingHashesStayCorrect) {
  device.set_hash_mask(2);
  for (int round = 0; round < 2; ++round)
    for (std::size_t n = 0; n < 64; ++n) EXPECT_EQ(chain(n), expected(n));
  EXPECT_EQ(device.stats().plan_cache.hits, 64U);
}

TEST_F(CachingTest, EvictedPlansAreMadeAgain) {
  Settings settings = device.settings();
  settings.plan_cache = 16_KiB;
  device.configure(settings);
  for (int round = 0; round < 2; ++round)
    for (std::size_t n = 0; n < 64; ++n) EXPECT_EQ(chain(n), expected(n));
  const kernels::CacheCounts counts = device.stats().plan_cache;
  EXPECT_GT(counts.evictions, 0U);
  EXPECT_LE(counts.bytes, (16_KiB).count);
}

TEST_F(CachingTest, SettingsThatChangePlansMiss) {
  chain(5);
  Settings settings = device.settings();
  settings.execution = kernels::Execution::Null;
  device.configure(settings);
  chain(5);
  EXPECT_EQ(device.stats().plan_cache.misses, 2U);
  EXPECT_EQ(device.settings(), settings);
}

TEST_F(CachingTest, AllModesGiveTheSameBits) {
  std::size_t eager_runs = 0;
  for (const auto execution : {kernels::Execution::Scalar, kernels::Execution::Vector})
    for (const Mode mode : {Mode::Lazy, Mode::Eager})
      for (const std::string_view passes : {"", "-fuse_pointwise"}) {
        Settings settings = device.settings();
        settings.execution = execution;
        settings.mode = mode;
        settings.passes = passes;
        device.configure(settings);
        EXPECT_EQ(chain(37), expected(37));
        eager_runs += mode == Mode::Eager ? 1 : 0;
      }
  EXPECT_EQ(flushes(FlushReason::EagerMode), eager_runs * 6);
}

TEST_F(CachingTest, EveryMissHasACause) {
  const auto misses = [&](MissCause cause) {
    return device.stats().plan_misses[static_cast<std::size_t>(cause)];
  };
  const auto add = [&](const Dims& sizes) {
    apply("add", {number(1), number(2)}, empty(sizes));
    const DeviceTensor kept = empty(sizes);
    apply("add", {number(1), number(2)}, kept);
    device.synchronize(kStream);
  };
  add({8});
  EXPECT_EQ(misses(MissCause::NewProgram), 1U);
  add({9});
  EXPECT_EQ(misses(MissCause::NewShapes), 1U);
  const DeviceTensor given = tensor<float>({8}, Floats(8, 1)), out = empty({8});
  apply("exp", {in(given)}, out);
  device.synchronize(kStream);
  apply("exp", {in(given)}, out);  // now `out` has memory
  device.synchronize(kStream);
  EXPECT_EQ(misses(MissCause::NewProgram), 2U);
  EXPECT_EQ(misses(MissCause::NewBuffers), 1U);
  device.empty_cache();
  add({9});
  EXPECT_EQ(misses(MissCause::Forgotten), 1U);
  Settings settings = device.settings();
  settings.passes = "-duplicates";
  device.configure(settings);
  add({9});
  EXPECT_EQ(misses(MissCause::NewSettings), 1U);
  EXPECT_EQ(device.stats().plan_cache.misses, 6U);
}

TEST_F(CachingTest, EmptyCacheForgetsPlans) {
  chain(5);
  device.empty_cache();
  EXPECT_EQ(device.stats().plan_cache.entries, 0U);
  EXPECT_EQ(chain(5), expected(5));
}

TEST_F(CachingTest, FusionIsCounted) {
  chain(5);
  const Stats stats = device.stats();
  EXPECT_EQ(stats.dispatches, 6U);
  EXPECT_EQ(stats.ops_planned, 6U);
  EXPECT_EQ(stats.ops_fused, 6U);
  EXPECT_EQ(stats.kernel_launches, 1U);
  device.reset_stats();
  EXPECT_EQ(device.stats().dispatches, 0U);
}

TEST_F(CachingTest, DumpWritesOneFilePerStage) {
  const std::filesystem::path directory =
      std::filesystem::path(::testing::TempDir()) /
      str("spyre_dump_", ::testing::UnitTest::GetInstance()->random_seed());
  Settings settings = device.settings();
  settings.dump_directory = directory.string();
  device.configure(settings);
  chain(5);
  for (const char* name :
       {"0001.trace.txt", "0001.fused.txt", "0001.dot", "0001.plan.txt", "0001.asm"})
    EXPECT_GT(std::filesystem::file_size(directory / name), 0U) << name;
  std::filesystem::remove_all(directory);
}

TEST_F(CachingTest, DumpRefusesWhatIsNoDirectory) {
  Settings settings = device.settings();
  settings.dump_directory = "/dev/null";
  EXPECT_THROW(device.configure(settings), InvalidArgument);
  EXPECT_EQ(device.settings().dump_directory, "");
}

}  // namespace
}  // namespace spyre::lazy
