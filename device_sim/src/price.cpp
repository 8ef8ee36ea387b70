// spyre/device_sim/price.cpp — the calibrated cost model.
//
// Memory: bytes / bandwidth, plus the bus turnaround when a kernel both reads and writes;
// layout-bound patterns have a measured bandwidth of their own instead. Products overlap arithmetic
// with memory, unless they are batched; what a division over cores costs is known if the work says
// how it is divided. Each part is computed in double and rounded once, so a price is exact and the
// same everywhere.
#include "price.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace spyre::device_sim {
namespace {

constexpr double kPicosecondsPerNanosecond = 1000;

Picoseconds from_ns(double ns) {
  if (ns == 0) return {};  // most parts of most prices
  return {static_cast<std::uint64_t>(std::llround(ns * kPicosecondsPerNanosecond))};
}

/// 1 GB/s is 1 byte per ns.
double transfer_ns(std::uint64_t bytes, double gb_per_s) {
  return static_cast<double>(bytes) / gb_per_s;
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

int cores_of(const Work& work, const DeviceSpec& spec) {
  return work.split.chosen() ? work.split.cores() : spec.cores;
}

double row_reduction_gb_per_s(const Work& work, const DeviceSpec& spec) {
  const double measured =
      spec.row_gb_per_s +
      spec.short_row_gb_per_s * std::exp(-static_cast<double>(work.rows) / spec.row_decay);
  return std::min(spec.memory_gb_per_s, measured) * reduction_core_factor(cores_of(work, spec));
}

/// More cores than a few that read the same operand slow one another down.
double fan_out_penalty(const Work& work, const DeviceSpec& spec) {
  const double fan_out = std::max(work.split.m, work.split.n);
  if (work.macs == 0 || fan_out <= spec.fan_out_limit) return 1;
  return std::pow(fan_out / spec.fan_out_limit, spec.fan_out_exponent);
}

struct Part {
  double ns = 0;
  Rule rule{};
};

/// Each memory domain has an equal share of the bandwidth. Of a card with other domains than the work was recorded on,
/// nothing is known: its traffic counts as even.
double busiest_domain_ns(const Work& work, const DeviceSpec& spec) {
  if (static_cast<int>(work.by_domain.size()) != spec.memory_domains || spec.memory_domains == 1)
    return 0;
  const std::uint64_t busiest = std::ranges::max(work.by_domain);
  return transfer_ns(busiest, spec.memory_gb_per_s / static_cast<double>(work.by_domain.size()));
}

Part whole_memory_part(const Work& work, const DeviceSpec& spec) {
  const Traffic traffic = traffic_of(work, spec);
  const std::uint64_t bytes = traffic.both();
  switch (work.pattern) {
    case Work::Pattern::RowReduction:
      return {transfer_ns(bytes, row_reduction_gb_per_s(work, spec)), Rule::RowReduction};
    case Work::Pattern::ColumnReduction:
      return {transfer_ns(bytes, spec.column_gb_per_s), Rule::ColumnReduction};
    case Work::Pattern::Relayout:
      return {transfer_ns(bytes, spec.relayout_gb_per_s), Rule::Relayout};
    case Work::Pattern::Broadcast:
      return {transfer_ns(bytes, spec.broadcast_gb_per_s), Rule::Broadcast};
    case Work::Pattern::Stream:
    case Work::Pattern::Product: break;
  }
  const auto both_ways = static_cast<double>(std::min(traffic.read, traffic.written));
  const double ns =
      transfer_ns(bytes, spec.memory_gb_per_s) + spec.turnaround_ns_per_byte * both_ways;
  const double penalty = fan_out_penalty(work, spec);
  return {ns * penalty, penalty > 1 ? Rule::FanOut : Rule::Memory};
}

Part memory_part(const Work& work, const DeviceSpec& spec) {
  const Part whole = whole_memory_part(work, spec);
  const double busiest = busiest_domain_ns(work, spec);
  return busiest > whole.ns ? Part{busiest, Rule::MemoryDomain} : whole;
}

/// Batched products in the default layout are far from the matrix units' rate on a real card.
bool is_batched(const Work& work, const DeviceSpec& spec) {
  const ProductShape& p = work.product;
  return p.known() && !p.shared_right && p.batch >= 4 && cores_of(work, spec) >= 8;
}

double format_speed(MacFormat format) {
  return static_cast<double>(1U << static_cast<unsigned>(format));
}

Part matrix_rate(const Work& work, const DeviceSpec& spec) {
  const ProductShape& p = work.product;
  if (is_batched(work, spec)) return {spec.batched_macs_per_ns_core, Rule::BatchedMatrix};
  if (p.known() && p.shared_right && p.batch > 1) {
    const double rate =
        p.batch <= 4 ? spec.projection_macs_per_ns_core : spec.wide_projection_macs_per_ns_core;
    return {std::min(rate, spec.macs_per_ns_core), Rule::Projection};
  }
  const double split = work.split.chosen() ? work.split.m : 1;
  const double rows = static_cast<double>(work.rows) / split;
  const double fill = work.rows == 0 ? 1 : std::min(1.0, rows / spec.full_array_rows);
  const double slowed = fill < 1 ? std::pow(fill, spec.underfill_exponent) : 1;
  return {spec.macs_per_ns_core * slowed, Rule::Matrix};
}

Part matrix_part(const Work& work, const DeviceSpec& spec) {
  if (work.macs == 0) return {};
  const Part rate = matrix_rate(work, spec);
  const double per_ns = cores_of(work, spec) * rate.ns * format_speed(work.mac_format);
  return {static_cast<double>(work.macs) / per_ns, rate.rule};
}

double vector_ns(const Work& work, const DeviceSpec& spec) {
  return static_cast<double>(work.lane_ops) /
         (cores_of(work, spec) * spec.lanes_per_core * spec.core_clock_ghz);
}

/// Cores that share the summed dimension pass their sums along the ring.
double partial_sum_ns(const Work& work, const DeviceSpec& spec) {
  if (work.split.k <= 1 || !work.product.known()) return 0;
  const ProductShape& p = work.product;
  const int parts = work.split.batch * work.split.m * work.split.n;
  const double per_core = static_cast<double>(p.batch * p.m * p.n) / parts;
  const double ns = is_batched(work, spec) ? spec.batched_partial_sum_ns : spec.partial_sum_ns;
  return (work.split.k - 1) * per_core * ns;
}

/// Names the larger part; the earlier one if they are equal.
void bound_by(Price& price, Picoseconds part, Bound bound, Rule rule, Picoseconds& largest) {
  if (part <= largest) return;
  largest = part;
  price.bound = bound;
  price.rule = rule;
}

Price link_price(std::uint64_t setup_ps, std::uint64_t bytes, double gb_per_s, Rule rule) {
  const Picoseconds moving = from_ns(transfer_ns(bytes, gb_per_s));
  return {.total = Picoseconds{setup_ps} + moving,
          .fixed = {setup_ps},
          .bound = Bound::Link,
          .rule = rule};
}

Price peer_price(const Charge& charge, const DeviceSpec& spec) {
  return link_price(std::max(spec.peer_setup_ps, charge.peer.setup_ps), charge.bytes,
                    std::min(spec.peer_gb_per_s, charge.peer.gb_per_s), Rule::DeviceToDevice);
}

double conversion_ns(const Work& work, const DeviceSpec& spec) {
  const bool large = work.bytes_converted > spec.large_conversion.count;
  return transfer_ns(work.bytes_converted,
                     large ? spec.large_convert_gb_per_s : spec.convert_gb_per_s);
}

Price callback_price(const Work& work, const DeviceSpec& spec) {
  return {.total = Picoseconds{spec.host_callback_ps} + from_ns(conversion_ns(work, spec)),
          .fixed = {spec.host_callback_ps},
          .bound = Bound::Host,
          .rule = Rule::HostCallback};
}

constexpr std::string_view kCostModel = "upstream's cost model, fitted to a card";
constexpr std::string_view kSweep = "public sweep of forced splits on a card";

constexpr std::array<RuleRow, kRuleCount> kRules{{
    {"nothing", "no work", 'E', ""},
    {"memory", "(R+W)/memory + turnaround*min(R,W)", 'M', kCostModel},
    {"row_reduction", "(R+W)/(min(memory, row + short_row*exp(-rows/row_decay))*part of the cores)",
     'M', kCostModel},
    {"column_reduction", "(R+W)/column", 'M', kCostModel},
    {"relayout", "(R+W)/relayout", 'M', kCostModel},
    {"broadcast", "(R+W)/broadcast", 'M', kCostModel},
    {"fan_out", "memory*(max(m,n)/fan_out_limit)^fan_out_exponent", 'E', kSweep},
    {"memory_domain", "bytes of the busiest domain/(memory/domains)", 'E', "no figure published"},
    {"matrix", "MACs/(cores*rate*min(1,rows per core/full_array_rows)^underfill)", 'M', kCostModel},
    {"batched_matrix", "MACs/(cores*batched rate), added to memory", 'M', kCostModel},
    {"projection", "MACs/(cores*projection rate)", 'M', kCostModel},
    {"vector", "lane operations/(cores*lanes*clock)", 'S', "the compiler's device description"},
    {"ring", "bytes/ring", 'M', "notes of a public fork, disputed by their author"},
    {"host_to_device", "setup + bytes/h2d", 'M', "public performance-suite runs"},
    {"device_to_host", "setup + bytes/d2h", 'M', "public performance-suite runs"},
    {"host_callback", "callback + converted bytes/convert", 'E', "no figure published"},
    {"device_to_device", "setup + bytes/peer, the slower card's of both", 'E',
     "no figure published"},
}};

}  // namespace

std::span<const RuleRow> price_rules() { return kRules; }

const RuleRow& row_of(Rule rule) { return kRules[static_cast<std::size_t>(rule)]; }

std::string_view name_of(Bound bound) {
  constexpr std::array<std::string_view, 7> kNames{"nothing", "memory", "matrix", "vector",
                                                   "ring",    "link",   "host"};
  return kNames[static_cast<std::size_t>(bound)];
}

Traffic traffic_of(const Work& work, const DeviceSpec& spec) {
  Traffic traffic{work.bytes_read + work.padding_read, work.bytes_written + work.padding_written};
  if (spec.scratchpad_planning == 0) {
    traffic.read += work.passed_read;
    traffic.written += work.passed_written;
  }
  return traffic;
}

Price price_of(const Work& work, const DeviceSpec& spec) {
  const Part memory = memory_part(work, spec), matrix = matrix_part(work, spec);
  Price price{.memory = from_ns(memory.ns),
              .matrix = from_ns(matrix.ns),
              .vector = from_ns(vector_ns(work, spec)),
              .ring = from_ns(transfer_ns(work.bytes_ring, spec.ring_gb_per_s)),
              .partial_sums = from_ns(partial_sum_ns(work, spec)),
              .fixed = {spec.kernel_fixed_ps},
              .cores = cores_of(work, spec)};
  Picoseconds largest;
  bound_by(price, price.memory, Bound::Memory, memory.rule, largest);
  bound_by(price, price.matrix, Bound::Matrix, matrix.rule, largest);
  bound_by(price, price.vector, Bound::Vector, Rule::Vector, largest);
  bound_by(price, price.ring, Bound::Ring, Rule::Ring, largest);
  if (is_batched(work, spec)) largest = std::max(price.memory + price.matrix, largest);
  price.total = price.fixed + largest + price.partial_sums;
  return price;
}

Charge charge_of(const Operation& operation) {
  Charge charge{
      .pipeline = pipeline_of(operation), .work = operation.work, .chained = operation.chained};
  if (const auto* upload = std::get_if<HostToDevice>(&operation.what))
    charge.bytes = upload->target.length.count;
  if (const auto* download = std::get_if<DeviceToHost>(&operation.what))
    charge.bytes = download->source.length.count;
  if (const auto* send = std::get_if<Send>(&operation.what)) {
    charge.bytes = send->source.length.count;
    charge.peer = send->to;
  }
  if (const auto* receive = std::get_if<Receive>(&operation.what)) {
    charge.bytes = receive->target.length.count;
    charge.peer = receive->from;
  }
  charge.opens = std::holds_alternative<PostReceive>(operation.what);
  return charge;
}

Price price_of(const Charge& charge, const DeviceSpec& spec) {
  if (charge.opens) return {};
  if (charge.peer.gb_per_s != 0) return peer_price(charge, spec);
  switch (charge.pipeline) {
    case PipelineId::HostToDevice:
      return link_price(spec.h2d_setup_ps, charge.bytes, spec.h2d_gb_per_s, Rule::HostToDevice);
    case PipelineId::DeviceToHost:
      return link_price(spec.d2h_setup_ps, charge.bytes, spec.d2h_gb_per_s, Rule::DeviceToHost);
    case PipelineId::Compute: return price_of(charge.work, spec);
    case PipelineId::Callback: return callback_price(charge.work, spec);
    case PipelineId::Join: break;
  }
  return {};
}

double matrix_utilisation(const Work& work, const DeviceSpec& spec, Picoseconds elapsed) {
  if (elapsed == Picoseconds{}) return 0;
  const double macs_per_ns =
      spec.cores * spec.macs_per_cycle_core * spec.core_clock_ghz * format_speed(work.mac_format);
  return static_cast<double>(work.macs) / macs_per_ns * kPicosecondsPerNanosecond /
         static_cast<double>(elapsed.count);
}

Picoseconds host_price(const Charge& charge, const DeviceSpec& spec) {
  if (charge.chained) return {};
  return {charge.pipeline == PipelineId::Compute ? spec.host_launch_ps : spec.host_enqueue_ps};
}

}  // namespace spyre::device_sim
