// spyre/lazy/card_traffic_test.cpp — padding of sticks.
#include "card_traffic.h"

#include <gtest/gtest.h>

namespace spyre::lazy {
namespace {

std::uint64_t padding(std::initializer_list<std::int64_t> sizes,
                      std::initializer_list<std::int64_t> strides, std::uint8_t element) {
  return padding_bytes(Dims(sizes), Dims(strides), element);
}

TEST(CardTraffic, EveryRowBeginsAStick) {
  EXPECT_EQ(padding({512, 256}, {256, 1}, 2), 0U);
  EXPECT_EQ(padding({512, 240}, {240, 1}, 2), 512U * 16 * 2);
  EXPECT_EQ(padding({120}, {1}, 2), 256U - 240);
  EXPECT_EQ(padding({131072, 64, 2, 2}, {256, 4, 2, 1}, 2), 2080374784U)
      << "what the layout of the same tensor says";
}

TEST(CardTraffic, TheClosestElementsShareAStickWhateverTheOrder) {
  EXPECT_EQ(padding({256, 512}, {1, 256}, 2), 0U);
  EXPECT_EQ(padding({240, 512}, {1, 240}, 2), 512U * 16 * 2);
}

TEST(CardTraffic, WhatIsRepeatedIsReadOnce) {
  EXPECT_EQ(padding({512, 64}, {0, 1}, 2), 0U);
  EXPECT_EQ(padding({512, 64}, {1, 0}, 2), 0U);
  EXPECT_EQ(padding({}, {}, 4), 124U);
  EXPECT_EQ(padding({1, 1}, {1, 1}, 4), 124U);
  EXPECT_EQ(padding({3, 0}, {1, 1}, 4), 0U) << "nothing is not padded";
}

}  // namespace
}  // namespace spyre::lazy
