// spyre/lazy/peer_transfers_test.cpp — buffers copied from device to device: order, laziness, faults, a full target.
#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

class PeerTransfers : public DeviceFixture {
 protected:
  PeerTransfers() : peer_(small_card(8_MiB), interpreted()) {}
  ~PeerTransfers() override { settle(); }

  /// A fault that nobody asked for is none of the test's.
  void settle() {
    for (Device* d : {&device, &peer_}) {
      try {
        d->synchronize_all();
      } catch (const Error&) { d->synchronize_all(); }
    }
  }

  BufferRef send(const DeviceTensor& t) {
    BufferRef target = peer_.create_buffer(t.buffer->size());
    device.copy_to_peer(kStream, {*t.buffer}, kStream, {*target}, t.buffer->size());
    return target;
  }
  std::vector<float> read_there(const BufferRef& buffer) {
    std::vector<float> values(buffer->size().count / sizeof(float));
    peer_.download(kStream, *buffer, {}, reinterpret_cast<std::byte*>(values.data()),
                   buffer->size(), FlushReason::DeviceToHost);
    return values;
  }

  Device peer_;
};

TEST_F(PeerTransfers, WhatIsRecordedRunsFirst) {
  const DeviceTensor x = tensor<float>({3}, {1, 2, 3}), y = empty({3});
  apply("add_scaled", {in(x), in(x), number(1)}, y);
  const BufferRef there = send(y);
  apply("add_scaled", {in(x), in(y), number(1)}, y);  // after the copy
  EXPECT_EQ(read_there(there), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(read<float>(y), (std::vector<float>{3, 6, 9}));
  EXPECT_EQ(flushes(FlushReason::DeviceToDevice), 1U);
}

TEST_F(PeerTransfers, PartsGoToTheirPlaces) {
  const DeviceTensor x = tensor<float>({4}, {1, 2, 3, 4});
  const BufferRef there = send(x);
  device.copy_to_peer(kStream, {*x.buffer, {4}}, kStream, {*there, {8}}, {8});
  EXPECT_EQ(read_there(there), (std::vector<float>{1, 2, 2, 3}));
  EXPECT_THROW(device.copy_to_peer(kStream, {*x.buffer, {12}}, kStream, {*there}, {8}),
               InvalidArgument);
}

TEST_F(PeerTransfers, ATensorWithoutContentIsZero) {
  EXPECT_EQ(read_there(send(empty({2}))), (std::vector<float>{0, 0}));
}

TEST_F(PeerTransfers, MoreCopiesThanMayBeInProgress) {
  const DeviceTensor x = tensor<float>({1}, {5});
  std::vector<BufferRef> kept;
  for (int i = 0; i < 200; ++i) kept.push_back(send(x));
  EXPECT_EQ(read_there(kept.back()).front(), 5);
}

TEST_F(PeerTransfers, BothWaysFromManyThreads) {
  constexpr int kThreads = 4, kRounds = 40;
  std::vector<std::thread> threads;
  std::vector<float> results(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      DeviceTensor x = tensor<float>({2}, {static_cast<float>(t), 0});
      BufferRef there = peer_.create_buffer(x.buffer->size());
      for (int round = 0; round < kRounds; ++round) {
        apply("add_scaled", {in(x), in(x), number(0)}, x);
        device.copy_to_peer(kStream, {*x.buffer}, kStream, {*there}, x.buffer->size());
        peer_.copy_to_peer(kStream, {*there}, kStream, {*x.buffer}, x.buffer->size());
      }
      results[static_cast<std::size_t>(t)] = read<float>(x).front();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(results, (std::vector<float>{0, 1, 2, 3}));
}

TEST_F(PeerTransfers, AnEventOfTheOtherDeviceHoldsNobodyUp) {
  const DeviceTensor x = tensor<float>({1}, {1});
  apply("add_scaled", {in(x), in(x), number(1)}, x);
  const device_sim::TimelinePoint point = device.record_event(kStream);
  peer_.wait_event(kStream, device, point);
  const BufferRef there = send(x);
  EXPECT_EQ(read_there(there).front(), 2);
  EXPECT_TRUE(device.reached(point));
}

TEST_F(PeerTransfers, AFaultIsRaisedWhereTheCopyIsReadAndOnce) {
  const DeviceTensor x = tensor<std::int32_t>({1}, {1}), zero = tensor<std::int32_t>({1}, {0});
  const DeviceTensor y = empty({1}, DType::I32);
  device.record(kStream,
                Pointwise{kernels::op_named("div_trunc"), DType::I32, DType::I32, y.sizes.span(),
                          std::vector{in(x), in(zero)}, y.view(), 0, true});
  const BufferRef there = send(y);
  device.synchronize(kStream);  // the fault has gone over with the copy
  EXPECT_THROW(read_there(there), Error);
  EXPECT_NO_THROW(peer_.synchronize(kStream));
  EXPECT_THROW(read_there(there), DeviceFault);  // it was never computed
  EXPECT_THROW(send(y), DeviceFault);
  EXPECT_EQ(read_there(send(tensor<float>({1}, {4}))).front(), 4);
}

TEST_F(PeerTransfers, AFullTargetLeavesTheSourceAsItWas) {
  const DeviceTensor big = empty({4 << 20});  // 16 MiB; the peer has 8
  EXPECT_THROW(send(big), OutOfDeviceMemory);
  EXPECT_EQ(read<float>(big).front(), 0);
  EXPECT_EQ(read_there(send(tensor<float>({1}, {3}))).front(), 3);
}

TEST_F(PeerTransfers, ACaptureRefuses) {
  const StreamId capture = device.begin_capture(kStream);
  const DeviceTensor x = tensor<float>({1}, {1});
  const BufferRef there = peer_.create_buffer(x.buffer->size());
  EXPECT_THROW(device.copy_to_peer(capture, {*x.buffer}, kStream, {*there}, {4}), CaptureError);
  device.drop_capture(capture);
}

}  // namespace
}  // namespace spyre::lazy
