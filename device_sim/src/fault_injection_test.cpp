// spyre/device_sim/fault_injection_test.cpp — what was asked to fail does, and nothing else.
#include "spyre/device_sim/fault_injection.h"

#include <gtest/gtest.h>

#include "spyre/base/error.h"
#include "spyre/device_sim/card.h"
#include "spyre/device_sim/copies.h"

namespace spyre::device_sim {
namespace {

constexpr StreamId kDefault{0};

TEST(FaultInjector, CountsDownToSomeOfOneSite) {
  FaultInjector injector;
  EXPECT_FALSE(injector.due(FaultSite::Kernel));
  injector.arm(FaultSite::Kernel, 2, 3);
  std::string due;
  for (int i = 0; i < 7; ++i) due += injector.due(FaultSite::Kernel) ? 'x' : '.';
  EXPECT_EQ(due, "..xxx..");
  EXPECT_FALSE(injector.due(FaultSite::Callback));
  EXPECT_EQ(injector.disarm(), 3U);
  injector.arm(FaultSite::Callback, 0, 1);
  EXPECT_FALSE(injector.due(FaultSite::Kernel));
  EXPECT_THROW(injector.check(FaultSite::Callback), DeviceFault);
  EXPECT_NO_THROW(injector.check(FaultSite::Callback));
  EXPECT_EQ(injector.disarm(), 1U);
}

/// Notes what it hears.
class Losses final : public LossListener {
 public:
  void lost(std::uint32_t part, const std::exception_ptr& fault) noexcept override {
    heard += fault != nullptr ? 'F' : 's';
    heard += static_cast<char>('0' + part);
  }
  bool calls_off(std::uint32_t part) const noexcept override { return part == called_off; }
  std::string heard;
  std::uint32_t called_off = 99;
};

Operation listening(Operation operation, Losses& losses, std::uint32_t part) {
  operation.listener = &losses;
  operation.part = part;
  return operation;
}

class InjectedFaults : public testing::Test {
 protected:
  TimelinePoint enqueue(std::uint32_t part, std::function<void()> function = [] {}) {
    return card.enqueue(kDefault,
                        listening({.what = HostCallback{std::move(function)}}, losses, part),
                        Urgency::Waited);
  }
  Card card{DeviceSpec{}};
  Losses losses;
};

TEST_F(InjectedFaults, AListenerHearsOfWhatFailedAndOfWhatWasSkipped) {
  card.fault_injector().arm(FaultSite::Callback, 1, 1);
  for (std::uint32_t part = 0; part < 4; ++part) enqueue(part);
  card.drain_all();
  EXPECT_EQ(losses.heard, "F1s2s3");
  EXPECT_THROW(std::rethrow_exception(card.take_fault(kDefault)), DeviceFault);
  card.synchronize(enqueue(4));
  EXPECT_EQ(losses.heard, "F1s2s3");
}

TEST_F(InjectedFaults, WhatAListenerCallsOffDoesNotRun) {
  bool ran = false;
  losses.called_off = 5;
  card.synchronize(enqueue(5, [&] { ran = true; }));
  EXPECT_FALSE(ran);
  EXPECT_EQ(losses.heard, "s5");
  EXPECT_EQ(card.take_fault(kDefault), nullptr);
}

TEST_F(InjectedFaults, AnAllocationFindsNoMemoryWhateverIsDone) {
  int asked = 0;
  card.on_exhaustion([&](Bytes) { return ++asked, true; });
  card.fault_injector().arm(FaultSite::Allocation, 1, 1);
  const Allocation first = card.allocate(1_KiB);
  EXPECT_THROW(card.allocate(1_KiB), OutOfDeviceMemory);
  EXPECT_EQ(asked, 0);
  card.free(card.allocate(1_KiB));
  card.free(first);
  EXPECT_EQ(card.memory_stats().live, 0U);
}

TEST_F(InjectedFaults, TransfersFailByDirection) {
  const Allocation memory = card.allocate(1_KiB);
  std::vector<std::byte> bytes(1024, std::byte{5}), back(1024);
  card.fault_injector().arm(FaultSite::DeviceToHost, 0, 1);
  card.enqueue(kDefault, upload_to(memory, 0_B, bytes.data(), 1_KiB), Urgency::Waited);
  card.synchronize(
      card.enqueue(kDefault, download_from(memory, 0_B, back.data(), 1_KiB), Urgency::Waited));
  EXPECT_THROW(std::rethrow_exception(card.take_fault(kDefault)), DeviceFault);
  EXPECT_EQ(back[0], std::byte{0});
  card.synchronize(
      card.enqueue(kDefault, download_from(memory, 0_B, back.data(), 1_KiB), Urgency::Waited));
  EXPECT_EQ(back[0], std::byte{5});
  card.free(memory);
}

}  // namespace
}  // namespace spyre::device_sim
