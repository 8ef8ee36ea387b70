// spyre/device_sim/report.cpp — sums over a run, by pipeline and by kernel.
#include "report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

namespace spyre::device_sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 1;
constexpr double kPicosecondsPerMicrosecond = 1e6;

double us(Picoseconds time) { return static_cast<double>(time.count) / kPicosecondsPerMicrosecond; }

double ratio(double part, double whole) { return whole == 0 ? 0 : part / whole; }

/// A MAC is two operations; so that vector work shows up beside it, a lane operation is one.
double operations(const Work& work) {
  return 2 * static_cast<double>(work.macs) + static_cast<double>(work.lane_ops);
}

std::uint64_t padding_of(const Work& work) { return work.padding_read + work.padding_written; }

struct Roofline {
  double matrix_gops, vector_gops, memory_gb_per_s;
  explicit Roofline(const DeviceSpec& spec)
      : matrix_gops(2 * spec.cores * spec.macs_per_cycle_core * spec.core_clock_ghz),
        vector_gops(spec.cores * spec.lanes_per_core * spec.core_clock_ghz),
        memory_gb_per_s(spec.memory_gb_per_s) {}
  double at(double intensity, bool matrix) const {
    return std::min(matrix ? matrix_gops : vector_gops, intensity * memory_gb_per_s);
  }
};

void add(Work& sum, const Work& work) {
  sum.bytes_read += work.bytes_read;
  sum.bytes_written += work.bytes_written;
  sum.macs += work.macs;
  sum.lane_ops += work.lane_ops;
  sum.padding_read += work.padding_read;
  sum.padding_written += work.padding_written;
  sum.passed_read += work.passed_read;
  sum.passed_written += work.passed_written;
  sum.bytes_ring += work.bytes_ring;
  sum.scratchpad_peak = std::max(sum.scratchpad_peak, work.scratchpad_peak);
  sum.mac_format = work.mac_format;
}

void add_by_domain(std::vector<std::uint64_t>& sum, const Work& work, const DeviceSpec& spec) {
  const bool even = work.by_domain.size() != sum.size();
  const std::uint64_t each = traffic_of(work, spec).both() / sum.size();
  for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += even ? each : work.by_domain[d];
}

/// All calls of the kernels that share a name.
struct KernelSum {
  std::uint64_t calls = 0;
  Picoseconds total;
  Price parts;  // sums; bound, rule and cores are the longest call's
  Picoseconds longest;
  Work work;

  void note(const ModelledRow& row) {
    const Picoseconds length = row.span.end - row.span.start;
    ++calls;
    total += length;
    parts.memory += row.price.memory;
    parts.matrix += row.price.matrix;
    parts.vector += row.price.vector;
    parts.ring += row.price.ring + row.price.partial_sums;
    add(work, row.entry->charge.work);
    if (calls > 1 && length <= longest) return;
    longest = length;
    parts.bound = row.price.bound;
    parts.rule = row.price.rule;
    parts.cores = row.price.cores;
  }
};

/// Equal parts of a run's time, for a picture of it.
constexpr std::size_t kParts = 60;

struct PipelineSum {
  std::uint64_t operations = 0, bytes = 0;
  Picoseconds busy;
  std::array<double, kParts> load{};  // busy share of each part

  /// Busy from `start` to `end`, in parts of the run.
  void occupy(double start, double end) {
    const auto last = std::min(static_cast<std::size_t>(end), kParts - 1);
    for (auto part = static_cast<std::size_t>(start); part <= last; ++part) {
      const auto begin = static_cast<double>(part);
      load[part] += std::max(0.0, std::min(end, begin + 1) - std::max(start, begin));
    }
  }
};

class Report {
 public:
  Report(const ModelledRun& run, const DeviceSpec& spec)
      : run_(run),
        spec_(spec),
        roof_(spec),
        domain_bytes_(static_cast<std::size_t>(spec.memory_domains)) {
    for (const ModelledRow& row : run.rows)
      if (row.entry->kind == RunEntry::Kind::Submit) note(row);
  }

  Json json() const {
    Json out;
    out["schema_version"] = kSchemaVersion;
    out["profile"] = spec_.profile;
    out["cores"] = spec_.cores;
    out["modelled_us"] = us(run_.end - run_.begin);
    out["host_us"] = us(run_.host - run_.begin);
    out["dropped"] = run_.dropped;
    out["pipelines"] = pipelines();
    out["bound"] = bound();
    out["compute"] = compute();
    out["roofline"] = {{"matrix_gops", roof_.matrix_gops},
                       {"vector_gops", roof_.vector_gops},
                       {"memory_gb_per_s", roof_.memory_gb_per_s},
                       {"ridge_ops_per_byte", roof_.matrix_gops / roof_.memory_gb_per_s}};
    out["energy"] = energy();
    out["kernels"] = kernels();
    out["device"] = Json::parse(to_json(spec_));
    return out;
  }

 private:
  void note(const ModelledRow& row) {
    const Charge& charge = row.entry->charge;
    const Picoseconds length = row.span.end - row.span.start;
    PipelineSum& pipeline = pipelines_[static_cast<std::size_t>(charge.pipeline)];
    ++pipeline.operations;
    pipeline.busy += length;
    const double part = us(run_.end - run_.begin) / kParts;
    if (part > 0)
      pipeline.occupy(us(row.span.start - run_.begin) / part, us(row.span.end - run_.begin) / part);
    pipeline.bytes += charge.bytes;
    if (charge.pipeline != PipelineId::Compute) return;
    pipeline.bytes += traffic_of(charge.work, spec_).both();
    bound_[static_cast<std::size_t>(row.price.bound)] += length;
    add(work_, charge.work);
    add_by_domain(domain_bytes_, charge.work, spec_);
    kernels_[row.entry->name].note(row);
  }

