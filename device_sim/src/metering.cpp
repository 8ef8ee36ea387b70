// spyre/device_sim/metering.cpp — additions only: what they mean over time is for readers.
#include "metering.h"

#include <algorithm>

namespace spyre::device_sim {

void meter(Meters& meters, const Charge& charge, const ModelledSpan& span, const DeviceSpec& spec) {
  meters.set(Meter::ModelledPs, std::max(meters[Meter::ModelledPs], span.end.count));
  switch (charge.pipeline) {
    case PipelineId::HostToDevice: meters.add(Meter::BytesToCard, charge.bytes); break;
    case PipelineId::DeviceToHost: meters.add(Meter::BytesToHost, charge.bytes); break;
    case PipelineId::Compute: {
      const Picoseconds length = span.end - span.start;
      meters.add(Meter::Kernels, 1);
      meters.add(Meter::ComputePs, length.count);
      meters.add(Meter::BytesRead, charge.work.bytes_read);
      meters.add(Meter::BytesWritten, charge.work.bytes_written);
      if (charge.work.macs == 0) return;
      meters.add(Meter::Macs, charge.work.macs);
      // The measured rate is a little above the clock's: no more than all of the time.
      const double used = std::min(1.0, matrix_utilisation(charge.work, spec, length));
      meters.add(Meter::MatrixPs,
                 static_cast<std::uint64_t>(used * static_cast<double>(length.count)));
      return;
    }
    case PipelineId::Callback:
    case PipelineId::Join: return;
  }
  meters.add(Meter::Transfers, 1);
}

void meter(Meters& meters, const MemoryStats& stats, Bytes reserved) {
  meters.set(Meter::Capacity, stats.capacity.count);
  meters.set(Meter::Allocated, stats.allocated.count);
  meters.set(Meter::Peak, stats.peak_allocated.count);
  meters.set(Meter::Reserved, reserved.count);
}

}  // namespace spyre::device_sim
