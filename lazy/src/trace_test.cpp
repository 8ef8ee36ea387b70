// spyre/lazy/trace_test.cpp — what recording stores, and what it gives back.
#include "spyre/lazy/trace.h"

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

class TraceTest : public DeviceFixture {
 protected:
  void append(Trace& trace, const std::vector<Input>& inputs, const DeviceTensor& out) {
    trace.append(Pointwise{kernels::op_named("where"), DType::F32, DType::F32, out.sizes.span(),
                           inputs, out.view(), 5});
  }
};

TEST_F(TraceTest, BuffersAreNumberedByFirstUse) {
  const DeviceTensor a = empty({4}), b = empty({4}), c = empty({4});
  Trace trace(kStream);
  append(trace, {in(b), in(a), in(b)}, c);
  ASSERT_EQ(trace.nodes().size(), 1U);
  const auto operands = trace.operands(trace.nodes()[0]);
  EXPECT_EQ(operands[0].buffer, 0U);
  EXPECT_EQ(operands[1].buffer, 1U);
  EXPECT_EQ(operands[2].buffer, 0U);
  EXPECT_EQ(operands[3].buffer, 2U);
  EXPECT_EQ(trace.geometries().size(), 1U);  // all four are alike
  EXPECT_EQ(trace.source(0), 5U);
  EXPECT_TRUE(trace.writes(*c.buffer));
  EXPECT_FALSE(trace.writes(*a.buffer));
  EXPECT_FALSE(trace.asks_for_more_than(Bytes{3 * 16 + 1}));
  EXPECT_TRUE(trace.asks_for_more_than(Bytes{3 * 16}));
}

TEST_F(TraceTest, ScalarsAndCountersTakeParametersInOrder) {
  const DeviceTensor a = empty({4});
  const std::vector<std::int64_t> step{2};
  Trace trace(kStream);
  append(trace, {number(1.5), Input::iota(7, step), in(a)}, a);
  append(trace, {number(2.5), in(a), in(a)}, a);
  EXPECT_EQ(trace.params().size(), 3U);
  EXPECT_EQ(trace.params()[1], 7U);
  EXPECT_EQ(trace.nodes()[1].first_param, 2U);
  EXPECT_TRUE(trace.operands(trace.nodes()[0])[0].is_scalar());
  EXPECT_TRUE(trace.operands(trace.nodes()[0])[1].is_iota());
}

TEST_F(TraceTest, WideNodesKeepAllOperandsAside) {
  const DeviceTensor a = empty({4}), b = empty({4});
  Trace trace(kStream);
  append(trace, {in(a), in(a), in(a), in(a), in(a)}, b);
  append(trace, {in(a), in(a), in(a)}, b);
  EXPECT_EQ(trace.wide().size(), 6U);
  EXPECT_EQ(trace.inputs(trace.nodes()[0]).size(), 5U);
  EXPECT_EQ(trace.outputs(trace.nodes()[0])[0].buffer, 1U);
  EXPECT_EQ(trace.outputs(trace.nodes()[1])[0].buffer, 1U);
}

TEST_F(TraceTest, RetainsBuffersUntilCleared) {
  Trace trace(kStream);
  const std::uint64_t first = trace.serial();
  DeviceTensor a = tensor<float>({4}, {1, 2, 3, 4});
  const std::uint64_t held = device.stats().memory.allocated.count;
  append(trace, {in(a), in(a), in(a)}, a);
  Buffer& buffer = *a.buffer;
  a.buffer = {};
  EXPECT_FALSE(buffer.observable());
  EXPECT_EQ(device.stats().memory.allocated.count, held);
  trace.clear();
  EXPECT_LT(device.stats().memory.allocated.count, held);
  EXPECT_TRUE(trace.empty());
  EXPECT_NE(trace.serial(), first);
  EXPECT_EQ(Trace::stream_of_serial(trace.serial()), kStream);
}

TEST_F(TraceTest, HandOverGivesReferencesAway) {
  Trace trace(kStream);
  const DeviceTensor a = empty({4});
  append(trace, {in(a), in(a), number(3)}, a);
  std::vector<BufferUse> buffers;
  std::vector<std::uint64_t> params;
  std::vector<std::uint32_t> sources;
  trace.hand_over(buffers, params, sources);
  EXPECT_TRUE(trace.empty());
  ASSERT_EQ(buffers.size(), 1U);
  EXPECT_EQ(params.size(), 1U);
  EXPECT_EQ(sources.size(), 1U);
  buffers[0].buffer->drop_reference();
}

TEST(Input, ScalarsAreTheBitsOfTheirType) {
  EXPECT_EQ(Input::of_double(1, DType::F32).bits, 0x3F800000U);
  EXPECT_EQ(Input::of_double(1, DType::F64).bits, 0x3FF0000000000000U);
  EXPECT_EQ(Input::of_double(1, DType::F16).bits, 0x3C00U);
  EXPECT_EQ(Input::of_double(1, DType::BF16).bits, 0x3F80U);
  EXPECT_EQ(Input::of_double(-2.7, DType::I32).bits, 0xFFFFFFFEU);
  EXPECT_EQ(Input::of_double(0.5, DType::Bool).bits, 1U);
  EXPECT_EQ(Input::of_int(-1, DType::U8).bits, 0xFFU);
  EXPECT_EQ(Input::of_int(300, DType::U8).bits, 44U);
  EXPECT_EQ(Input::of_int(256, DType::Bool).bits, 1U);
  EXPECT_EQ(Input::of_int(-1, DType::I64).bits, ~0ULL);
  EXPECT_EQ(Input::of_int(3, DType::F32).bits, 0x40400000U);
}

}  // namespace
}  // namespace spyre::lazy
