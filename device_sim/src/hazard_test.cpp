// spyre/device_sim/hazard_test.cpp — read-write pairs over exact ranges.
#include "hazard.h"

#include <gtest/gtest.h>

namespace spyre::device_sim {
namespace {

Piece piece(std::uint64_t offset, std::uint64_t length, std::uint16_t region = 0) {
  return {.region = {region}, .offset = {offset}, .length = {length}};
}

Operation compute(std::vector<Piece> reads, std::vector<Piece> writes) {
  return {.what = Compute{.arguments = piece(1 << 20, 128)},
          .footprint = {std::move(reads), std::move(writes)}};
}
std::byte host_memory{};
Operation upload(Piece target) {
  return {.what = HostToDevice{.source = &host_memory, .target = target}};
}
Operation download(Piece source) {
  return {.what = DeviceToHost{.source = source, .target = &host_memory}};
}

bool both_ways(const Operation& a, const Operation& b) {
  EXPECT_EQ(conflict(a, b), conflict(b, a));
  return conflict(a, b);
}

TEST(Hazard, WriteAgainstReadAndWrite) {
  const Operation kernel = compute({piece(0, 256)}, {piece(512, 256)});
  EXPECT_TRUE(both_ways(kernel, upload(piece(128, 64))));
  EXPECT_TRUE(both_ways(kernel, upload(piece(700, 400))));
  EXPECT_TRUE(both_ways(kernel, download(piece(512, 1))));
}

TEST(Hazard, TwoReadsAreFree) {
  const Operation kernel = compute({piece(0, 256)}, {piece(512, 256)});
  EXPECT_FALSE(both_ways(kernel, download(piece(0, 256))));
}

TEST(Hazard, RangesAreExact) {
  const Operation kernel = compute({piece(128, 128)}, {});
  EXPECT_FALSE(both_ways(kernel, upload(piece(0, 128))));
  EXPECT_FALSE(both_ways(kernel, upload(piece(256, 128))));
  EXPECT_FALSE(both_ways(kernel, upload(piece(128, 128, 1)))) << "another region";
  EXPECT_FALSE(both_ways(kernel, upload(piece(130, 0)))) << "empty";
  EXPECT_TRUE(both_ways(kernel, upload(piece(255, 1))));
}

TEST(Hazard, ArgumentsAreRead) {
  EXPECT_TRUE(both_ways(compute({}, {}), upload(piece((1 << 20) + 64, 8))));
}

}  // namespace
}  // namespace spyre::device_sim
