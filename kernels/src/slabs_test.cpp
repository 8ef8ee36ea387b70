// spyre/kernels/slabs_test.cpp — every point of every range is visited once, whatever the split.
#include "slabs.h"

#include <gtest/gtest.h>

#include <vector>

namespace spyre::kernels {
namespace {

/// Counts visits: the one argument is a byte per point.
void count_points(CallFrame* frame) {
  for (std::int64_t r = 0; r < frame->outer; ++r)
    for (std::int64_t i = 0; i < frame->inner; ++i)
      ++*reinterpret_cast<std::uint8_t*>(
          frame->pointers[0] +
          static_cast<std::uint64_t>(r * frame->strides[0] + i * frame->strides[1]));
}

class NothingKernel final : public Kernel {
 public:
  using Kernel::Kernel;
  void run(const LaunchArguments&, std::int64_t, std::int64_t, std::byte*) const override {}
  Bytes scratch_bytes(const std::int64_t*) const override { return {}; }
  Bytes code_bytes() const override { return {}; }
  std::string listing() const override { return {}; }
};

std::vector<std::uint8_t> visits(Form form, std::vector<std::int64_t> extents,
                                 std::int64_t pieces) {
  KernelSpec spec;
  spec.form = form;
  spec.rank = static_cast<std::uint8_t>(extents.size());
  spec.arguments.push_back({ArgumentSpec::Kind::Store, DType::U8, InnerStride::Unit});
  std::vector<std::int64_t> strides(extents.size(), 1);
  std::int64_t points = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    strides[d] = points;
    points *= extents[d];
  }
  std::vector<std::uint8_t> seen(static_cast<std::size_t>(points));
  const std::uint64_t base = reinterpret_cast<std::uint64_t>(seen.data());
  const LaunchArguments launch{&base, extents.data(), strides.data(), nullptr};
  const std::int64_t items = NothingKernel(spec).work_items(extents.data());
  for (std::int64_t p = 0; p < pieces; ++p) {
    CallFrame frame;
    for_each_slab(spec, launch, items * p / pieces, items * (p + 1) / pieces, frame, &count_points);
  }
  return seen;
}

TEST(SlabsTest, EveryPointOnce) {
  const std::vector<std::vector<std::int64_t>> shapes{{1, 1},         {3, 5000},  {2, 3, 4097},
                                                      {5, 2, 3, 130}, {4, 1, 64}, {2, 7, 200}};
  for (const Form form : {Form::Pointwise, Form::Row, Form::Column}) {
    for (const std::vector<std::int64_t>& extents : shapes) {
      for (const std::int64_t pieces : {1, 2, 3, 7}) {
        const std::vector<std::uint8_t> seen = visits(form, extents, pieces);
        EXPECT_EQ(seen, std::vector<std::uint8_t>(seen.size(), 1))
            << static_cast<int>(form) << " in " << pieces;
      }
    }
  }
}

TEST(SlabsTest, OneDimension) {
  const std::vector<std::uint8_t> seen = visits(Form::Pointwise, {10000}, 3);
  EXPECT_EQ(seen, std::vector<std::uint8_t>(seen.size(), 1));
}

TEST(SlabsTest, ManyArgumentsNeedMoreThanTheInlineSpace) {
  KernelSpec spec;
  spec.rank = 2;
  spec.arguments.resize(40, {ArgumentSpec::Kind::Load, DType::F32, InnerStride::Unit});
  const std::vector<std::uint64_t> bases(40, 1000);
  const std::vector<std::int64_t> strides(80, 4);
  const std::int64_t extents[] = {2, 3};
  CallFrame frame;
  for_each_slab(spec, {bases.data(), extents, strides.data(), nullptr}, 0, 2, frame,
                [](CallFrame* f) {
                  EXPECT_EQ(f->pointers[39], 1000U);
                  EXPECT_EQ(f->strides[79], 4);
                  EXPECT_EQ(f->outer, 2);
                });
}

}  // namespace
}  // namespace spyre::kernels
