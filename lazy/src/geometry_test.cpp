// spyre/lazy/geometry_test.cpp — interning: equal ones share an index, every field counts.
#include "spyre/lazy/geometry.h"

#include <gtest/gtest.h>

#include "spyre/base/dims.h"

namespace spyre::lazy {
namespace {

constexpr ElementType kF32 = ElementType::of(DType::F32);

std::uint32_t intern(GeometryTable& table, const Dims& sizes, const Dims& strides,
                     std::int64_t offset = 0, ElementType type = kF32) {
  return table.intern(type, offset, sizes.span(), strides.span());
}

TEST(GeometryTable, EqualOnesShareAnIndex) {
  GeometryTable table;
  EXPECT_EQ(intern(table, {2, 3}, {3, 1}), 0U);
  EXPECT_EQ(intern(table, {2, 3}, {1, 2}), 1U);
  EXPECT_EQ(intern(table, {2, 3}, {3, 1}), 0U);
  EXPECT_EQ(table.size(), 2U);
}

TEST(GeometryTable, EveryFieldCounts) {
  GeometryTable table;
  intern(table, {2, 3}, {3, 1});
  intern(table, {3, 2}, {3, 1});
  intern(table, {2, 3}, {3, 2});
  intern(table, {2, 3}, {3, 1}, 4);
  intern(table, {2, 3}, {3, 1}, 0, ElementType::of(DType::I32));
  intern(table, {2, 3}, {3, 1}, 0, ElementType::foreign(4, 9));
  intern(table, {2}, {3});
  intern(table, {}, {});
  EXPECT_EQ(table.size(), 8U);
  EXPECT_EQ(table[3].offset(), 4);
  EXPECT_EQ(table[4].dtype(), DType::I32);
  EXPECT_EQ(table[5].type(), ElementType::foreign(4, 9));
  EXPECT_EQ(table[1].sizes()[0], 3);
  EXPECT_EQ(table[7].rank(), 0U);
}

TEST(GeometryTable, GrowsAndForgets) {
  GeometryTable table;
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(intern(table, {i}, {1}), i);
    for (std::int64_t i = 0; i < 1000; ++i) EXPECT_EQ(intern(table, {i}, {1}), i);
    table.clear();
    EXPECT_EQ(table.size(), 0U);
    EXPECT_TRUE(table.words().empty());
  }
}

}  // namespace
}  // namespace spyre::lazy
