// spyre/lazy/stream_test.cpp — several streams, several threads.
#include <thread>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using StreamTest = DeviceFixture;
using Floats = std::vector<float>;

TEST_F(StreamTest, AnotherStreamsPendingWriteIsFlushedAndAwaited) {
  const StreamId side = device.create_stream();
  const DeviceTensor a = tensor<float>({2}, {1, 2}), b = empty({2}), c = empty({2});
  apply("add", {in(a), number(1)}, b, side);
  apply("mul", {in(b), number(10)}, c);  // stream 0
  EXPECT_EQ(flushes(FlushReason::CrossStream), 1U);
  EXPECT_EQ(read<float>(c), (Floats{20, 30}));
}

TEST_F(StreamTest, WritingWhatAnotherStreamStillReads) {
  const StreamId side = device.create_stream();
  const DeviceTensor a = tensor<float>({2}, {1, 2}), b = empty({2});
  apply("add", {in(a), number(1)}, b, side);
  apply("mul", {in(a), number(10)}, a);
  device.synchronize_all();
  EXPECT_EQ(read<float>(b), (Floats{2, 3}));
  EXPECT_EQ(read<float>(a), (Floats{10, 20}));
}

TEST_F(StreamTest, EventsOrderStreams) {
  const StreamId side = device.create_stream();
  const DeviceTensor a = tensor<float>({2}, {1, 2}), b = empty({2});
  apply("add", {in(a), number(1)}, a);
  const device_sim::TimelinePoint point = device.record_event(kStream);
  device.wait_event(side, point);
  apply("add", {in(a), number(1)}, b, side);
  device.synchronize(side);
  EXPECT_TRUE(device.reached(point));
  EXPECT_EQ(read<float>(b), (Floats{3, 4}));
  device.synchronize(point);
  EXPECT_THROW(device.synchronize(StreamId{9}), InvalidArgument);
}

TEST_F(StreamTest, AFaultStaysOnItsStream) {
  const StreamId side = device.create_stream();
  const DeviceTensor a = tensor<std::int32_t>({1}, {1}), zero = tensor<std::int32_t>({1}, {0});
  const DeviceTensor q = empty({1}, DType::I32);
  apply("div_trunc", {in(a), in(zero)}, q, side);
  device.flush(side, FlushReason::Event);
  device.synchronize(kStream);
  EXPECT_THROW(device.synchronize(side), Error);
  device.synchronize(side);
}

TEST_F(StreamTest, NonBlockingTransfersKeepTheirOwner) {
  const DeviceTensor a = empty({1024});
  auto values = std::make_shared<Floats>(1024, 3.0F);
  auto got = std::make_shared<Floats>(1024, 0.0F);
  const std::weak_ptr<Floats> watched = values;
  device.upload(kStream, *a.buffer, {}, reinterpret_cast<const std::byte*>(values->data()), 4_KiB,
                false, values);
  values.reset();
  device.download(kStream, *a.buffer, {}, reinterpret_cast<std::byte*>(got->data()), 4_KiB,
                  FlushReason::DeviceToHost, false, got);
  device.synchronize(kStream);
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(*got, Floats(1024, 3.0F));
}

TEST_F(StreamTest, ManyTransfersAreBounded) {
  const DeviceTensor a = empty({16});
  const auto values = std::make_shared<Floats>(16, 1.0F);
  for (int i = 0; i < 2000; ++i)
    device.upload(kStream, *a.buffer, {}, reinterpret_cast<const std::byte*>(values->data()), 64_B,
                  false, values);
  EXPECT_LE(values.use_count(), 64 + 2);
  device.synchronize(kStream);
  EXPECT_EQ(values.use_count(), 1);
}

TEST_F(StreamTest, ThreadsRecordOnTheirOwnStreams) {
  Settings settings = device.settings();
  settings.max_nodes = 32;
  device.configure(settings);
  constexpr int kThreads = 4, kSteps = 300;
  std::vector<StreamId> streams;
  std::vector<DeviceTensor> sums;
  for (int t = 0; t < kThreads; ++t) {
    streams.push_back(device.create_stream());
    sums.push_back(tensor<float>({64}, Floats(64, 0)));
  }
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const auto i = static_cast<std::size_t>(t);
      for (int step = 0; step < kSteps; ++step) {
        const DeviceTensor scratch = empty({64});
        apply("add", {in(sums[i]), number(t)}, scratch, streams[i]);
        apply("add", {in(scratch), number(1)}, sums[i], streams[i]);
        if (step % 50 == 0) device.synchronize(streams[i]);
        if (step % 70 == 0) device.empty_cache();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < kThreads; ++t)
    EXPECT_EQ(read<float>(sums[static_cast<std::size_t>(t)])[5],
              static_cast<float>(kSteps * (t + 1)));
}

TEST_F(StreamTest, ThreadsShareOneStream) {
  std::vector<DeviceTensor> mine;
  for (int t = 0; t < 3; ++t) mine.push_back(tensor<float>({8}, Floats(8, 0)));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < mine.size(); ++t)
    threads.emplace_back([&, t] {
      for (int step = 1; step <= 200; ++step) {
        apply("add", {in(mine[t]), number(1)}, mine[t]);
        if (step % 20 == 0) { EXPECT_EQ(read<float>(mine[t])[0], static_cast<float>(step)); }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace spyre::lazy
