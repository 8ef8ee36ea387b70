// spyre/lazy/programs_test.cpp — programs find their arguments in the words of a launch.
#include "programs.h"

#include "device_fixture.h"

namespace spyre::lazy {
namespace {

/// The last operand becomes the sum of the others.
class SumCall final : public kernels::LibraryCall {
 public:
  std::string_view name() const override { return "sum_operands"; }
  void run(std::span<const kernels::DeviceView> operands, std::int64_t, std::int64_t,
           std::span<std::byte>) const override {
    const auto value = [](const kernels::DeviceView& view) -> float& {
      return *static_cast<float*>(view.data);
    };
    float& sum = value(operands.back()) = 0;
    for (const kernels::DeviceView& view : operands.first(operands.size() - 1)) sum += value(view);
  }
  kernels::LibraryCost cost() const override { return {}; }
};

class LibraryProgramTest : public DeviceFixture, public ::testing::WithParamInterface<int> {};

TEST_P(LibraryProgramTest, HandsOverEveryOperand) {
  std::vector<DeviceTensor> terms;
  for (int i = 0; i < GetParam(); ++i)
    terms.push_back(tensor<float>({1}, {static_cast<float>(1 << i)}));
  const DeviceTensor sum = empty({1});
  const auto operand = [](const DeviceTensor& t) {
    return LibraryOperand{t.buffer.get(), 4, 6, t.offset, t.sizes.span(), t.strides.span()};
  };
  std::vector<LibraryOperand> inputs;
  for (const DeviceTensor& term : terms) inputs.push_back(operand(term));
  const LibraryOperand output = operand(sum);
  device.record(kStream,
                Library{.name = "sum",
                        .key = {},
                        .make = [](const void*) -> std::shared_ptr<const kernels::LibraryCall> {
                          return std::make_shared<SumCall>();
                        },
                        .context = nullptr,
                        .inputs = inputs,
                        .outputs = {&output, 1},
                        .source = 0});
  EXPECT_EQ(read<float>(sum).front(), static_cast<float>((1 << GetParam()) - 1));
}

INSTANTIATE_TEST_SUITE_P(Counts, LibraryProgramTest, ::testing::Values(1, 5, 6, 7, 20));

}  // namespace
}  // namespace spyre::lazy
