// spyre/kernels/launch_sample_test.cpp — random launches (support for the kernel tests).
#include "launch_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "spyre/base/error.h"
#include "spyre/base/float16.h"
#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

constexpr std::size_t kGuard = 64;  // bytes before and after each tensor that must not change

std::uint64_t float_bits(DType type, double value) {
  switch (type) {
    case DType::F16: return float16_bits(static_cast<float>(value));
    case DType::BF16: return bfloat16_bits(static_cast<float>(value));
    case DType::F32: return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    default: return std::bit_cast<std::uint64_t>(value);
  }
}

double float_value(DType type, std::uint64_t bits) {
  switch (type) {
    case DType::F16: return static_cast<double>(float16_value(static_cast<std::uint16_t>(bits)));
    case DType::BF16: return static_cast<double>(bfloat16_value(static_cast<std::uint16_t>(bits)));
    case DType::F32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    default: return std::bit_cast<double>(bits);
  }
}

}  // namespace

LaunchSample::LaunchSample(const KernelSpec& spec, std::vector<std::int64_t> extents,
                           std::uint32_t seed)
    : spec_(spec), extents_(std::move(extents)), random_(seed) {
  for (std::size_t a = 0; a < spec.arguments.size(); ++a) add_argument(a);
  params_.resize(spec.params);
  for (const Step& s : spec.steps)
    if (s.kind == Step::Kind::Param) params_[s.argument] = random_bits(s.result);
}

/// Which dimensions an argument may have a stride along.
std::vector<bool> LaunchSample::varies_along(std::size_t argument) const {
  std::vector<bool> varies(spec_.rank, true);
  for (const Step& s : spec_.steps) {
    const bool touches = s.kind == Step::Kind::Load || s.kind == Step::Kind::Store;
    if (!touches || s.argument != argument || s.level != Level::Result) continue;
    varies[spec_.form == Form::Row ? spec_.rank - 1U : spec_.rank - 2U] = false;
  }
  return varies;
}

void LaunchSample::add_argument(std::size_t index) {
  const ArgumentSpec& argument = spec_.arguments[index];
  const bool iota = argument.kind == ArgumentSpec::Kind::Iota;
  const std::int64_t size = iota ? 1 : size_of(argument.dtype);
  std::vector<std::int64_t> strides(spec_.rank, 0);
  const std::vector<bool> varies = varies_along(index);
  std::int64_t step = size;
  if (argument.inner == InnerStride::Any)
    step = size * static_cast<std::int64_t>(2 + random_() % 3);
  for (std::size_t d = spec_.rank; d-- > 0;) {
    const bool inner = d + 1U == spec_.rank;
    // Only loads may repeat along an outer dimension (the first never does, so that it can be stored over).
    const bool repeats =
        !inner && index != 0 && argument.kind == ArgumentSpec::Kind::Load && random_() % 4 == 0;
    if (!varies[d] || (inner && argument.inner == InnerStride::Zero) || repeats) continue;
    strides[d] = step;
    step = step * extents_[d] + (inner ? static_cast<std::int64_t>(random_() % 3) * size : 0);
  }
  strides_.insert(strides_.end(), strides.begin(), strides.end());
  if (iota) {
    starts_.push_back(random_() % 1000);
    buffers_.emplace_back();
    return;
  }
  std::vector<std::byte> buffer(static_cast<std::size_t>(step) + 2 * kGuard, std::byte{0xa5});
  for (std::size_t at = kGuard; at + static_cast<std::size_t>(size) <= buffer.size() - kGuard;
       at += static_cast<std::size_t>(size)) {
    const std::uint64_t bits = random_bits(argument.dtype);
    std::memcpy(&buffer[at], &bits, static_cast<std::size_t>(size));
  }
  buffers_.push_back(std::move(buffer));
  starts_.push_back(kGuard);
}

std::uint64_t LaunchSample::random_bits(DType type) {
  const std::uint64_t raw = random_();
  if (type == DType::Bool) return raw & 1;
  if (!is_float(type)) {
    const std::uint64_t value = raw % 8 == 0 ? random_() : (raw >> 8) % 200 - 100;
    return value != 0 || raw % 16 != 1 ? value | (raw % 5 != 0) : 0;
  }
  static constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,
                                        1.0, -1.0, 1e-40,    3e4,       -3e4};
  if (raw % 16 == 0) return float_bits(type, kSpecial[(raw >> 8) % std::size(kSpecial)]);
  return float_bits(type, static_cast<double>(static_cast<std::int64_t>(random_())) * 0x1p-61);
}

void LaunchSample::store_over_first(std::size_t store) {
  over_first_ = store;
  std::copy_n(strides_.begin(), spec_.rank,
              strides_.begin() + static_cast<std::ptrdiff_t>(store * spec_.rank));
}

std::vector<std::vector<std::byte>> LaunchSample::run(const Kernel& kernel, int pieces,
                                                      std::string& fault) const {
  std::vector<std::vector<std::byte>> buffers = buffers_;
  std::vector<std::uint64_t> bases;
  for (std::size_t a = 0; a < buffers.size(); ++a) {
    const bool iota = spec_.arguments[a].kind == ArgumentSpec::Kind::Iota;
    bases.push_back(starts_[a] + (iota ? 0 : reinterpret_cast<std::uint64_t>(buffers[a].data())));
  }
  bases[over_first_] = bases[0];
  const LaunchArguments launch{bases.data(), extents_.data(), strides_.data(), params_.data()};
  std::vector<std::byte> scratch(kernel.scratch_bytes(extents_.data()).count + 64);
  auto* const aligned = reinterpret_cast<std::byte*>(
      (reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) & ~std::uintptr_t{63});
  const std::int64_t items = kernel.work_items(extents_.data());
  try {
    for (int p = 0; p < pieces; ++p)
      kernel.run(launch, items * p / pieces, items * (p + 1) / pieces, aligned);
  } catch (const Error& e) { fault = e.what(); }
  return buffers;
}

std::string LaunchSample::difference(const std::vector<std::vector<std::byte>>& expected,
                                     const std::vector<std::vector<std::byte>>& got) const {
  for (std::size_t a = 0; a < expected.size(); ++a) {
    const DType type = spec_.arguments[a].dtype;
    const std::size_t size = size_of(type);
    const std::size_t first =
        spec_.arguments[a].kind == ArgumentSpec::Kind::Iota ? 0 : starts_[a] % size;
    for (std::size_t at = first; at + size <= expected[a].size(); at += size) {
      std::uint64_t x = 0;
      std::uint64_t y = 0;
      std::memcpy(&x, &expected[a][at], size);
      std::memcpy(&y, &got[a][at], size);
      if (x == y ||
          (is_float(type) && std::isnan(float_value(type, x)) && std::isnan(float_value(type, y))))
        continue;
      return str("argument ", a, " (", type, ") element ",
                 (static_cast<std::int64_t>(at) - static_cast<std::int64_t>(starts_[a])) /
                     static_cast<std::int64_t>(size),
                 ": expected ", std::hex, x, ", got ", y);
    }
  }
  return {};
}

}  // namespace spyre::kernels
