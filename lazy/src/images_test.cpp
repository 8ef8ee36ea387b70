// spyre/lazy/images_test.cpp — a tensor in sticks behaves as one with ordinary strides, whatever is done to it.
#include "images.h"

#include <algorithm>
#include <numeric>

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

using device_sim::DataFormat;
using device_sim::HostShape;
using device_sim::TensorLayout;
using Floats = std::vector<float>;

class ImagesTest : public DeviceFixture {
 protected:
  /// A [5, 70] tensor with columns in the sticks: 35 % of its memory is padding.
  DeviceTensor tiled(const Dims& order = {0, 1}) {
    const HostShape shape{kSize, contiguous_strides(kSize)};
    Tiled content(TensorLayout::derived(kSize, shape.strides, DataFormat::IeeeFp32, order), shape,
                  4);
    return {device.create_buffer(std::move(content)), DType::F32, kSize, shape.strides};
  }
  static Floats iota(float first = 0) {
    Floats values(350);
    std::iota(values.begin(), values.end(), first);
    return values;
  }
  void write(const DeviceTensor& t, const Floats& values, std::size_t first = 0) {
    device.upload(kStream, *t.buffer, {first * 4},
                  reinterpret_cast<const std::byte*>(values.data()), {values.size() * 4}, true);
  }
  Floats image(const DeviceTensor& t, std::size_t first = 0, std::size_t count = 350) {
    Floats values(count);
    device.download(kStream, *t.buffer, {first * 4}, reinterpret_cast<std::byte*>(values.data()),
                    {count * 4}, FlushReason::DeviceToHost);
    return values;
  }
  std::uint64_t relayouts() const { return device.stats().relayouts; }

  const Dims kSize{5, 70};
};

TEST_F(ImagesTest, TakesItsSticksFromTheCard) {
  const auto owned = [&] { return device.owned().requested.current; };
  {
    const DeviceTensor t = tiled();
    EXPECT_EQ(t.buffer->size(), Bytes{350 * 4});
    EXPECT_EQ(t.buffer->tiled()->bytes(), Bytes{3 * 5 * 32 * 4});
    EXPECT_EQ(owned(), 3 * 5 * 32 * 4);
    EXPECT_EQ(device.owned().buffers.current, 1);
  }
  EXPECT_EQ(owned(), 0);
}

TEST_F(ImagesTest, WholeTransfersAreArrangedOnTheHost) {
  for (const Dims& order : {Dims{0, 1}, Dims{1, 0}}) {
    const DeviceTensor t = tiled(order);
    write(t, iota());
    EXPECT_EQ(image(t), iota());
  }
  EXPECT_EQ(relayouts(), 0U);
  EXPECT_EQ(device.stats().dispatches, 0U);
}

TEST_F(ImagesTest, MemoryHoldsSticks) {
  const DeviceTensor t = tiled();
  write(t, iota(1));
  std::vector<std::byte> expected(t.buffer->tiled()->bytes().count);
  const Floats values = iota(1);
  t.buffer->tiled()->tile(reinterpret_cast<const std::byte*>(values.data()), expected.data());
  const auto lane = [&](std::size_t at) {
    float value;
    std::memcpy(&value, expected.data() + at * 4, 4);
    return value;
  };
  EXPECT_EQ(lane(0), 1.0F);
  EXPECT_EQ(lane(32), 71.0F);             // the next row's first stick
  EXPECT_EQ(lane(5 * 32), 33.0F);         // row 0, second stick
  EXPECT_EQ(lane(2 * 5 * 32 + 6), 0.0F);  // padding
}

TEST_F(ImagesTest, PartsGoThroughAnImage) {
  const DeviceTensor t = tiled();
  write(t, iota());
  write(t, {-1, -2, -3}, 68);  // across two rows
  Floats expected = iota();
  std::copy_n(Floats{-1, -2, -3}.begin(), 3, expected.begin() + 68);
  EXPECT_EQ(image(t), expected);
  EXPECT_EQ(image(t, 69, 2), (Floats{-2, -3}));
  EXPECT_GT(relayouts(), 0U);
}

TEST_F(ImagesTest, OperationsTakeAnyMixture) {
  const DeviceTensor rows = tiled(), columns = tiled({1, 0}), plain = tensor<float>(kSize, iota());
  write(rows, iota());
  write(columns, iota(1000));
  const DeviceTensor sum = empty(kSize), again = tiled({1, 0});
  apply("add", {in(rows), in(columns)}, sum);
  apply("add", {in(sum), in(plain)}, again);
  Floats expected;
  for (int i = 0; i < 350; ++i) expected.push_back(1000.0F + 3.0F * static_cast<float>(i));
  EXPECT_EQ(image(again), expected);
}

TEST_F(ImagesTest, PreparedOperationsTakeThemToo) {
  const DeviceTensor plain = tensor<float>(kSize, iota()), rows = tiled(), columns = tiled({1, 0});
  write(rows, iota(1));
  const std::vector<Input> inputs{in(plain), number(2)};
  PreparedPointwise twice(Pointwise{kernels::op_named("mul"), DType::F32, DType::F32, kSize.span(),
                                    inputs, columns.view(), 0});
  const PreparedOperand two{.bits = Input::of_double(2, DType::F32).bits};
  const auto record = [&](const DeviceTensor& from) {
    const std::vector<PreparedOperand> operands{{.buffer = from.buffer.get()}, two};
    return device.record(kStream, twice, operands, 0);
  };
  const BufferRef first = record(plain), second = record(rows), third = record(plain);
  const std::vector<PreparedOperand> operands{{.buffer = second.get()}, two};
  device.record(kStream, twice, operands, {.buffer = columns.buffer.get()}, 0);
  const auto values = [&](const BufferRef& buffer) {
    return read<float>({buffer, DType::F32, kSize, contiguous_strides(kSize)});
  };
  EXPECT_EQ(values(second)[349], 700.0F);
  EXPECT_EQ(values(first), values(third));
  EXPECT_EQ(image(columns)[349], 1400.0F);
}