  Json pipelines() const {
    Json out;
    for (std::size_t i = 0; i < pipelines_.size(); ++i) {
      const PipelineSum& sum = pipelines_[i];
      const double busy = us(sum.busy);
      out[std::string(name_of(static_cast<PipelineId>(i)))] = {
          {"operations", sum.operations},
          {"busy_us", busy},
          {"idle_us", std::max(0.0, us(run_.end - run_.begin) - busy)},
          {"bytes", sum.bytes},
          {"gb_per_s", ratio(static_cast<double>(sum.bytes), busy * 1000)},
          {"load", load(sum)}};
    }
    return out;
  }

  /// In percent. Callbacks run beside each other: no more than all of the time.
  static Json load(const PipelineSum& sum) {
    Json parts = Json::array();
    for (const double part : sum.load) parts.push_back(std::lround(100 * std::min(part, 1.0)));
    return parts;
  }

  /// How long the compute queue was bound by what, in microseconds.
  Json bound() const {
    Json out = Json::object();
    for (std::size_t i = 0; i < bound_.size(); ++i)
      if (bound_[i] != Picoseconds{})
        out[std::string(name_of(static_cast<Bound>(i)))] = us(bound_[i]);
    return out;
  }

  Json compute() const {
    const Picoseconds busy = pipelines_[static_cast<std::size_t>(PipelineId::Compute)].busy;
    const Traffic traffic = traffic_of(work_, spec_);
    const std::uint64_t padding = padding_of(work_);
    return {
        {"bytes_read", traffic.read},
        {"bytes_written", traffic.written},
        {"macs", work_.macs},
        {"lane_ops", work_.lane_ops},
        {"domain_bytes", domain_bytes_},
        {"padding_bytes", padding},
        {"padding_share", ratio(static_cast<double>(padding), static_cast<double>(traffic.both()))},
        {"pt_utilisation", matrix_utilisation(work_, spec_, busy)}};
  }

  Json energy() const {
    const double joules =
        1e-12 * (spec_.mac_pj * static_cast<double>(work_.macs) +
                 spec_.memory_pj_per_byte * static_cast<double>(traffic_of(work_, spec_).both())) +
        spec_.idle_watts * us(run_.end - run_.begin) * 1e-6;
    return {{"joules", joules}, {"note", "experimental, for ranking only"}};
  }

  Json kernels() const {
    std::vector<const std::pair<const std::string, KernelSum>*> order;
    for (const auto& kernel : kernels_) order.push_back(&kernel);
    std::ranges::stable_sort(
        order, [](const auto* a, const auto* b) { return a->second.total > b->second.total; });
    Json out = Json::array();
    for (const auto* kernel : order) out.push_back(kernel_row(kernel->first, kernel->second));
    return out;
  }

  Json kernel_row(const std::string& name, const KernelSum& sum) const {
    const RuleRow& rule = row_of(sum.parts.rule);
    const double total_us = us(sum.total);
    const Traffic traffic = traffic_of(sum.work, spec_);
    const double intensity = ratio(operations(sum.work), static_cast<double>(traffic.both()));
    const double attained = ratio(operations(sum.work), total_us * 1000);
    const double roof = roof_.at(intensity, sum.work.macs != 0);
    return {{"name", name},
            {"calls", sum.calls},
            {"total_us", total_us},
            {"mean_us", total_us / static_cast<double>(sum.calls)},
            {"share", ratio(total_us, us(pipelines_[2].busy))},
            {"bound", name_of(sum.parts.bound)},
            {"rule", rule.name},
            {"formula", rule.formula},
            {"mark", std::string(1, rule.mark)},
            {"source", rule.source},
            {"cores", sum.parts.cores},
            {"bytes_read", traffic.read},
            {"bytes_written", traffic.written},
            {"macs", sum.work.macs},
            {"lane_ops", sum.work.lane_ops},
            {"padding_bytes", padding_of(sum.work)},
            {"scratchpad_peak", sum.work.scratchpad_peak},
            {"ops_per_byte", intensity},
            {"attained_gops", attained},
            {"roof_gops", roof},
            {"attainment", ratio(attained, roof)},
            {"pt_utilisation", matrix_utilisation(sum.work, spec_, sum.total)},
            {"cycles", cycles(sum)}};
  }

  Json cycles(const KernelSum& sum) const {
    const auto of = [&](Picoseconds time) {
      return static_cast<std::uint64_t>(static_cast<double>(time.count) * spec_.core_clock_ghz /
                                        1000);
    };
    return {{"total", of(sum.total)},
            {"memory", of(sum.parts.memory)},
            {"matrix", of(sum.parts.matrix)},
            {"vector", of(sum.parts.vector)},
            {"ring", of(sum.parts.ring)}};
  }

  const ModelledRun& run_;
  const DeviceSpec& spec_;
  Roofline roof_;
  std::array<PipelineSum, 4> pipelines_{};
  std::array<Picoseconds, 7> bound_{};
  Work work_;
  std::vector<std::uint64_t> domain_bytes_;  // by memory domain
  std::map<std::string, KernelSum> kernels_;
};

}  // namespace

std::string report_json(const ModelledRun& run, const DeviceSpec& spec) {
  return Report(run, spec).json().dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace spyre::device_sim
