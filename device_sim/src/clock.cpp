// spyre/device_sim/clock.cpp — start is the latest of: submitted, stream ready, pipeline free.
#include "clock.h"

#include <algorithm>

#include "price.h"

namespace spyre::device_sim {

ModelledSpan Clock::submit(const Operation& operation, PipelineId pipeline, Picoseconds ready) {
  if (pipeline == PipelineId::Join)
    return {.submit = host_, .submitted = host_, .start = ready, .end = ready};
  ModelledSpan span{.submit = host_};
  host_ += host_price(operation, spec_);
  span.submitted = host_;
  Picoseconds& unit = free_at(pipeline);
  span.start = std::max({host_ + Picoseconds{spec_.submit_latency_ps}, ready, unit});
  span.end = span.start + price(operation, spec_);
  unit = span.end;
  return span;
}

void Clock::synchronize(Picoseconds point) {
  host_ = std::max(host_, point) + Picoseconds{spec_.host_sync_ps};
}

Picoseconds& Clock::free_at(PipelineId pipeline) {
  if (is_serial(pipeline)) return serial_free_at_[static_cast<std::size_t>(pipeline)];
  return *std::ranges::min_element(callback_free_at_);
}

}  // namespace spyre::device_sim
