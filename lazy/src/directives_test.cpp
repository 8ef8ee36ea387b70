// spyre/lazy/directives_test.cpp — buffers are placed as their makers said, and plans keep to it.
#include "directives.h"

#include <optional>
#include <thread>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using device_sim::Directive;
using enum device_sim::MemoryPolicy;

device_sim::DeviceSpec card_with_domains() {
  device_sim::DeviceSpec spec = small_card();
  spec.regions = 5;
  spec.memory_domains = 4;
  return spec;
}

class DirectivesTest : public ::testing::Test {
 protected:
  static constexpr StreamId kStream{0};
  static constexpr Bytes kSize = 4_KiB;

  std::vector<std::uint16_t> domains_of(const BufferRef& buffer) {
    std::vector<std::uint16_t> domains;
    for (const device_sim::Piece& piece : device_.pieces_of(kStream, *buffer))
      domains.push_back(device_.card().domain_of(piece));
    return domains;
  }

  static View whole(const BufferRef& buffer) { return {buffer.get(), DType::F32, 0, kStrides}; }

  /// A new buffer with twice the elements of `x`.
  BufferRef doubled(const BufferRef& x) {
    BufferRef out = device_.create_buffer(kSize);
    const std::vector<Input> inputs{Input::of(whole(x)), Input::of_double(2, DType::F32)};
    device_.record(kStream, Pointwise{kernels::op_named("mul"), DType::F32, DType::F32, kSizes,
                                      inputs, whole(out)});
    return out;
  }

  static constexpr std::int64_t kSizes[] = {1024}, kStrides[] = {1};
  Device device_{card_with_domains(), [] {
                   Settings settings;
                   settings.execution = kernels::Execution::Scalar;
                   return settings;
                 }()};
};

TEST_F(DirectivesTest, BuffersAreOfTheDirectiveOfTheirMaking) {
  EXPECT_EQ(device_.exchange_directive({Bind, {2}}), Directive{});
  const BufferRef bound = device_.create_buffer(kSize);
  EXPECT_EQ(device_.exchange_directive({Interleave}), (Directive{Bind, {2}}));
  const BufferRef everywhere = device_.create_buffer(kSize);
  BufferRef elsewhere;
  std::thread([&] { elsewhere = device_.create_buffer(kSize); }).join();
  EXPECT_EQ(device_.exchange_directive({}), Directive{Interleave});
  const BufferRef after = device_.create_buffer(kSize);
  EXPECT_EQ(domains_of(bound), std::vector<std::uint16_t>{2});
  EXPECT_EQ(domains_of(everywhere), (std::vector<std::uint16_t>{0, 1, 2, 3}));
  EXPECT_EQ(domains_of(elsewhere), std::vector<std::uint16_t>{0});
  EXPECT_EQ(domains_of(after), std::vector<std::uint16_t>{0});
  EXPECT_THROW(device_.exchange_directive({Bind, {4}}), InvalidArgument);
}

TEST_F(DirectivesTest, AResultTakesNoMemoryThatLiesElsewhere) {
  const std::vector<float> ones(1024, 1);
  for (int round = 0; round < 4; ++round) {
    const Directive directive = round % 2 == 0 ? Directive{Bind, {3}} : Directive{};
    BufferRef x = device_.create_buffer(kSize);
    device_.upload(kStream, *x, {}, reinterpret_cast<const std::byte*>(ones.data()), kSize, true);
    device_.exchange_directive(directive);
    const BufferRef y = doubled(x);
    device_.exchange_directive({});
    x = {};  // its memory could serve
    EXPECT_EQ(domains_of(y),
              std::vector<std::uint16_t>{round % 2 == 0 ? std::uint16_t{3} : std::uint16_t{0}});
    std::vector<float> values(1024);
    device_.download(kStream, *y, {}, reinterpret_cast<std::byte*>(values.data()), kSize,
                     FlushReason::DeviceToHost);
    EXPECT_EQ(values, std::vector<float>(1024, 2));
  }
  EXPECT_EQ(device_.stats().plan_cache.misses, 2U) << "a plan for each placement";
}

TEST_F(DirectivesTest, WhatALostDeviceWasToldIsNotToldToTheNextAtItsPlace) {
  std::optional<Directives> directives(std::in_place);
  directives->exchange_current({Bind, {1}});
  directives.emplace();  // at the same address
  std::thread([&] { directives->exchange_current({Bind, {2}}); }).join();
  EXPECT_EQ(directives->current(), 0);
}

TEST_F(DirectivesTest, ADirectiveHasOneNumber) {
  Directives directives;
  EXPECT_FALSE(directives.any());
  EXPECT_EQ(directives.current(), 0);
  for (int i = 0; i < 3; ++i) {
    directives.exchange_current({Bind, {1}});
    EXPECT_EQ(directives.current(), 1);
    directives.exchange_current({Bind, {0}});
    EXPECT_EQ(directives.current(), 2);
    directives.exchange_current({});
    EXPECT_EQ(directives.current(), 0);
  }
  EXPECT_EQ(directives[2], (Directive{Bind, {0}}));
}

}  // namespace
}  // namespace spyre::lazy
