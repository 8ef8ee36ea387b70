// spyre/lazy/planner.cpp — key, find, or compile and remember.
#include "planner.h"

#include <string>

#include "plan_compiler.h"
#include "plan_dump.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::lazy {
namespace {

constexpr Bytes kCallCache = 1_MiB;

}  // namespace

Planner::Planner(const Settings& settings, const device_sim::DeviceSpec& card)
    : settings_(settings),
      scratchpad_(card.scratchpad_usable),
      cores_(static_cast<std::uint64_t>(card.cores)),
      plans_(settings.plan_cache),
      calls_(kCallCache),
      kernels_(settings.kernel_cache) {
  check_passes(settings.passes);
  check_dump_directory(settings.dump_directory);
  make_fingerprint();
}

void Planner::make_fingerprint() {
  const std::string text =
      str(static_cast<int>(settings_.execution), ' ', static_cast<int>(settings_.isa), ' ',
          static_cast<int>(settings_.numerics), ' ', scratchpad_.count, ' ', cores_, ' ',
          settings_.passes);
  const auto bytes = std::as_bytes(std::span(text));
  fingerprint_.assign(bytes.begin(), bytes.end());
}

void Planner::configure(const Settings& settings) {
  check_passes(settings.passes);
  check_dump_directory(settings.dump_directory);
  settings_ = settings;
  ++settings_version_;
  plans_.set_capacity(settings.plan_cache, retired_);
  make_fingerprint();
}

std::shared_ptr<const LaunchPlan> Planner::find_or_compile(const Trace& trace, CacheHint& before) {
  log(LogChannel::Trace, [&] {
    return str(trace.nodes().size(), " nodes, ", trace.buffers().size(), " buffers, ",
               trace.params().size(), " numbers");
  });
  auto plan = plans_.find_next(before, [&](std::span<const std::byte> key) {
    return KeyBuilder::is_key(key, trace, fingerprint_);
  });
  if (plan != nullptr) return plan;
  collect_facts(trace, facts_);
  plan = find_or_compile(trace, facts_);
  plans_.expect_latest_after(before);
  return plan;
}

std::shared_ptr<const LaunchPlan> Planner::find_or_compile(const Trace& trace,
                                                           std::span<const BufferFacts> facts) {
  const std::span<const std::byte> key = key_.build(trace, facts, fingerprint_);
  auto plan = plans_.find(key);
  if (plan != nullptr) return plan;
  const MissCause cause = history_.explain(key_.parts());
  ++misses_[static_cast<std::size_t>(cause)];
  log(LogChannel::Cache,
      [&] { return str("plan miss: ", name_of(cause), ", ", trace.nodes().size(), " nodes"); });
  plan = compile(trace, facts);
  plans_.insert(key, plan, plan->bytes(), retired_);
  return plan;
}

std::shared_ptr<const LaunchPlan> Planner::compile(const Trace& trace,
                                                   std::span<const BufferFacts> facts) {
  CompileOptions options;
  options.pipeline.passes = settings_.passes;
  options.pipeline.verify = settings_.verify;
  options.pipeline.scratchpad = scratchpad_;
  options.execution = settings_.execution;
  options.isa = settings_.isa;
  options.numerics = settings_.numerics;
  options.cores = static_cast<int>(cores_);
  if (!settings_.dump_directory.empty())
    options.dump = PlanDump(settings_.dump_directory, ++dumps_);
  if (log_is_on(LogChannel::Fusion))
    options.pipeline.on_change = [](std::string_view pass, const std::string& printed) {
      write_log_line(LogChannel::Fusion, str(pass, ":\n", printed));
    };
  return compile_plan(trace, facts, kernels_, options);
}

void Planner::clear() {
  plans_.retire_all(retired_);
  calls_.retire_all(retired_);
  kernels_.clear();
}

void Planner::set_hash_mask(unsigned bits) {
  plans_.set_hash_mask(bits);
  calls_.set_hash_mask(bits);
  kernels_.set_hash_mask(bits);
}

void Planner::reset_counts() {
  plans_.reset_counts();
  calls_.reset_counts();
  misses_ = {};
  kernels_.reset_counts();
}

}  // namespace spyre::lazy
