// spyre/kernels/launch_sample.h — random arguments for any KernelSpec, so that two kernels can be compared (tests only).
#pragma once
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "spyre/kernels/kernel.h"

namespace spyre::kernels {

/// Buffers, strides and parameters of one launch. Every run starts from the same contents. A value.
class LaunchSample {
 public:
  LaunchSample(const KernelSpec& spec, std::vector<std::int64_t> extents, std::uint32_t seed);

  /// Lets argument `store` be the same memory as argument 0, element for element.
  void store_over_first(std::size_t store);

  /// Runs all items in `pieces` ranges and returns every buffer afterwards, guards included; the text of the
  /// fault in `fault` if it threw one.
  std::vector<std::vector<std::byte>> run(const Kernel& kernel, int pieces,
                                          std::string& fault) const;

  /// Where two outcomes differ, or empty. NaNs are equal to each other.
  std::string difference(const std::vector<std::vector<std::byte>>& expected,
                         const std::vector<std::vector<std::byte>>& got) const;

 private:
  void add_argument(std::size_t index);
  std::vector<bool> varies_along(std::size_t argument) const;
  std::uint64_t random_bits(DType type);

  const KernelSpec& spec_;
  std::vector<std::int64_t> extents_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::uint64_t>
      starts_;  // offset of the first element in its buffer; Iota: its first value
  std::vector<std::int64_t> strides_;
  std::vector<std::uint64_t> params_;
  std::size_t over_first_ = 0;
};

}  // namespace spyre::kernels
