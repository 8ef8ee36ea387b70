// spyre/lazy/device_fixture.h — a small device for tests, and tensors on it. Fails if device memory
// leaks.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/lazy/device.h"

namespace spyre::lazy {

template <class T> constexpr DType dtype_for() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  else if constexpr (std::is_same_v<T, double>) return DType::F64;
  else if constexpr (std::is_same_v<T, std::int32_t>) return DType::I32;
  else if constexpr (std::is_same_v<T, std::int64_t>) return DType::I64;
  else return DType::Bool;
}

/// A buffer with one strided view of it.
struct DeviceTensor {
  BufferRef buffer;
  DType dtype = DType::F32;
  Dims sizes, strides;
  std::int64_t offset = 0;

  View view() const { return {buffer.get(), dtype, offset, strides.span()}; }
  DeviceTensor transposed() const {
    DeviceTensor t = *this;
    t.sizes.reverse();
    t.strides.reverse();
    return t;
  }
  /// Rows or elements [begin, end) of the outermost dimension.
  DeviceTensor slice(std::int64_t begin, std::int64_t end) const {
    DeviceTensor t = *this;
    t.offset += begin * strides[0];
    t.sizes[0] = end - begin;
    return t;
  }
};

inline device_sim::DeviceSpec small_card(Bytes capacity = 64_MiB) {
  device_sim::DeviceSpec spec;
  spec.cores = 4;
  spec.host_threads = 1;
  spec.capacity = capacity;
  spec.regions = 1;
  return spec;
}

class DeviceFixture : public ::testing::Test {
 protected:
  static constexpr StreamId kStream{0};

  explicit DeviceFixture(Settings settings = interpreted(), Bytes capacity = 64_MiB)
      : device(small_card(capacity), settings) {}

  static Settings interpreted() {
    Settings settings;
    settings.execution = kernels::Execution::Scalar;
    settings.verify = true;
    return settings;
  }

  DeviceTensor empty(const Dims& sizes, DType dtype = DType::F32) {
    const Bytes size{static_cast<std::uint64_t>(sizes.numel()) * size_of(dtype)};
    return {device.create_buffer(size), dtype, sizes, contiguous_strides(sizes)};
  }

  template <class T> DeviceTensor tensor(const Dims& sizes, const std::vector<T>& values) {
    DeviceTensor t = empty(sizes, dtype_for<T>());
    device.upload(kStream, *t.buffer, {}, reinterpret_cast<const std::byte*>(values.data()),
                  {values.size() * sizeof(T)}, true);
    return t;
  }

  /// The whole buffer.
  template <class T>
  std::vector<T> read(const DeviceTensor& t, FlushReason reason = FlushReason::DeviceToHost) {
    std::vector<T> values(t.buffer->size().count / sizeof(T));
    device.download(kStream, *t.buffer, {}, reinterpret_cast<std::byte*>(values.data()),
                    t.buffer->size(), reason);
    return values;
  }

  void apply(std::string_view op, std::vector<Input> inputs, const DeviceTensor& out,
             StreamId stream = kStream, std::uint32_t source = 0) {
    device.record(stream, Pointwise{kernels::op_named(op), out.dtype, out.dtype, out.sizes.span(),
                                    inputs, out.view(), source});
  }
  static Input in(const DeviceTensor& t) { return Input::of(t.view()); }
  static Input number(double value, DType dtype = DType::F32) {
    return Input::of_double(value, dtype);
  }

  /// out = reduction over the dimensions in `mask`; `out` has the other dimensions.
  void reduce(kernels::Reduction reduction, const DeviceTensor& from, std::uint32_t mask,
              const DeviceTensor& out) {
    Dims strides;
    for (std::size_t i = 0, at = 0; i < from.sizes.size(); ++i)
      strides.push_back((mask >> i & 1U) != 0 ? 0 : out.strides[at++]);
    View to = out.view();
    to.strides = strides.span();
    device.record(kStream, Reduce{reduction, from.dtype, out.dtype, from.sizes.span(), mask,
                                  from.view(), to, 0});
  }

  std::uint64_t flushes(FlushReason reason) const {
    return device.stats().flushes[static_cast<std::size_t>(reason)];
  }

  Device device;
};

}  // namespace spyre::lazy
