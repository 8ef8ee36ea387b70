// spyre/lazy/device_test.cpp — recording to result, through every layer.
#include "device_fixture.h"

#include <numeric>

namespace spyre::lazy {
namespace {

using DeviceTest = DeviceFixture;
using Floats = std::vector<float>;

TEST_F(DeviceTest, OneOpThroughEveryLayer) {
  const DeviceTensor a = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}),
                     b = tensor<float>({2, 3}, {10, 20, 30, 40, 50, 60});
  const DeviceTensor c = empty({2, 3});
  apply("add", {in(a), in(b)}, c);
  EXPECT_FALSE(device.idle(kStream));
  EXPECT_EQ(read<float>(c), (Floats{11, 22, 33, 44, 55, 66}));
  EXPECT_TRUE(device.idle(kStream));
  const Stats stats = device.stats();
  EXPECT_EQ(stats.dispatches, 1U);
  EXPECT_EQ(stats.kernel_launches, 1U);
  EXPECT_EQ(stats.plan_cache.misses, 1U);
  EXPECT_EQ(flushes(FlushReason::DeviceToHost), 1U);
}

TEST_F(DeviceTest, ScalarsAndCountersAreLaunchParameters) {
  const DeviceTensor a = tensor<float>({4}, {1, 2, 3, 4});
  for (const float x : {2.0F, 3.0F}) {
    const DeviceTensor c = empty({4});
    apply("mul", {in(a), number(x)}, c);
    EXPECT_EQ(read<float>(c), (Floats{x, 2 * x, 3 * x, 4 * x}));
  }
  const std::vector<std::int64_t> one{1};
  for (const std::int64_t first : {0, 100}) {
    const DeviceTensor c = empty({3}, DType::I64);
    apply("add", {Input::iota(first, one), Input::of_int(0, DType::I64)}, c);
    EXPECT_EQ(read<std::int64_t>(c), (std::vector<std::int64_t>{first, first + 1, first + 2}));
  }
  EXPECT_EQ(device.stats().plan_cache.misses, 2U);
  EXPECT_EQ(device.stats().plan_cache.hits, 2U);
}

TEST_F(DeviceTest, InPlaceWritesMakeVersions) {
  const DeviceTensor a = tensor<float>({3}, {1, 2, 3});
  const DeviceTensor before = empty({3}), after = empty({3});
  apply("add", {in(a), number(0)}, before);
  apply("mul", {in(a), number(10)}, a);
  apply("add", {in(a), number(1)}, after);
  apply("add", {in(a), in(a)}, a);
  EXPECT_EQ(read<float>(before), (Floats{1, 2, 3}));
  EXPECT_EQ(read<float>(after), (Floats{11, 21, 31}));
  EXPECT_EQ(read<float>(a), (Floats{20, 40, 60}));
}

TEST_F(DeviceTest, ViewsAlias) {
  const DeviceTensor a = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  apply("mul", {in(a.slice(1, 2)), number(100)}, a.slice(1, 2));
  const DeviceTensor t = empty({3, 2});
  apply("add", {in(a.transposed()), number(0)}, t);
  EXPECT_EQ(read<float>(t), (Floats{1, 400, 2, 500, 3, 600}));
}

TEST_F(DeviceTest, UnwrittenMemoryReadsAsZero) {
  {
    const DeviceTensor dirty = tensor<float>({64}, Floats(64, 7));
    EXPECT_EQ(read<float>(dirty)[0], 7);
  }
  const DeviceTensor never = empty({64}), partly = empty({64});
  apply("add", {number(1), number(2)}, partly.slice(0, 1));
  EXPECT_EQ(read<float>(never), Floats(64, 0));
  Floats expected(64, 0);
  expected[0] = 3;
  EXPECT_EQ(read<float>(partly), expected);
  const DeviceTensor sum = empty({64}), unwritten = empty({64});
  apply("add", {in(unwritten), number(1)}, sum);
  EXPECT_EQ(read<float>(sum), Floats(64, 1));
}

