// spyre/engine/guard.cpp — thread-local current device and streams; streams and events as PyTorch handles them.
#include "spyre/engine/guard.h"

#include <c10/util/Exception.h>

#include <array>

#include "spyre/engine/backward_thread.h"
#include "spyre/engine/error_boundary.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/stream_event.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

constexpr std::size_t kMaxDevices = 64;

struct Current {
  static constexpr c10::DeviceIndex kNotChosen = -1;
  c10::DeviceIndex device = kNotChosen;
  bool keeps_backward =
      false;  // see keep_backward_here(): settled before the thread's first operation
  std::array<StreamId, kMaxDevices> streams{};  // recorded on; 0: the default stream
  std::array<StreamId, kMaxDevices> chosen{};   // the same, or what a capture stands in for
};
thread_local Current current;

void check_index(c10::DeviceIndex index) {
  TORCH_CHECK(index >= 0 && index < device_count(), "spyre: device index ", static_cast<int>(index),
              " is out of range; this process sees ", static_cast<int>(device_count()),
              " device(s)");
}

c10::Device device_at(c10::DeviceIndex index) { return {c10::DeviceType::PrivateUse1, index}; }

c10::DeviceIndex index_of(c10::Device device) {
  return device.has_index() ? device.index() : current_device();
}

c10::Stream as_torch(c10::DeviceIndex device, StreamId stream) {
  return c10::Stream(c10::Stream::UNSAFE, device_at(device),
                     static_cast<c10::StreamId>(stream.value));
}

c10::DeviceCapability capability() {
  c10::DeviceCapability types;
  types.capability_data.capability_bits = 0;
  for (int i = 0; i < static_cast<int>(c10::NUMBER_OF_DEVICE_CAPABILITIES); ++i) {
    const auto type = static_cast<c10::ScalarType>(i);
    if (native_type(type).has_value())
      types.capability_data.capability_bits |= std::uint64_t{1} << i;
  }
  return types;
}

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  c10::DeviceIndex deviceCount() const noexcept override { return device_count_or_none(); }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override { return capability(); }

  c10::Device getDevice() const override { return device_at(current_device()); }
  void setDevice(c10::Device device) const override { exchange_device(index_of(device)); }
  c10::Device exchangeDevice(c10::Device device) const override {
    return device_at(exchange_device(index_of(device)));
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) current.device = device.index();
  }

  c10::Stream getStream(c10::Device device) const override {
    return as_torch(index_of(device), current.chosen[static_cast<std::size_t>(index_of(device))]);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return as_torch(index_of(device), StreamId{});
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    DeviceEntry& entry = Runtime::get().entry(index_of(device));
    return as_torch(entry.index,
                    entry.streams.next(high_priority ? StreamPool::kHigh : StreamPool::kNormal));
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    DeviceEntry& entry = Runtime::get().entry(index_of(device));
    return as_torch(entry.index, entry.streams.next(priority));
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return as_torch(stream.device_index(),
                    exchange_stream(stream.device_index(), stream_of(stream)));
  }
  bool queryStream(const c10::Stream& stream) const override {
    return bounded([&] { return lazy_device(stream.device()).idle(stream_of(stream)); });
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    check_may_wait(stream.device_index());
    bounded([&] { lazy_device(stream.device()).synchronize(stream_of(stream)); });
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    check_may_wait(device);
    bounded([&] { Runtime::get().device(device).synchronize_all(); });
  }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex,
              const c10::EventFlag flag) const override {
    const bool timed = flag == c10::EventFlag::BACKEND_DEFAULT;
    bounded([&] { record_event(event, stream, timed); });
  }
  void block(void* event, const c10::Stream& stream) const override {
    bounded([&] { block_on_event(event, stream); });
  }
  bool queryEvent(void* event) const override {
    return bounded([&] { return event_reached(event); });
  }
  void synchronizeEvent(void* event) const override {
    bounded([&] { synchronize_event(event); });
  }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    destroy_event(event);
  }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex) const override {
    return bounded([&] { return modelled_milliseconds_between(first, second); });
  }
};

}  // namespace

c10::DeviceIndex current_device() noexcept {
  return current.device == Current::kNotChosen ? first_device() : current.device;
}

c10::DeviceIndex exchange_device(c10::DeviceIndex index) {
  check_index(index);
  const c10::DeviceIndex before = current_device();
  current.device = index;
  return before;
}

StreamId current_stream_on(c10::DeviceIndex device) noexcept {
  if (!current.keeps_backward) [[unlikely]]
    current.keeps_backward = keep_backward_here();
  return current.streams[static_cast<std::size_t>(device)];
}

StreamId exchange_stream(c10::DeviceIndex device, StreamId stream) {
  check_index(device);
  const bool capturing = is_capturing(device);
  const auto at = static_cast<std::size_t>(device);
  if (!capturing) current.streams[at] = stream;
  return std::exchange(current.chosen[at], stream);
}

void begin_capture_on(c10::DeviceIndex device, StreamId capture) noexcept {
  current.streams[static_cast<std::size_t>(device)] = capture;
}

void end_capture_on(c10::DeviceIndex device) noexcept {
  const auto at = static_cast<std::size_t>(device);
  current.streams[at] = current.chosen[at];
}

bool is_capturing(c10::DeviceIndex device) noexcept {
  const auto at = static_cast<std::size_t>(device);
  return current.streams[at] != current.chosen[at];
}

void check_may_wait(c10::DeviceIndex device) {
  TORCH_CHECK(!is_capturing(device),
              "synchronize: a graph is being captured, so nothing runs that could be waited for; "
              "synchronize "
              "before the capture or after a replay");
}

const c10::impl::DeviceGuardImplInterface& device_guard() {
  static const auto* guard = new Guard;  // PyTorch never lets go of it
  return *guard;
}

}  // namespace spyre::engine
