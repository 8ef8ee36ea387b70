// spyre/lazy/fault_test.cpp — a failing operation is raised once, and what does not depend on it
// lives on.
#include <latch>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using Floats = std::vector<float>;

/// What a copy does instead of copying.
struct Trouble {
  bool fails = false;
  std::latch* waits_for = nullptr;  // before anything else, so that no fault is known earlier
};

/// out = in, or `trouble`.
class CopyCall final : public kernels::LibraryCall {
 public:
  explicit CopyCall(Trouble trouble) : trouble_(trouble) {}
  std::string_view name() const override { return "copy_rows"; }
  void run(std::span<const kernels::DeviceView> operands, std::int64_t, std::int64_t,
           std::span<std::byte>) const override {
    if (trouble_.waits_for != nullptr) trouble_.waits_for->wait();
    if (trouble_.fails) throw IndexOutOfRange("index 5 is out of range for 3 rows");
    std::memcpy(operands[1].data, operands[0].data,
                static_cast<std::size_t>(operands[0].sizes.numel()) * operands[0].element_size);
  }
  kernels::LibraryCost cost() const override { return {}; }

 private:
  Trouble trouble_;
};

class FaultTest : public DeviceFixture {
 protected:
  FaultTest() {
    device.set_source_text([](std::uint32_t line) { return str("model.py:", line); });
  }

  void copy(const DeviceTensor& from, const DeviceTensor& to, bool fails,
            std::uint32_t source = 0) {
    copy(from, to, Trouble{.fails = fails}, source);
  }

  void copy(const DeviceTensor& from, const DeviceTensor& to, Trouble trouble,
            std::uint32_t source = 0) {
    const std::byte key[2]{static_cast<std::byte>(trouble.fails),
                           static_cast<std::byte>(trouble.waits_for != nullptr)};
    const LibraryOperand in{from.buffer.get(), size_of(from.dtype), 6,
                            from.offset,       from.sizes.span(),   from.strides.span()};
    const LibraryOperand out{to.buffer.get(), size_of(to.dtype), 6,
                             to.offset,       to.sizes.span(),   to.strides.span()};
    device.record(
        kStream,
        Library{.name = "copy",
                .key = key,
                .make = [](const void* context) -> std::shared_ptr<const kernels::LibraryCall> {
                  return std::make_shared<CopyCall>(*static_cast<const Trouble*>(context));
                },
                .context = &trouble,
                .inputs = {&in, 1},
                .outputs = {&out, 1},
                .source = source,
                .may_fault = trouble.fails});
  }

  /// out = a / b, in integers.
  void divide(const DeviceTensor& a, const DeviceTensor& b, const DeviceTensor& out,
              std::uint32_t source = 0) {
    const Input inputs[]{in(a), in(b)};
    device.record(kStream, Pointwise{kernels::op_named("div_trunc"), DType::I32, DType::I32,
                                     out.sizes.span(), inputs, out.view(), source, true});
  }
};

TEST_F(FaultTest, LibraryCallsRun) {
  const DeviceTensor a = tensor<float>({3}, {1, 2, 3}), b = empty({3}), c = empty({3});
  copy(a, b, false);
  apply("add", {in(b), number(1)}, c);
  EXPECT_EQ(read<float>(c), (Floats{2, 3, 4}));
  EXPECT_EQ(device.stats().library_launches, 1U);
}

TEST_F(FaultTest, RaisedOnceWithTypeOperationAndLine) {
  const DeviceTensor a = tensor<float>({3}, {1, 2, 3}), b = empty({3});
  copy(a, b, true, 42);
  try {
    device.synchronize(kStream);
    FAIL() << "no fault was raised";
  } catch (const IndexOutOfRange& e) {
    EXPECT_STREQ(e.what(),
                 "copy_rows: index 5 is out of range for 3 rows; recorded at model.py:42");
  }
  device.synchronize(kStream);
  EXPECT_THROW(read<float>(b), DeviceFault);
}

TEST_F(FaultTest, OnlyDependentsAreLost) {
  const DeviceTensor a = tensor<float>({3}, {1, 2, 3}), bad = empty({3}), lost = empty({3}),
                     before = empty({3}), after = empty({3});
  apply("add", {in(a), number(1)}, before);
  copy(a, bad, true);
  apply("add", {in(bad), number(1)}, lost);
  apply("add", {in(a), number(2)}, after);
  EXPECT_THROW(device.synchronize(kStream), IndexOutOfRange);
  EXPECT_EQ(read<float>(before), (Floats{2, 3, 4}));
  EXPECT_EQ(read<float>(after), (Floats{3, 4, 5}));
  EXPECT_THROW(read<float>(lost), DeviceFault);
  EXPECT_THROW(apply("add", {in(lost), number(1)}, after), DeviceFault);
}

