// spyre/engine/selection.cpp — the device counts; one number comes back, the data stay.
#include "selection.h"

#include <ATen/ExpandUtils.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "spyre/engine/copy.h"

namespace spyre::engine {
namespace {

using at::Tensor;

/// Replaces the call by one result, which has no data.
void give(const c10::OperatorHandle& op, torch::jit::Stack& stack, Tensor result) {
  torch::jit::drop(stack, op.schema().arguments().size());
  torch::jit::push(stack, std::move(result));
}

Tensor of_type(c10::ScalarType type, c10::IntArrayRef sizes) {
  return at::empty(sizes, at::TensorOptions(type).device(c10::DeviceType::Meta));
}

c10::ArrayRef<c10::IValue> arguments_of(const c10::OperatorHandle& op,
                                        const torch::jit::Stack& stack) {
  return torch::jit::last(stack, op.schema().arguments().size());
}

constexpr const char* kNotOurs = "CPU's kernel has the say";

}  // namespace

/// Coordinate by coordinate in memory.
void shapes_of_nonzero(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  give(op, stack, of_type(at::kLong, {arguments_of(op, stack)[0].toTensor().dim(), 0}).t());
}

std::int64_t count_nonzero(c10::ArrayRef<c10::IValue> arguments) {
  const Tensor& self = arguments[0].toTensor();
  return self.numel() == 0 ? 0 : read_count(at::ne(self, 0).sum()).value_or(0);
}

void shapes_of_masked_select(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto arguments = arguments_of(op, stack);
  const Tensor self = arguments[0].toTensor(), mask = arguments[1].toTensor();
  TORCH_CHECK(mask.scalar_type() == at::kBool, kNotOurs);
  at::infer_size(self.sizes(), mask.sizes());
  give(op, stack, of_type(self.scalar_type(), {0}));
}

/// Each one of the mask stands for as many elements as every other.
std::int64_t count_masked_select(c10::ArrayRef<c10::IValue> arguments) {
  const Tensor &self = arguments[0].toTensor(), &mask = arguments[1].toTensor();
  const auto sizes = at::infer_size(self.sizes(), mask.sizes());
  const std::int64_t all = c10::multiply_integers(sizes);
  return all == 0 ? 0 : read_count(mask.sum()).value_or(0) * (all / mask.numel());
}

void shapes_of_bincount(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const auto arguments = arguments_of(op, stack);
  const Tensor self = arguments[0].toTensor();
  const Tensor weights = arguments[1].isNone() ? Tensor() : arguments[1].toTensor();
  TORCH_CHECK(self.dim() == 1 && at::isIntegralType(self.scalar_type(), /*includeBool=*/false) &&
                  arguments[2].toInt() >= 0 &&
                  (!weights.defined() || weights.sizes() == self.sizes()),
              kNotOurs);
  const c10::ScalarType sums =
      weights.defined() && weights.scalar_type() == at::kFloat ? at::kFloat : at::kDouble;
  give(op, stack, of_type(weights.defined() ? sums : at::kLong, {arguments[2].toInt()}));
}

std::int64_t count_bins(c10::ArrayRef<c10::IValue> arguments) {
  const Tensor& self = arguments[0].toTensor();
  const std::int64_t least = arguments[2].toInt();
  if (self.numel() == 0) return least;
  const Tensor low = self.min().to(at::kLong), high = self.max().to(at::kLong);
  TORCH_CHECK(read_count(low).value_or(0) >= 0,
              "bincount only supports 1-d non-negative integral inputs.");
  const std::int64_t largest = read_count(high).value_or(-1);
  TORCH_CHECK(largest < std::numeric_limits<std::int64_t>::max(),
              "maximum value of input overflowed, it should be < ",
              std::numeric_limits<std::int64_t>::max(), " but got ", largest);
  return std::max(largest + 1, least);
}

}  // namespace spyre::engine
