// spyre/device_sim/metering.cpp — additions only: what they mean over time is for readers.
#include "metering.h"

#include <algorithm>
#include <string_view>

#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

/// Counts an operation by what it is. Confined to one call.
class Counting {
 public:
  Counting(CardCounters& counters, std::string_view name) : counters_(counters), name_(name) {}

  void operator()(const HostToDevice& copy) { moved(counters_.bytes_h2d, copy.target.length); }
  void operator()(const DeviceToHost& copy) { moved(counters_.bytes_d2h, copy.source.length); }
  void operator()(const Receive& receive) {
    moved(counters_.bytes_from_peers, receive.target.length);
  }
  void operator()(const Send& send) { moved(counters_.bytes_to_peers, send.source.length); }
  void operator()(const Compute&) { ++counters_.computes; }
  void operator()(const HostCallback&) { ++counters_.callbacks; }
  void operator()(const PostReceive&) {}
  void operator()(const AwaitPeer&) {}

 private:
  void moved(std::uint64_t& bytes, Bytes length) {
    bytes += length.count;
    ++counters_.transfers;
    log(LogChannel::Transfer, [&] { return str(name_, ' ', length); });
  }

  CardCounters& counters_;
  std::string_view name_;
};

}  // namespace

void count(CardCounters& counters, const Operation& operation, PipelineId pipeline) {
  if (pipeline != PipelineId::Join) std::visit(Counting(counters, operation.name), operation.what);
}

void meter(Meters& meters, const Charge& charge, const ModelledSpan& span, const DeviceSpec& spec) {
  meters.set(Meter::ModelledPs, std::max(meters[Meter::ModelledPs], span.end.count));
  if (charge.opens) return;
  const bool between_cards = charge.peer.gb_per_s != 0;
  switch (charge.pipeline) {
    case PipelineId::HostToDevice:
      meters.add(between_cards ? Meter::BytesFromPeers : Meter::BytesToCard, charge.bytes);
      break;
    case PipelineId::DeviceToHost:
      meters.add(between_cards ? Meter::BytesToPeers : Meter::BytesToHost, charge.bytes);
      break;
    case PipelineId::Compute: {
      const Picoseconds length = span.end - span.start;
      meters.add(Meter::Kernels, 1);
      meters.add(Meter::ComputePs, length.count);
      const Traffic traffic = traffic_of(charge.work, spec);
      meters.add(Meter::BytesRead, traffic.read);
      meters.add(Meter::BytesWritten, traffic.written);
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