TEST_F(FaultTest, LaterLaunchesAreUsable) {
  const DeviceTensor a = tensor<float>({3}, {1, 2, 3}), bad = empty({3}), good = empty({3});
  copy(a, bad, true);
  device.flush(kStream, FlushReason::Event);
  apply("add", {in(a), number(1)}, good);  // another launch, before the fault is raised
  EXPECT_THROW(read<float>(good), IndexOutOfRange);
  EXPECT_EQ(read<float>(good), (Floats{2, 3, 4}));
  // Written as a whole, the lost tensor is good again.
  apply("add", {in(a), number(5)}, bad);
  EXPECT_EQ(read<float>(bad), (Floats{6, 7, 8}));
}

TEST_F(FaultTest, LaunchesThatDoNotTouchALostTensorLeaveItLost) {
  const DeviceTensor a = tensor<float>({3}, {1, 2, 3}), bad = empty({3}), lost = empty({3}),
                     result = empty({3});
  std::latch recorded{1};
  copy(a, bad, Trouble{.fails = true, .waits_for = &recorded});
  apply("add", {in(bad), number(1)}, lost);
  device.flush(kStream, FlushReason::Item);
  apply("add", {in(bad), number(1)}, empty({3}));  // dead
  apply("add", {in(lost), number(1)}, result);
  recorded.count_down();
  EXPECT_THROW(device.synchronize(kStream), IndexOutOfRange);
  for (const DeviceTensor* t : {&bad, &lost, &result}) EXPECT_THROW(read<float>(*t), DeviceFault);
}

TEST_F(FaultTest, SkippedUpdatesLeaveOldContent) {
  const DeviceTensor weight = tensor<float>({3}, {1, 2, 3}), bad = empty({3});
  copy(weight, bad, true);
  apply("add", {in(weight), in(bad)}, weight);
  EXPECT_THROW(device.synchronize(kStream), IndexOutOfRange);
  EXPECT_EQ(read<float>(weight), (Floats{1, 2, 3}));
}

TEST_F(FaultTest, IntegerDivisionByZero) {
  const DeviceTensor a = tensor<std::int32_t>({3}, {6, 7, 8}),
                     zero = tensor<std::int32_t>({3}, {1, 0, 2});
  const DeviceTensor q = empty({3}, DType::I32);
  divide(a, zero, q, 7);
  try {
    device.synchronize(kStream);
    FAIL() << "no fault was raised";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("model.py:7"), std::string::npos) << e.what();
  }
}

TEST_F(FaultTest, ADivisionLosesOnlyWhatDependsOnIt) {
  using Ints = std::vector<std::int32_t>;
  const DeviceTensor a = tensor<std::int32_t>({2}, {6, 7}),
                     zero = tensor<std::int32_t>({2}, {1, 0});
  const DeviceTensor before = empty({2}, DType::I32), q = empty({2}, DType::I32),
                     after = empty({2}, DType::I32), lost = empty({2}, DType::I32);
  apply("add", {in(a), number(1, DType::I32)}, before);
  divide(before, zero, q);
  apply("add", {in(before), number(2, DType::I32)}, after);
  apply("add", {in(q), in(after)}, lost);
  EXPECT_THROW(device.synchronize(kStream), Error);
  EXPECT_EQ(read<std::int32_t>(before), (Ints{7, 8}));
  EXPECT_EQ(read<std::int32_t>(after), (Ints{9, 10}));
  EXPECT_THROW(read<std::int32_t>(q), DeviceFault);
  EXPECT_THROW(read<std::int32_t>(lost), DeviceFault);
}

TEST_F(FaultTest, FaultsOfResultsThatNobodyReadsAreRaised) {
  const DeviceTensor a = tensor<std::int32_t>({2}, {6, 7}),
                     zero = tensor<std::int32_t>({2}, {1, 0});
  divide(a, zero, empty({2}, DType::I32));
  EXPECT_THROW(device.synchronize(kStream), Error);
  copy(a, empty({2}, DType::I32), true);
  EXPECT_THROW(device.synchronize(kStream), IndexOutOfRange);
  divide(a, a, empty({2}, DType::I32));
  apply("add", {in(a), in(a)}, empty({2}, DType::I32));
  device.synchronize(kStream);
  EXPECT_EQ(device.stats().dead_ops, 1U);
}

