// spyre/device_sim/price.cpp — the calibrated cost model.
//
// Memory: bytes / bandwidth, plus the bus turnaround when a kernel both reads and writes;
// layout-bound patterns have a measured bandwidth of their own instead. Products overlap arithmetic
// with memory and assume the best split over cores. All divisions are done in double and rounded
// once, so a price is exact and the same everywhere.
#include "price.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace spyre::device_sim {
namespace {

constexpr double kPicosecondsPerNanosecond = 1000;
constexpr double kFullArrayRows = 64, kUnderfillExponent = 0.35;

Picoseconds from_ns(double ns) {
  return {static_cast<std::uint64_t>(std::llround(ns * kPicosecondsPerNanosecond))};
}

/// 1 GB/s is 1 byte per ns.
double transfer_ns(Bytes bytes, double gb_per_s) {
  return static_cast<double>(bytes.count) / gb_per_s;
}

/// Fraction of the bus that a standalone reduction on few cores reaches; measured at powers of two.
double reduction_core_factor(int cores) {
  constexpr std::array kMeasured{0.11, 0.22, 0.43, 0.54, 0.54, 1.0};
  const double octave = std::log2(std::clamp(cores, 1, 32));
  const auto below = static_cast<std::size_t>(octave);
  if (below + 1 >= kMeasured.size()) return kMeasured.back();
  const double part = octave - static_cast<double>(below);
  return kMeasured[below] + part * (kMeasured[below + 1] - kMeasured[below]);
}

double row_reduction_gb_per_s(const Work& work, const DeviceSpec& spec) {
  const double measured = 114 + 61 * std::exp(-static_cast<double>(work.rows) / 3700);
  return std::min(spec.memory_gb_per_s, measured) * reduction_core_factor(spec.cores);
}

double memory_ns(const Work& work, const DeviceSpec& spec) {
  const auto bytes = static_cast<double>(work.bytes_read + work.bytes_written);
  switch (work.pattern) {
    case Work::Pattern::RowReduction: return bytes / row_reduction_gb_per_s(work, spec);
    case Work::Pattern::ColumnReduction: return bytes / spec.column_gb_per_s;
    case Work::Pattern::Relayout: return bytes / spec.relayout_gb_per_s;
    case Work::Pattern::Broadcast: return bytes / spec.broadcast_gb_per_s;
    case Work::Pattern::Stream:
    case Work::Pattern::Product: break;
  }
  const auto both_ways = static_cast<double>(std::min(work.bytes_read, work.bytes_written));
  return bytes / spec.memory_gb_per_s + spec.turnaround_ns_per_byte * both_ways;
}

double matrix_ns(const Work& work, const DeviceSpec& spec) {
  if (work.macs == 0) return 0;
  const double fill =
      work.rows == 0 ? 1 : std::min(1.0, static_cast<double>(work.rows) / kFullArrayRows);
  const double macs_per_ns =
      spec.cores * spec.macs_per_ns_core * std::pow(fill, kUnderfillExponent);
  return static_cast<double>(work.macs) / macs_per_ns;
}

double vector_ns(const Work& work, const DeviceSpec& spec) {
  return static_cast<double>(work.lane_ops) /
         (spec.cores * spec.lanes_per_core * spec.core_clock_ghz);
}

struct Pricer {
  const Operation& operation;
  const DeviceSpec& spec;

  Picoseconds operator()(const HostToDevice& copy) const {
    return Picoseconds{spec.h2d_setup_ps} +
           from_ns(transfer_ns(copy.target.length, spec.h2d_gb_per_s));
  }
  Picoseconds operator()(const DeviceToHost& copy) const {
    return Picoseconds{spec.d2h_setup_ps} +
           from_ns(transfer_ns(copy.source.length, spec.d2h_gb_per_s));
  }
  Picoseconds operator()(const Compute&) const { return compute_price(operation.work, spec); }
  Picoseconds operator()(const HostCallback&) const { return {spec.host_callback_ps}; }
};

}  // namespace

Picoseconds compute_price(const Work& work, const DeviceSpec& spec) {
  return from_ns(std::max({memory_ns(work, spec), matrix_ns(work, spec), vector_ns(work, spec)}));
}

Picoseconds price(const Operation& operation, const DeviceSpec& spec) {
  return std::visit(Pricer{operation, spec}, operation.what);
}

Picoseconds host_price(const Operation& operation, const DeviceSpec& spec) {
  const bool is_launch = std::holds_alternative<Compute>(operation.what);
  return {is_launch ? spec.host_launch_ps : spec.host_enqueue_ps};
}

}  // namespace spyre::device_sim
