// spyre/lazy/prepared_pointwise_test.cpp — recording a prepared operation is recording what it was prepared from.
#include "spyre/lazy/prepared_pointwise.h"

#include "device_fixture.h"
#include "spyre/lazy/key.h"

namespace spyre::lazy {
namespace {

using Floats = std::vector<float>;

class PreparedPointwiseTest : public DeviceFixture {
 protected:
  static PreparedPointwise prepared_add(const DeviceTensor& a, const DeviceTensor& b,
                                        const DeviceTensor& out) {
    const std::vector<Input> inputs{in(a), in(b), number(1)};
    return PreparedPointwise(Pointwise{kernels::op_named("add_scaled"), DType::F32, DType::F32,
                                       out.sizes.span(), inputs, out.view(), 0});
  }
  static PreparedOperand operand(const DeviceTensor& t) {
    return {.buffer = t.buffer.get(), .offset = t.offset};
  }
  static PreparedOperand operand(float value) {
    return {.bits = Input::of_double(value, DType::F32).bits};
  }
  static std::vector<std::byte> key_of(const Trace& trace) {
    KeyBuilder builder;
    std::vector<BufferFacts> facts;
    collect_facts(trace, facts);
    const auto key = builder.build(trace, facts, {});
    return {key.begin(), key.end()};
  }
};

TEST_F(PreparedPointwiseTest, GivesTheSameTraceAsItsDescription) {
  const DeviceTensor a = empty({8}), b = empty({8}), c = empty({8});
  Trace described(kStream), prepared(kStream, true);
  PreparedPointwise add = prepared_add(a, b, c);
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, b), std::pair(c, a)}) {
    described.append(Pointwise{kernels::op_named("add_scaled"), DType::F32, DType::F32,
                               c.sizes.span(), std::vector<Input>{in(x), in(y), number(2)},
                               c.view(), 7});
  }
  const std::vector<std::byte> expected = key_of(described);
  const std::vector<std::uint64_t> params(described.params().begin(), described.params().end());
  described.clear();
  for (const auto& [x, y] : {std::pair(a, b), std::pair(b, b), std::pair(c, a)})
    prepared.append(add, std::vector{operand(x), operand(y), operand(2)}, operand(c), 7);
  EXPECT_EQ(key_of(prepared), expected);
  EXPECT_TRUE(std::ranges::equal(prepared.params(), params));
  EXPECT_EQ(prepared.source(2), 7U);
  EXPECT_EQ(prepared.geometries().size(), 1U);
}

TEST_F(PreparedPointwiseTest, WhatMayFaultStillMay) {
  const DeviceTensor a = empty({8}), out = empty({8});
  const std::vector<Input> inputs{in(a), in(a)};
  Pointwise division{kernels::op_named("div_trunc"),
                     DType::I32,
                     DType::I32,
                     out.sizes.span(),
                     inputs,
                     out.view(),
                     0};
  Trace trace(kStream);
  for (const bool may_fault : {false, true}) {
    trace.clear();
    division.may_fault = may_fault;
    PreparedPointwise prepared(division);
    trace.append(prepared, std::vector{operand(a), operand(a)}, operand(out), 0);
    EXPECT_EQ(trace.nodes()[0].may_fault, may_fault);
  }
}

TEST_F(PreparedPointwiseTest, OffsetsMayChangeFromCallToCall) {
  const DeviceTensor x = tensor<float>({8}, {0, 1, 2, 3, 4, 5, 6, 7});
  PreparedPointwise add = prepared_add(x.slice(0, 2), x.slice(2, 4), empty({2}));
  for (int i = 0; i < 3; ++i) {
    const DeviceTensor left = x.slice(i, i + 2), right = x.slice(5, 7), out = empty({2});
    device.record(kStream, add, std::vector{operand(left), operand(right), operand(1)},
                  operand(out), 0);
    const auto first = static_cast<float>(i);
    EXPECT_EQ(read<float>(out), (Floats{first + 5, first + 7}));
  }
}

TEST_F(PreparedPointwiseTest, SignaturesFollowTheGeometry) {
  const DeviceTensor x = empty({8});
  PreparedPointwise add = prepared_add(x.slice(0, 2), x.slice(2, 4), empty({2}));
  Trace trace(kStream);
  const DeviceTensor out = empty({2});
  for (const std::int64_t begin : {0, 4, 0})
    trace.append(add, std::vector{operand(x.slice(begin, begin + 2)), operand(out), operand(1)},
                 operand(out), 0);
  EXPECT_NE(trace.signature(0), trace.signature(1));
  EXPECT_EQ(trace.signature(0), trace.signature(2));
}

TEST_F(PreparedPointwiseTest, ALoopMakesNoMoreBuffersThanOnePassHolds) {
  constexpr std::uint64_t kOps = 500, kOthers = 8;
  const DeviceTensor x = tensor<float>({2}, {1, 2});
  PreparedPointwise add = prepared_add(x, x, empty({2}));
  const auto loop = [&] {
    BufferRef y = x.buffer;
    for (std::uint64_t i = 0; i < kOps; ++i) {
      const std::vector<PreparedOperand> inputs{{.buffer = y.get()}, operand(x), operand(1)};
      y = device.record(kStream, add, inputs, 0);
    }
    const DeviceTensor result{y, DType::F32, x.sizes, x.strides};
    return read<float>(result);
  };
  // How many are in use at once depends on how far the card is behind, up to all of one pass.
  for (int i = 0; i < 7; ++i) EXPECT_EQ(loop(), (Floats{501, 1002}));
  EXPECT_LE(device.stats().buffers_made, kOps + kOthers);
}

}  // namespace
}  // namespace spyre::lazy
