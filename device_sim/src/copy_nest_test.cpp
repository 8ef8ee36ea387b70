// spyre/device_sim/copy_nest_test.cpp — nests against the layout's definition, element by element.
#include "spyre/device_sim/copy_nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "spyre/base/dlfloat16.h"
#include "spyre/base/error.h"
#include "spyre/base/float16.h"

namespace spyre::device_sim {
namespace {

using enum DataFormat;
using Pairs = std::multimap<std::int64_t, std::int64_t>;  // device offset -> host offset

/// Calls for every coordinate of a box.
template <class Visit> void visit_box(const Dims& sizes, Visit visit) {
  if (sizes.numel() == 0) return;
  Dims at = Dims::filled(sizes.size(), 0);
  for (std::int64_t n = sizes.numel(); n-- > 0;) {
    visit(at);
    for (std::size_t d = sizes.size(); d-- > 0 && ++at[d] == sizes[d];) at[d] = 0;
  }
}

std::int64_t dot(const Dims& a, const Dims& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Strides so far apart that no padding of a dimension reaches the next element of another: what the
/// definition says of offsets is then said of indices.
Dims apart(const Dims& sizes) {
  Dims strides = Dims::filled(sizes.size(), 1);
  for (std::size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * ((sizes[d] + 63) / 64 * 64);
  return strides;
}

/// The definition: a device coordinate holds the host element at the sum of its strides, if that
/// element exists and it is the first coordinate along dimensions without a host stride.
Pairs defined_pairs(const TensorLayout& layout, const HostShape& base) {
  std::map<std::int64_t, bool> exists;
  visit_box(base.sizes, [&](const Dims& i) { exists[dot(i, base.strides)] = true; });
  Pairs pairs;
  visit_box(layout.device_size(), [&](const Dims& c) {
    std::int64_t host = 0;
    for (std::size_t j = 0; j < c.size(); ++j) {
      if (layout.stride_map()[j] == kNoHostStride && c[j] != 0) return;
      if (layout.stride_map()[j] > 0) host += c[j] * layout.stride_map()[j];
    }
    if (exists.contains(host)) pairs.emplace(dot(c, layout.device_strides()), host);
  });
  return pairs;
}

Pairs copied_pairs(const std::vector<CopyNest>& nests, bool to_device) {
  Pairs pairs;
  for (const CopyNest& nest : nests)
    visit_box(nest.sizes, [&](const Dims& i) {
      const std::int64_t source = nest.source_offset + dot(i, nest.source_strides);
      const std::int64_t target = nest.target_offset + dot(i, nest.target_strides);
      pairs.emplace(to_device ? target : source, to_device ? source : target);
    });
  return pairs;
}

std::vector<Dims> orders_of(std::size_t rank) {
  std::vector<Dims> orders;
  Dims order = identity_order(rank);
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  return orders;
}

TEST(CopyNest, TheWorkedExample) {
  const Dims size{1024, 256};
  const HostShape shape{size, contiguous_strides(size)};
  const auto nests = host_to_device(TensorLayout::derived(size, Sen169Fp16), shape, shape.strides);
  const CopyNest expected{
      .sizes = {4, 1024, 64}, .source_strides = {64, 256, 1}, .target_strides = {65536, 64, 1}};
  EXPECT_EQ(nests, std::vector{expected});
}

TEST(CopyNest, DerivedLayoutsFollowTheDefinition) {
  for (const Dims& size :
       {Dims{}, Dims{1}, Dims{70}, Dims{3, 5}, Dims{5, 70}, Dims{70, 3}, Dims{1, 64}, Dims{64, 1},
        Dims{2, 33, 65}, Dims{64, 2, 64}, Dims{1, 1, 1}, Dims{2, 3, 4, 5}, Dims{2, 1, 3, 1}}) {
    const HostShape shape{size, apart(size)}, dense{size, contiguous_strides(size)};
    for (const Dims& order : orders_of(size.size()))
      for (const bool sparse : {false, true}) {
        if (sparse && size.empty()) continue;
        Dims stick_order = order;
        if (sparse) stick_order.push_back(kSparse);
        const auto layout = TensorLayout::derived(size, shape.strides, IeeeFp32, stick_order);
        const Pairs expected = defined_pairs(layout, shape);
        ASSERT_EQ(expected.size(), static_cast<std::size_t>(size.numel())) << layout;
        ASSERT_EQ(copied_pairs(host_to_device(layout, shape, shape.strides), true), expected);
        ASSERT_EQ(copied_pairs(device_to_host(layout, shape, shape.strides), false), expected);
        const auto same = TensorLayout::derived(size, dense.strides, IeeeFp32, stick_order);
        ASSERT_EQ(copied_pairs(host_to_device(same, dense, shape.strides), true), expected) << same;
      }
  }
}

TEST(CopyNest, EmptyTensorsNeedNoCopy) {
  for (const Dims& size : {Dims{0, 64}, Dims{3, 0}, Dims{0}}) {
    const HostShape shape{size, contiguous_strides(size)};
    const auto layout = TensorLayout::derived(size, Sen169Fp16);
    EXPECT_TRUE(host_to_device(layout, shape, shape.strides).empty());
    EXPECT_TRUE(device_to_host(layout, shape, shape.strides).empty());
  }
}

TEST(CopyNest, HostStridesAreThoseOfTheTensorNotOfTheLayout) {
  const HostShape base{{5, 70}, {70, 1}};
  const auto layout = TensorLayout::derived(base.sizes, Sen169Fp16);
  const auto nests = host_to_device(layout, base, {1, 9});  // a transposed, padded tensor
  for (const auto& [device, host] : copied_pairs(nests, true)) {
    const std::int64_t stick = device / 320, row = device % 320 / 64, lane = device % 64;
    EXPECT_EQ(host, row + 9 * (64 * stick + lane));
  }
}

struct Explicit {
  Dims size, device_size, stride_map;
  std::size_t nests;
};

class ExplicitLayouts : public testing::TestWithParam<Explicit> {};

TEST_P(ExplicitLayouts, FollowTheDefinition) {
  const auto& [size, device_size, stride_map, count] = GetParam();
  const TensorLayout layout(device_size, stride_map, Sen169Fp16);
  const HostShape shape{size, contiguous_strides(size)};
  const auto up = host_to_device(layout, shape, shape.strides);
  EXPECT_EQ(up.size(), count);
  // Every host element goes to its place, however the layout may also name it a second time.
  const Pairs defined = defined_pairs(layout, shape);
  for (const auto& [device, host] : copied_pairs(up, true)) {
    const auto [first, last] = defined.equal_range(device);
    EXPECT_TRUE(std::any_of(first, last, [&](const auto& pair) { return pair.second == host; }));
  }
  const Pairs down = copied_pairs(device_to_host(layout, shape, shape.strides), false);
  std::map<std::int64_t, int> written;
  for (const auto& [device, host] : down) ++written[host];
  EXPECT_EQ(written.size(), static_cast<std::size_t>(size.numel()));
  for (const auto& [host, times] : written) EXPECT_EQ(times, 1) << host;
}

INSTANTIATE_TEST_SUITE_P(
    AsInUpstreamsTests, ExplicitLayouts,
    testing::Values(Explicit{{40, 60}, {1, 512, 64}, {64, 60, 1}, 1},        // over-padded
                    Explicit{{60}, {1, 512, 64}, {64, 0, 1}, 1},             // broadcast
                    Explicit{{40, 60}, {38, 64}, {64, 1}, 2},                // folded
                    Explicit{{4800}, {3, 2, 14, 64}, {120, 64, 360, 1}, 4},  // tiled
                    Explicit{{40, 60}, {24, 1, 2, 64}, {60, 64, 1440, 1}, 2},
                    Explicit{{512, 8, 256}, {4, 8, 512, 64}, {64, 256, 2048, 1}, 1}));

TEST(CopyNest, BroadcastIsWrittenEverywhereAndReadOnce) {
  const TensorLayout layout({1, 512, 64}, {64, 0, 1}, Sen169Fp16);
  const HostShape shape{{60}, {1}};
  EXPECT_EQ(copied_pairs(host_to_device(layout, shape, {1}), true).size(), 512U * 60);
  EXPECT_EQ(copied_pairs(device_to_host(layout, shape, {1}), false).size(), 60U);
}

TEST(CopyNest, RemaindersCombine) {
  // Two dimensions in tiles that do not divide them: 2^2 nests.
  const TensorLayout layout({3, 4, 8, 64}, {8 * 100, 64, 100, 1}, Sen169Fp16);
  const HostShape shape{{20, 100}, {100, 1}};
  EXPECT_EQ(host_to_device(layout, shape, shape.strides).size(), 4U);
  EXPECT_EQ(copied_pairs(host_to_device(layout, shape, shape.strides), true).size(), 2000U);
}

TEST(CopyNest, RefusesALayoutThatDoesNotHoldTheTensor) {
  const HostShape shape{{40, 60}, {60, 1}};
  for (const TensorLayout& layout :
       {TensorLayout({1, 39, 64}, {64, 60, 1}, Sen169Fp16),     // too few rows
        TensorLayout({1, 40, 64}, {64, 60, 2}, Sen169Fp16),     // every other column
        TensorLayout({1, 40, 64}, {64, -1, 1}, Sen169Fp16)}) {  // no rows
    EXPECT_THROW(host_to_device(layout, shape, shape.strides), InvalidArgument) << layout;
  }
}

TEST(CopyNest, BetweenLayouts) {
  const Dims size{5, 70, 130};
  const HostShape shape{size, contiguous_strides(size)};
  for (const Dims& from_order : orders_of(3))
    for (const Dims& to_order : orders_of(3))
      for (const DataFormat format : {Sen169Fp16, IeeeFp32}) {
        const auto from = TensorLayout::derived(size, shape.strides, Sen169Fp16, from_order);
        const auto to = TensorLayout::derived(size, shape.strides, format, to_order);
        const auto nests = device_to_device(from, to, shape);
        ASSERT_TRUE(nests.has_value());
        std::map<std::int64_t, std::int64_t> host_at_source, host_at_target;
        for (const auto& [device, host] : defined_pairs(from, shape)) host_at_source[device] = host;
        for (const auto& [device, host] : defined_pairs(to, shape)) host_at_target[device] = host;
        const Pairs copied = copied_pairs(*nests, true);
        EXPECT_EQ(copied.size(), static_cast<std::size_t>(size.numel()));
        bool right = true;
        for (const auto& [target, source] : copied)
          right = right && host_at_source.at(source) == host_at_target.at(target);
        EXPECT_TRUE(right) << from << " to " << to;
      }
}

TEST(CopyNest, TilesThatCrossEachOtherHaveNoDirectCopy) {
  const HostShape shape{{4800}, {1}};
  const TensorLayout tiled({40, 2, 64}, {120, 64, 1}, Sen169Fp16);
  EXPECT_EQ(device_to_device(TensorLayout::derived({4800}, Sen169Fp16), tiled, shape),
            std::nullopt);
}

TEST(CopyNest, CarriedOutItLeavesPaddingAlone) {
  const Dims size{3, 70};
  const HostShape shape{size, contiguous_strides(size)};
  const auto layout = TensorLayout::derived(size, Sen169Fp16);
  std::vector<std::uint16_t> host(210), device(layout.bytes().count / 2, 0xdead), back(210);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<std::uint16_t>(i);
  for (const CopyNest& nest : host_to_device(layout, shape, shape.strides))
    copy_elements(nest, 2, reinterpret_cast<const std::byte*>(host.data()),
                  reinterpret_cast<std::byte*>(device.data()));
  EXPECT_EQ(std::ranges::count(device, 0xdead),
            static_cast<std::ptrdiff_t>(device.size() - host.size()));
  EXPECT_EQ(device[64], 70);      // row 1, first stick
  EXPECT_EQ(device[3 * 64], 64);  // row 0, second stick
  for (const CopyNest& nest : device_to_host(layout, shape, shape.strides))
    copy_elements(nest, 2, reinterpret_cast<const std::byte*>(device.data()),
                  reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, host);
}

TEST(CopyNest, EveryElementSize) {
  const CopyNest nest{.sizes = {3, 2}, .source_strides = {1, 3}, .target_strides = {2, 1}};
  for (const std::size_t size : {1, 2, 4, 8, 16}) {
    std::vector<std::byte> source(6 * size), target(6 * size);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i);
    copy_elements(nest, size, source.data(), target.data());
    for (std::size_t i = 0; i < 6; ++i)
      EXPECT_EQ(std::memcmp(&target[i * size], &source[(i / 2 + i % 2 * 3) * size], size), 0);
  }
  EXPECT_THROW(copy_elements(nest, 3, nullptr, nullptr), Unsupported);
}

TEST(CopyNest, Converts) {
  const Dims size{4, 100};
  const HostShape shape{size, contiguous_strides(size)};
  std::vector<float> host(400), back(400);
  for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<float>(i) / 8;
  for (const Dims& order : {Dims{0, 1}, Dims{1, 0}}) {
    const auto layout = TensorLayout::derived(size, shape.strides, Sen169Fp16, order);
    std::vector<std::uint16_t> device(layout.bytes().count / 2);
    for (const CopyNest& nest : host_to_device(layout, shape, shape.strides))
      convert_elements(nest, IeeeFp32, reinterpret_cast<const std::byte*>(host.data()), Sen169Fp16,
                       reinterpret_cast<std::byte*>(device.data()));
    for (std::size_t row = 0; row < 4; ++row)
      for (std::size_t column = 0; column < 100; ++column) {
        const std::size_t place =
            order[1] == 1 ? (column / 64 * 4 + row) * 64 + column % 64 : column * 64 + row;
        ASSERT_EQ(device[place], dlfloat16_bits(host[row * 100 + column]));
      }
    for (const CopyNest& nest : device_to_host(layout, shape, shape.strides))
      convert_elements(nest, Sen169Fp16, reinterpret_cast<const std::byte*>(device.data()),
                       IeeeFp32, reinterpret_cast<std::byte*>(back.data()));
    EXPECT_EQ(back, host);
  }
}

TEST(CopyNest, ConvertsPackedIntegersInRunsOfWholeBytes) {
  const Dims size{3, 300};
  const HostShape shape{size, contiguous_strides(size)};
  std::vector<float> host(900), back(900);
  for (std::size_t i = 0; i < host.size(); ++i)
    host[i] = static_cast<float>(static_cast<int>(i % 16) - 8);
  const auto layout = TensorLayout::derived(size, SenInt4);
  std::vector<std::byte> device(layout.bytes().count);
  for (const CopyNest& nest : host_to_device(layout, shape, shape.strides))
    convert_elements(nest, IeeeFp32, reinterpret_cast<const std::byte*>(host.data()), SenInt4,
                     device.data());
  for (const CopyNest& nest : device_to_host(layout, shape, shape.strides))
    convert_elements(nest, SenInt4, device.data(), IeeeFp32,
                     reinterpret_cast<std::byte*>(back.data()));
  EXPECT_EQ(back, host);
  const CopyNest inside{
      .sizes = {4}, .source_strides = {1}, .target_strides = {1}, .target_offset = 1};
  EXPECT_THROW(convert_elements(inside, IeeeFp32, nullptr, SenInt4, device.data()), Unsupported);
}

}  // namespace
}  // namespace spyre::device_sim