TEST_F(DeviceTest, ConcatenationNeedsNoZeros) {
  const DeviceTensor a = tensor<float>({2, 1}, {1, 2}), b = tensor<float>({2, 2}, {3, 4, 5, 6}),
                     all = empty({2, 3});
  DeviceTensor left = all, right = all;
  left.sizes = {2, 1};
  right.sizes = {2, 2};
  right.offset = 1;
  apply("add", {in(a), number(0)}, left);
  apply("add", {in(b), number(0)}, right);
  EXPECT_EQ(read<float>(all), (Floats{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(device.stats().card.computes, device.stats().kernel_launches);
}

TEST_F(DeviceTest, TemporariesGetNoMemory) {
  const DeviceTensor a = tensor<float>({1024}, Floats(1024, 1));
  const std::uint64_t before = device.stats().memory.allocated.count;
  DeviceTensor x = a;
  for (int i = 0; i < 10; ++i) {
    DeviceTensor next = empty({1024});
    apply("add", {in(x), number(1)}, next);
    x = std::move(next);
  }
  EXPECT_EQ(read<float>(x), Floats(1024, 11));
  // One result, and the flight's argument slot.
  EXPECT_LE(device.stats().memory.allocated.count, before + 4096 + 4096);
}

TEST_F(DeviceTest, UnreadResultsCostNothing) {
  const DeviceTensor a = tensor<float>({4}, {1, 2, 3, 4});
  {
    const DeviceTensor c = empty({4});
    apply("exp", {in(a)}, c);
  }
  device.synchronize(kStream);
  EXPECT_EQ(device.stats().kernel_launches, 0U);
  EXPECT_EQ(device.stats().dead_ops, 1U);
}

TEST_F(DeviceTest, ReadingWhatIsNotPendingDoesNotFlush) {
  const DeviceTensor a = tensor<float>({2}, {1, 2}), b = empty({2});
  apply("add", {in(a), number(1)}, b);
  EXPECT_EQ(read<float>(a), (Floats{1, 2}));
  EXPECT_EQ(flushes(FlushReason::DeviceToHost), 0U);
  EXPECT_EQ(read<float>(b), (Floats{2, 3}));
}

TEST_F(DeviceTest, UploadFlushesPendingUsersOnly) {
  const DeviceTensor a = tensor<float>({2}, {1, 2}), b = empty({2}), other = empty({2});
  apply("add", {in(a), number(1)}, b);
  const Floats fresh{5, 6};
  const auto* bytes = reinterpret_cast<const std::byte*>(fresh.data());
  device.upload(kStream, *other.buffer, {}, bytes, 8_B, true);
  EXPECT_EQ(flushes(FlushReason::HostToDevice), 0U);
  device.upload(kStream, *a.buffer, {}, bytes, 8_B, true);
  EXPECT_EQ(flushes(FlushReason::HostToDevice), 1U);
  EXPECT_EQ(read<float>(b), (Floats{2, 3}));
  EXPECT_EQ(read<float>(a), fresh);
}

TEST_F(DeviceTest, PartialUploadAndDownload) {
  const DeviceTensor a = tensor<float>({4}, {1, 2, 3, 4});
  const float nine = 9;
  device.upload(kStream, *a.buffer, 8_B, reinterpret_cast<const std::byte*>(&nine), 4_B, true);
  float got = 0;
  device.download(kStream, *a.buffer, 8_B, reinterpret_cast<std::byte*>(&got), 4_B,
                  FlushReason::Item);
  EXPECT_EQ(got, 9);
  EXPECT_EQ(read<float>(a), (Floats{1, 2, 9, 4}));
  EXPECT_THROW(device.download(kStream, *a.buffer, 12_B, reinterpret_cast<std::byte*>(&got), 8_B,
                               FlushReason::Item),
               InvalidArgument);
}

TEST_F(DeviceTest, HostAddressSeesAndChangesTheBytes) {
  const DeviceTensor a = tensor<float>({2}, {1, 2});
  apply("add", {in(a), number(1)}, a);
  auto* values =
      reinterpret_cast<float*>(device.host_address(kStream, *a.buffer, FlushReason::HostOp));
  EXPECT_EQ(values[0], 2);
  values[0] = 50;
  apply("add", {in(a), number(1)}, a);
  EXPECT_EQ(read<float>(a), (Floats{51, 4}));
  EXPECT_EQ(flushes(FlushReason::HostOp), 1U);
}

TEST_F(DeviceTest, NodeLimitFlushes) {
  Settings settings = device.settings();
  settings.max_nodes = 8;
  device.configure(settings);
  const DeviceTensor a = tensor<float>({2}, {0, 0});
  for (int i = 0; i < 20; ++i) apply("add", {in(a), number(1)}, a);
  EXPECT_EQ(flushes(FlushReason::NodeLimit), 2U);
  EXPECT_EQ(read<float>(a), (Floats{20, 20}));
}

TEST_F(DeviceTest, ByteLimitFlushes) {
  Settings settings = device.settings();
  settings.max_pending = 4_KiB;
  device.configure(settings);
  std::vector<DeviceTensor> kept;
  for (int i = 0; i < 8; ++i) {
    kept.push_back(empty({256}));
    apply("add", {number(i), number(1)}, kept.back());
  }
  EXPECT_EQ(flushes(FlushReason::ByteLimit), 2U);
  EXPECT_EQ(read<float>(kept[7])[0], 8);
}

TEST_F(DeviceTest, IntermediatesDoNotCountForTheByteLimit) {
  Settings settings = device.settings();
  settings.max_pending = 16_KiB;
  device.configure(settings);
  DeviceTensor x = empty({256});
  apply("add", {number(1), number(1)}, x);
  for (int i = 0; i < 60; ++i) {
    const DeviceTensor next = empty({256});
    apply("add", {in(x), number(1)}, next);
    x = next;
  }
  EXPECT_EQ(flushes(FlushReason::ByteLimit), 0U);
  EXPECT_EQ(read<float>(x)[0], 62);
}

TEST_F(DeviceTest, EmptyTensorsAreNotRecorded) {
  const DeviceTensor a = empty({0, 4}), b = empty({0, 4});
  apply("add", {in(a), number(1)}, b);
  EXPECT_TRUE(device.idle(kStream));
}

TEST_F(DeviceTest, EndlessLoopRunsInConstantMemory) {
  Settings settings = device.settings();
  settings.max_nodes = 64;
  device.configure(settings);
  const Dims sizes{4096};
  DeviceTensor x = empty(sizes);
  apply("add", {number(0), number(0)}, x);
  for (int i = 0; i < 20000; ++i) {
    DeviceTensor next = empty(sizes);
    apply("add", {in(x), number(1)}, next);
    x = std::move(next);
  }
  EXPECT_EQ(read<float>(x), Floats(4096, 20000));
  EXPECT_LE(device.stats().memory.peak_allocated, 2_MiB);
  EXPECT_LE(device.stats().plan_cache.misses, 4U);
}

TEST_F(DeviceTest, MemoryReturnsWhenTensorsDie) {
  const std::uint64_t before = device.stats().memory.allocated.count;
  {
    const DeviceTensor a = tensor<float>({1024}, Floats(1024, 1)), b = empty({1024});
    apply("add", {in(a), in(a)}, b);
    device.synchronize(kStream);
    EXPECT_GE(device.stats().memory.allocated.count, before + 8192);
  }
  EXPECT_LE(device.stats().memory.allocated.count, before + 1024);
}

/// The same program, run in two modes, must give the same bits.
class ModesTest : public ::testing::TestWithParam<Mode> {};

TEST_P(ModesTest, ProgramGivesTheSameBits) {
  struct Program : DeviceFixture {
    explicit Program(Settings settings) : DeviceFixture(settings) {}
    void TestBody() override {}
    Floats run() {
      Floats values(1000);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = 0.37F * static_cast<float>(i) - 150;
      const DeviceTensor x = tensor<float>({10, 100}, values), row = empty({10}),
                         out = empty({10, 100});
      const DeviceTensor scaled = empty({10, 100}), e = empty({10, 100});
      apply("mul", {in(x), number(0.01)}, scaled);
      apply("exp", {in(scaled)}, e);
      reduce(kernels::Reduction::Sum, e, 2, row);
      DeviceTensor wide = row;
      wide.sizes = {10, 100};
      wide.strides = {1, 0};
      apply("div", {in(e), in(wide)}, out);
      return read<float>(out);
    }
  };
  Settings settings;
  settings.execution = kernels::Execution::Scalar;
  const Floats lazy = Program(settings).run();
  settings.mode = GetParam();
  EXPECT_EQ(Program(settings).run(), lazy);
}

INSTANTIATE_TEST_SUITE_P(Modes, ModesTest, ::testing::Values(Mode::Lazy, Mode::Eager));

}  // namespace
}  // namespace spyre::lazy
