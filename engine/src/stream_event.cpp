// spyre/engine/stream_event.cpp — an event is a timeline point and its card.
#include "spyre/engine/stream_event.h"

#include <chrono>
#include <memory>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

struct Event {
  c10::DeviceIndex device = 0;
  device_sim::TimelinePoint point;
  std::shared_ptr<const device_sim::Arrival> arrival;  // of timed events
};

Event& behind(void* event) { return *static_cast<Event*>(event); }
lazy::Device& card_of(const Event& event) { return Runtime::get().device(event.device); }

void require_reached(void* first, void* second) {
  if (first == nullptr || second == nullptr)
    throw InvalidArgument("elapsed_time: both events must be recorded first");
  if (event_reached(first) && event_reached(second)) return;
  throw InvalidArgument(
      "elapsed_time: both events must be completed; try synchronize() on the later one");
}

}  // namespace

StreamId stream_of(const c10::Stream& stream) {
  const StreamId id{static_cast<std::uint32_t>(stream.id())};
  if (id != StreamId{} && !Runtime::get().entry(stream.device_index()).streams.exists(id)) {
    throw InvalidArgument(str("spyre: stream ", stream.id(), " does not exist on device ",
                              static_cast<int>(stream.device_index())));
  }
  return id;
}

void record_event(void** event, const c10::Stream& stream, bool timed) {
  lazy::Device& device = lazy_device(stream.device());
  const device_sim::TimelinePoint point = device.record_event(stream_of(stream));
  if (*event == nullptr) *event = new Event;
  behind(*event) = {.device = stream.device_index(),
                    .point = point,
                    .arrival = timed ? device.card().watch(point) : nullptr};
}

void block_on_event(void* event, const c10::Stream& stream) {
  if (event == nullptr) return;
  const Event& recorded = behind(event);
  lazy::Device& waiting = lazy_device(stream.device());
  if (recorded.device == stream.device_index())
    waiting.wait_event(stream_of(stream), recorded.point);
  else waiting.wait_event(stream_of(stream), card_of(recorded), recorded.point);
}

bool event_reached(void* event) {
  return event == nullptr || card_of(behind(event)).reached(behind(event).point);
}

void synchronize_event(void* event) {
  if (event != nullptr) card_of(behind(event)).synchronize(behind(event).point);
}

void destroy_event(void* event) noexcept { delete static_cast<Event*>(event); }

double modelled_milliseconds_between(void* first, void* second) {
  require_reached(first, second);
  constexpr double kPicosecondsPerMillisecond = 1e9;
  const auto time_of = [](const Event& event) {
    return static_cast<double>(card_of(event).card().modelled_time(event.point));
  };
  return (time_of(behind(second)) - time_of(behind(first))) / kPicosecondsPerMillisecond;
}

double wall_milliseconds_between(void* first, void* second) {
  require_reached(first, second);
  const auto& from = behind(first).arrival;
  const auto& to = behind(second).arrival;
  if (from == nullptr || to == nullptr)
    throw InvalidArgument("wall_elapsed_time: both events need enable_timing=True");
  return std::chrono::duration<double, std::milli>(to->when().value() - from->when().value())
      .count();
}

}  // namespace spyre::engine
