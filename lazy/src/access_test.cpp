// spyre/lazy/access_test.cpp — relations between accesses against sets of bytes.
#include "access.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph_fixture.h"

namespace spyre::lazy {
namespace {

Access access(const TestTensor& t) {
  Graph graph;
  graph.add_buffer({1 << 20, true, true});
  const Operand operand = GraphWriter::view(t);
  graph.add_pointwise(OpId{}, DType::F32, DType::F32, t.sizes, {}, operand);
  return access_of(graph, graph.nodes[0], 0);
}

TestTensor matrix(std::int64_t rows, std::int64_t columns) {
  return {0, DType::F32, 0, {rows, columns}, {columns, 1}};
}

TEST(Access, IsTheSameThroughReshapes) {
  const TestTensor x = matrix(6, 4);
  EXPECT_EQ(relate(access(x), access(x.viewed({2, 3, 4}))), Relation::Same);
  EXPECT_EQ(relate(access(x), access(x.viewed({24}))), Relation::Same);
  EXPECT_EQ(relate(access(x), access(x.transposed(0, 1))), Relation::Permuted);
  EXPECT_EQ(relate(access(x.slice(1, 0, 2)), access(x.slice(1, 0, 2).transposed(0, 1))),
            Relation::Permuted);
  EXPECT_EQ(relate(access(x), access(x.slice(0, 0, 5).transposed(0, 1))), Relation::Conflict);
}

TEST(Access, SeesShiftedWindowsInConflict) {
  const TestTensor x = matrix(8, 4);
  EXPECT_EQ(relate(access(x.slice(0, 0, 7)), access(x.slice(0, 1, 7))), Relation::Conflict);
  EXPECT_EQ(relate(access(x.slice(0, 0, 4)), access(x.slice(0, 4, 4))), Relation::Disjoint);
}

TEST(Access, SeesInterleavedColumnsApart) {
  const TestTensor x = matrix(8, 6);
  EXPECT_EQ(relate(access(x.slice(1, 0, 3)), access(x.slice(1, 3, 3))), Relation::Disjoint);
  EXPECT_EQ(relate(access(x.slice(1, 0, 4)), access(x.slice(1, 3, 3))), Relation::Conflict);
  EXPECT_EQ(relate(access(x.slice(1, 0, 3, 2)), access(x.slice(1, 1, 3, 2))), Relation::Disjoint);
}

TEST(Access, SeesRowConstantsAsBroadcasts) {
  const TestTensor mean{0, DType::F32, 0, {5, 1}, {1, 1}};
  EXPECT_EQ(relate(access(mean), access(mean.expanded({5, 7}))), Relation::Broadcast);
  const TestTensor bias{0, DType::F32, 0, {7}, {1}};
  EXPECT_EQ(relate(access(bias), access(bias.expanded({5, 7}))), Relation::Conflict);
}

TEST(Access, HoldsPointByPointForWritesOnlyWhereNoElementIsMetTwice) {
  const TestTensor x = matrix(6, 4), windows{0, DType::F32, 0, {5, 4, 2}, {4, 1, 4}};
  EXPECT_FALSE(access(x).may_meet_twice());
  EXPECT_FALSE(access(x.slice(1, 0, 2, 2)).may_meet_twice());
  EXPECT_TRUE(access(windows).may_meet_twice());
  EXPECT_TRUE(access(x.slice(1, 0, 1).expanded({6, 3})).may_meet_twice());
  EXPECT_EQ(relate(access(windows), access(windows)), Relation::Same);
  EXPECT_EQ(relate_to_write(access(windows), access(windows)), Relation::Conflict);
  EXPECT_EQ(relate_to_write(access(x), access(x)), Relation::Same);
}

TEST(Access, ComparesTypes) {
  TestTensor x = matrix(4, 4);
  const Access a = access(x);
  x.dtype = DType::I32;
  EXPECT_EQ(relate(a, access(x)), Relation::Conflict);
}

TEST(Access, CoversByBytesIfDense) {
  const TestTensor x = matrix(4, 4);
  EXPECT_TRUE(access(x.transposed(0, 1)).dense);
  EXPECT_TRUE(access(x.transposed(0, 1)).covers(access(x.slice(1, 1, 2))));
  EXPECT_FALSE(access(x.slice(1, 0, 2)).covers(access(x.slice(1, 0, 1))));
  EXPECT_TRUE(access(x.slice(1, 0, 2)).covers(access(x.slice(1, 0, 2))));
  EXPECT_FALSE(access(x.expanded({4, 4})).covers(access(matrix(5, 4))));
}

std::set<std::int64_t> elements_of(const TestTensor& t) {
  std::set<std::int64_t> elements{t.offset};
  for (std::size_t d = 0; d < t.sizes.size(); ++d) {
    std::set<std::int64_t> next;
    for (const std::int64_t e : elements)
      for (std::int64_t i = 0; i < t.sizes[d]; ++i) next.insert(e + i * t.strides[d]);
    elements = next;
  }
  return elements;
}

TEST(Access, IsNeverWronglyApart) {
  std::mt19937 random(11);
  const auto tensor = [&] {
    TestTensor t{0, DType::F32, 20 + static_cast<std::int64_t>(random() % 16), {}, {}};
    for (auto rank = random() % 3 + 1; rank > 0; --rank) {
      t.sizes.push_back(1 + static_cast<std::int64_t>(random() % 4));
      t.strides.push_back(static_cast<std::int64_t>(random() % 9) - 1);
    }
    return t;
  };
  int apart = 0;
  for (int round = 0; round < 20000; ++round) {
    const TestTensor a = tensor(), b = tensor();
    const auto x = elements_of(a), y = elements_of(b);
    const bool overlap = std::ranges::any_of(x, [&](std::int64_t e) { return y.count(e) != 0; });
    const Relation relation = relate(access(a), access(b));
    ASSERT_FALSE(overlap && relation == Relation::Disjoint)
        << a.sizes << a.strides << b.sizes << b.strides;
    apart += relation == Relation::Disjoint;
    ASSERT_TRUE(std::ranges::includes(x, y) || !access(a).covers(access(b)));
  }
  EXPECT_GT(apart, 500);
}

}  // namespace
}  // namespace spyre::lazy