TEST_F(FaultTest, SyncRaisesWhereTheNodeIsRecorded) {
  Settings settings = device.settings();
  settings.sync = true;
  device.configure(settings);
  const DeviceTensor a = tensor<std::int32_t>({2}, {6, 7}),
                     zero = tensor<std::int32_t>({2}, {1, 0});
  const DeviceTensor q = empty({2}, DType::I32);
  EXPECT_THROW(apply("div_trunc", {in(a), in(zero)}, q), Error);
  apply("div_trunc", {in(a), in(a)}, q);
  EXPECT_EQ(read<std::int32_t>(q), (std::vector<std::int32_t>{1, 1}));
}

class FullCardTest : public DeviceFixture {
 protected:
  FullCardTest() : DeviceFixture(interpreted(), 8_MiB) {}
};

TEST_F(FullCardTest, OutOfMemoryIsRaisedAndTheRestLivesOn) {
  const DeviceTensor a = tensor<float>({4}, {1, 2, 3, 4});
  const DeviceTensor big = empty({4 << 20}), small = empty({4});
  apply("add", {number(1), number(2)}, big);  // 16 MiB on a card of 8
  EXPECT_THROW(read<float>(big), OutOfDeviceMemory);
  EXPECT_THROW(read<float>(big), OutOfDeviceMemory);
  apply("add", {in(a), number(1)}, small);
  EXPECT_EQ(read<float>(small), (Floats{2, 3, 4, 5}));
}

TEST_F(FullCardTest, MemoryInFlightIsWaitedFor) {
  Settings settings = device.settings();
  settings.max_pending = 1_MiB;
  device.configure(settings);
  const Dims sizes{512 << 10};  // 2 MiB each: three fit, the pending ones must go first
  for (int i = 0; i < 12; ++i) {
    const DeviceTensor x = empty(sizes);
    apply("add", {number(i), number(1)}, x);
    if (i == 11) { EXPECT_EQ(read<float>(x)[7], 12); }
  }
}

TEST_F(FullCardTest, OwnersAreAskedToLetGo) {
  const Dims sizes{5 << 18};  // 5 MiB of float: one fits the card, two do not
  DeviceTensor forgotten = tensor<float>(sizes, Floats(5 << 18, 1));
  int calls = 0;
  device.set_memory_pressure([&] {
    ++calls;
    EXPECT_EQ(device.memory_reliefs(), 1U) << "called without the lock";
    forgotten.buffer = {};
  });
  const DeviceTensor x = empty(sizes);
  apply("add", {number(1), number(2)}, x);
  EXPECT_EQ(read<float>(x)[7], 3);
  EXPECT_EQ(calls, 1);
  device.reset_owned_totals();
  EXPECT_EQ(device.memory_reliefs(), 0U);
}

TEST_F(FullCardTest, WhatMakesRoomIsNotAskedToMakeRoom) {
  int calls = 0, depth = 0;
  device.set_memory_pressure([&] {
    ++calls;
    EXPECT_EQ(++depth, 1);
    const DeviceTensor huge = empty({4 << 20});
    apply("add", {number(1), number(2)}, huge);
    EXPECT_THROW(read<float>(huge), OutOfDeviceMemory);
    --depth;
  });
  const DeviceTensor big = empty({4 << 20});
  apply("add", {number(1), number(2)}, big);
  EXPECT_THROW(read<float>(big), OutOfDeviceMemory);
  EXPECT_GE(calls, 1);
  device.set_memory_pressure(nullptr);
}

TEST_F(FullCardTest, RecordedNodesRunBeforeAnUploadGivesUp) {
  constexpr std::int64_t kLarge = 5 << 18;  // 5 MiB of float: one fits the card, two do not
  const DeviceTensor total = empty({1});
  {
    const DeviceTensor first = tensor<float>({kLarge}, Floats(kLarge, 1));
    reduce(kernels::Reduction::Sum, first, 1, total);
  }  // only the recorded reduction retains it now
  const DeviceTensor second = tensor<float>({kLarge}, Floats(kLarge, 2));
  EXPECT_EQ(device.stats().flushes[static_cast<std::size_t>(FlushReason::MemoryPressure)], 1U);
  EXPECT_EQ(read<float>(total)[0], static_cast<float>(kLarge));
  EXPECT_EQ(read<float>(second)[7], 2);
}

}  // namespace
}  // namespace spyre::lazy
