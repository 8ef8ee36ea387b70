// spyre/lazy/programs.h — the card's view of what a plan runs: a kernel, a library call, or a fill
// with zeros.
//
// Each program reads its arguments from device memory. An argument record starts with the flight
// that it belongs to, which learns of failures and can call a step off; the rest are 64-bit words
// in the layout of its class.
#pragma once
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "spyre/device_sim/operation.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/library.h"

namespace spyre::lazy {

/// Watches the steps of one flight. Called on the cores' threads.
class StepMonitor {
 public:
  /// True if something that the step reads was never computed.
  virtual bool skips(std::uint32_t step) noexcept = 0;
  /// The step threw; the card is not told, so that what does not depend on the step goes on.
  virtual void failed(std::uint32_t step, std::exception_ptr fault) noexcept = 0;

 protected:
  ~StepMonitor() = default;
};

/// Words before a program's own arguments: the StepMonitor's address, or 0.
inline constexpr std::size_t kHeaderWords = 1;

/// Runs `body` unless the flight calls it off. What it throws goes to the flight.
template <class Body>
void run_monitored(std::span<const std::byte> arguments, std::uint32_t step, Body&& body) {
  auto* monitor = *reinterpret_cast<StepMonitor* const*>(arguments.data());
  if (monitor == nullptr) return body();
  if (monitor->skips(step)) return;
  try {
    body();
  } catch (...) { monitor->failed(step, std::current_exception()); }
}

/// Arguments: bases, params, extents, strides, as in kernels::LaunchArguments. Immutable.
class KernelProgram final : public device_sim::Program {
 public:
  KernelProgram(std::shared_ptr<const kernels::Kernel> kernel, std::uint32_t step);
  std::int64_t work_items(std::span<const std::byte> arguments) const override;
  void run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
           device_sim::Core& core) const override;
  Hash128 identity() const override;
  /// One number, stored everywhere.
  bool fills() const override;

  const kernels::Kernel& kernel() const { return *kernel_; }
  std::size_t base_word(std::size_t argument) const { return kHeaderWords + argument; }
  std::size_t param_word(std::size_t param) const { return params_at_ + param; }
  std::size_t extent_word(std::size_t dimension) const { return extents_at_ + dimension; }
  std::size_t stride_word(std::size_t flat) const { return strides_at_ + flat; }
  std::size_t words() const { return words_; }

 private:
  kernels::LaunchArguments launch_of(std::span<const std::byte> arguments) const;
  std::shared_ptr<const kernels::Kernel> kernel_;
  std::uint32_t step_;
  std::size_t params_at_, extents_at_, strides_at_, words_;
};

/// Arguments: one address per operand. Immutable.
class LibraryProgram final : public device_sim::Program {
 public:
  LibraryProgram(std::shared_ptr<const kernels::LibraryCall> call,
                 std::vector<kernels::DeviceView> views, std::uint32_t step);
  std::int64_t work_items(std::span<const std::byte> arguments) const override;
  void run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
           device_sim::Core& core) const override;
  Hash128 identity() const override;

  const kernels::LibraryCall& call() const { return *call_; }
  std::size_t base_word(std::size_t operand) const { return kHeaderWords + operand; }
  std::size_t words() const { return kHeaderWords + views_.size(); }

 private:
  std::shared_ptr<const kernels::LibraryCall> call_;
  std::vector<kernels::DeviceView> views_;
  std::uint32_t step_;
};

/// Arguments: address, bytes. Immutable.
class ZeroFillProgram final : public device_sim::Program {
 public:
  static constexpr std::size_t kWords = kHeaderWords + 2;
  static constexpr std::size_t kBaseWord = kHeaderWords, kBytesWord = kHeaderWords + 1;
  std::int64_t work_items(std::span<const std::byte> arguments) const override;
  void run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
           device_sim::Core& core) const override;
  bool fills() const override { return true; }
};

}  // namespace spyre::lazy
