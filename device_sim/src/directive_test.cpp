// spyre/device_sim/directive_test.cpp — what lies where, and what moves where.
#include "spyre/device_sim/directive.h"

#include <gtest/gtest.h>

#include <numeric>

#include "price.h"
#include "spyre/base/error.h"
#include "spyre/device_sim/device_spec.h"

namespace spyre::device_sim {
namespace {

using enum MemoryPolicy;
using Shares = std::vector<DomainShare>;
using Counts = std::vector<std::uint64_t>;

TEST(Directive, InterleavedSharesAreWholeBlocks) {
  EXPECT_EQ(interleaved(1000_B, {}, 3),
            (Shares{{0, 0_B, 384_B}, {1, 384_B, 768_B}, {2, 768_B, 1000_B}}));
  EXPECT_EQ(interleaved(512_B, {3, 1}, 4), (Shares{{3, 0_B, 256_B}, {1, 256_B, 512_B}}));
  EXPECT_EQ(interleaved(130_B, {}, 4), (Shares{{0, 0_B, 128_B}, {1, 128_B, 130_B}}));
  EXPECT_EQ(interleaved(0_B, {}, 4), Shares{});
}

TEST(Directive, NamesGoBothWays) {
  for (const MemoryPolicy policy : {Default, Bind, Preferred, Interleave})
    EXPECT_EQ(memory_policy_named(name_of(policy)), policy);
  EXPECT_THROW(memory_policy_named("spread"), InvalidArgument);
  EXPECT_EQ(text_of({}), "");
  EXPECT_EQ(text_of({Bind, {2, 0}}), " (bind memory domains 2, 0)");
}

TEST(DomainTraffic, FollowsTheSharesOfWhatIsInterleaved) {
  DomainTraffic traffic(4);
  traffic.add({Interleave, {}}, 1024_B, {0_B, 1024_B, 1024});
  EXPECT_EQ(traffic.bytes(), (Counts{256, 256, 256, 256}));
  traffic.add({Interleave, {1, 2}}, 1024_B, {256_B, 1024_B, 768});
  EXPECT_EQ(traffic.bytes(), (Counts{256, 512, 768, 256}));
  traffic.add({Interleave, {}}, 1024_B, {0_B, 512_B, 64});  // a part of what lies there
  EXPECT_EQ(traffic.bytes(), (Counts{288, 544, 768, 256}));
}

TEST(DomainTraffic, SpreadsWhatADirectiveLeavesOpen) {
  DomainTraffic traffic(4);
  traffic.add({}, 100_B, {0_B, 100_B, 10});
  EXPECT_EQ(traffic.bytes(), (Counts{3, 3, 2, 2}));
  traffic.add({Bind, {2}}, 100_B, {0_B, 100_B, 100});
  traffic.add({Preferred, {1, 3}}, 100_B, {0_B, 100_B, 100});
  EXPECT_EQ(traffic.bytes(), (Counts{3, 53, 102, 52}));
}

TEST(DomainTraffic, LosesNothing) {
  for (std::uint64_t begin = 0; begin < 3000; begin += 217)
    for (std::uint64_t end = begin + 1; end <= 3000; end += 391) {
      DomainTraffic traffic(5);
      traffic.add({Interleave, {4, 0, 2}}, 3000_B, {{begin}, {end}, (end - begin) / 3 + 1});
      EXPECT_EQ(std::accumulate(traffic.bytes().begin(), traffic.bytes().end(), std::uint64_t{0}),
                (end - begin) / 3 + 1);
    }
}

TEST(DomainTraffic, TheBusiestDomainBoundsAKernel) {
  DeviceSpec spec;
  spec.memory_domains = 4;
  Work work{.bytes_read = 1 << 22, .bytes_written = 1 << 20};
  const Price spread = price_of(work, spec);
  work.by_domain = Counts(4, (work.bytes_read + work.bytes_written) / 4);
  EXPECT_EQ(price_of(work, spec).total, spread.total) << "evenly is what is priced without a word";
  work.by_domain = {0, 0, work.bytes_read + work.bytes_written, 0};
  const Price bound = price_of(work, spec);
  EXPECT_EQ(bound.rule, Rule::MemoryDomain);
  EXPECT_EQ(bound.bound, Bound::Memory);
  EXPECT_NEAR(static_cast<double>(bound.total.count),
              1000.0 * static_cast<double>(work.by_domain[2]) / (spec.memory_gb_per_s / 4), 1);
  for (const int others : {1, 2, 8}) {
    spec.memory_domains = others;
    EXPECT_EQ(price_of(work, spec).total, spread.total) << "what if there were " << others;
  }
}

}  // namespace
}  // namespace spyre::device_sim