TEST_F(ImagesTest, OperandsThatAreCutAlikeNeedNoImage) {
  const DeviceTensor rows = tiled(), columns = tiled({1, 0}), plain = tensor<float>(kSize, iota(5));
  write(rows, iota());
  write(columns, iota(1000));
  apply("add", {in(rows), in(plain)}, rows);
  apply("sub", {in(columns), in(rows)}, columns);
  apply("mul", {in(rows.slice(2, 4)), number(2)}, rows.slice(2, 4));
  const std::vector<std::int64_t> steps{70, 1};
  const DeviceTensor counted = tiled();
  apply("add", {Input::iota(3, steps), in(counted)}, counted);
  EXPECT_EQ(relayouts(), 0U);
  Floats sum, difference, count;
  for (std::size_t i = 0; i < 350; ++i) {
    const auto value = static_cast<float>(i);
    sum.push_back((2 * value + 5) * (i >= 140 && i < 280 ? 2 : 1));
    difference.push_back(995 - value);
    count.push_back(value + 3);
  }
  EXPECT_EQ(image(rows), sum);
  EXPECT_EQ(image(columns), difference);
  EXPECT_EQ(image(counted), count);
}

TEST_F(ImagesTest, ViewsThatCrossSticksNeedOne) {
  const DeviceTensor t = tiled();
  write(t, iota());
  DeviceTensor flat = t;
  flat.sizes = {350};
  flat.strides = {1};
  apply("mul", {in(flat), number(2)}, flat);
  Floats expected = iota();
  for (float& value : expected) value *= 2;
  EXPECT_EQ(image(t), expected);
  EXPECT_GT(relayouts(), 0U);
}

TEST_F(ImagesTest, ViewsAndWritesInPlace) {
  const DeviceTensor t = tiled();
  write(t, iota());
  apply("mul", {in(t.slice(1, 2)), number(-1)}, t.slice(1, 2));
  const DeviceTensor turned = empty({70, 5});
  apply("add", {in(t.transposed()), number(0)}, turned);
  Floats expected = iota();
  for (std::size_t i = 70; i < 140; ++i) expected[i] = -expected[i];
  EXPECT_EQ(image(t), expected);
  const Floats columns = read<float>(turned);
  EXPECT_EQ(columns[1], -70.0F);
  EXPECT_EQ(columns[2], 140.0F);
}

TEST_F(ImagesTest, ReductionsSeeNoPadding) {
  const DeviceTensor t = tiled(), smallest = empty({5});
  write(t, iota(10));  // the padding's zeros would be smaller
  reduce(kernels::Reduction::Min, t, 0b10, smallest);
  EXPECT_EQ(read<float>(smallest), (Floats{10, 80, 150, 220, 290}));
  DeviceTensor row = tiled();
  write(row, Floats(350, 0));
  row.sizes = {5};
  row.strides = {1};
  reduce(kernels::Reduction::Max, t, 0b10, row);
  EXPECT_EQ(image(row, 0, 6), (Floats{79, 149, 219, 289, 359, 0}));
}

TEST_F(ImagesTest, TheHostMayWriteTheImage) {
  const DeviceTensor t = tiled();
  write(t, iota());
  auto* values =
      reinterpret_cast<float*>(device.host_address(kStream, *t.buffer, FlushReason::HostOp));
  EXPECT_EQ(values[349], 349.0F);
  values[69] = -5;
  EXPECT_EQ(image(t)[69], -5.0F);
  values = reinterpret_cast<float*>(device.host_address(kStream, *t.buffer, FlushReason::HostOp));
  EXPECT_EQ(values[69], -5.0F);
  values[0] = 7;
  write(t, iota(1));  // as a whole: what was lent is forgotten
  EXPECT_EQ(image(t), iota(1));
}

TEST_F(ImagesTest, FreshMemoryReadsAsZero) { EXPECT_EQ(image(tiled()), Floats(350, 0)); }

TEST_F(ImagesTest, LeavesNoMemoryBehind) {
  const auto live = [&] {
    {
      const DeviceTensor t = tiled();
      write(t, iota());
      apply("mul", {in(t), number(2)}, t);
      device.host_address(kStream, *t.buffer, FlushReason::HostOp);
    }
    device.synchronize_all();
    return device.stats().memory.live;
  };
  for (int i = 0; i < 3; ++i) live();  // argument slots come to stay
  const auto settled = live();
  EXPECT_EQ(live(), settled);
}

TEST_F(ImagesTest, RefusesALayoutThatDoesNotHoldTheTensor) {
  const HostShape shape{{5, 80}, {80, 1}};
  EXPECT_THROW(Tiled(TensorLayout::derived(kSize, DataFormat::IeeeFp32), shape, 4),
               InvalidArgument);
  EXPECT_THROW(Tiled(TensorLayout::derived(kSize, DataFormat::IeeeFp32), {kSize, {70, 1}}, 16),
               Unsupported);
}

}  // namespace
}  // namespace spyre::lazy
