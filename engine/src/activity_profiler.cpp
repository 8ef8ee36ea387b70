// spyre/engine/activity_profiler.cpp — sessions: the cards record while one is open.
#include "spyre/engine/activity_profiler.h"

#include <string>
#include <utility>
#include <vector>

#include <libkineto.h>
#include <output_base.h>

#include "activity_rows.h"
#include "spyre/base/text.h"
#include "spyre/engine/profiled_op.h"
#include "spyre/engine/runtime.h"

namespace spyre::engine {
namespace {

using Types = ActivityRows::Types;

/// From start to stop, what the cards do is recorded; the rows are made afterwards. A runtime that starts meanwhile
/// records from its first moment, and a session starts none. Driven by PyTorch's profiler, one call at a time;
/// correlations come from all threads.
class Session final : public libkineto::IActivityProfilerSession {
 public:
  explicit Session(Types wanted) : wanted_(std::move(wanted)) {}

  void start() override {
    set_profiling(true);
    if (Runtime* runtime = Runtime::running()) runtime->record_activities();
    status_ = libkineto::TraceStatus::RECORDING;
  }
  void stop() override {
    set_profiling(false);
    if (Runtime* runtime = Runtime::running()) records_ = runtime->take_activities();
    status_ = libkineto::TraceStatus::PROCESSING;
  }
  std::vector<std::string> errors() override {
    std::uint64_t dropped = 0;
    for (const device_sim::ActivityRecord& record : records_) dropped += record.dropped;
    const Runtime* runtime = Runtime::running();
    if (runtime != nullptr && !runtime->models_time())
      return {"spyre: no row of the card is shown, because SPYRE_CLOCK=off models no time"};
    if (dropped == 0) return {};
    return {str("spyre: ", dropped, " operations are not shown: too many for one recording")};
  }

  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(logger, [](std::int32_t) { return nullptr; }, 0, 0);
  }
  void processTrace(libkineto::ActivityLogger& logger, libkineto::getLinkedActivityCallback linked,
                    std::int64_t, std::int64_t) override {
    ActivityRows rows(wanted_, std::move(linked));
    for (std::size_t card = 0; card < records_.size(); ++card)
      rows.add(static_cast<std::int32_t>(card), records_[card]);
    for (const auto& row : rows.rows().activities) row->log(logger);
    buffer_ = rows.take();
  }
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    return std::move(buffer_);
  }

  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override {
    if (records_.empty()) return nullptr;
    return std::make_unique<libkineto::DeviceInfo>(
        libkineto::DeviceInfo{0, libkineto::kExceedMaxPid, "spyre:0", "modelled time"});
  }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }

  void pushCorrelationId(std::uint64_t id) override { enter_profiled_op(id); }
  void popCorrelationId() override { leave_profiled_op(); }

 private:
  Types wanted_;
  std::vector<device_sim::ActivityRecord> records_;  // by card
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_;
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const Types& availableActivities() const override { return available_; }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const Types& asked, const libkineto::Config&) override {
    return std::make_unique<Session>(asked);
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      std::int64_t, std::int64_t, const Types& asked, const libkineto::Config& config) override {
    return configure(asked, config);
  }

 private:
  using Type = libkineto::ActivityType;
  const std::string name_ = "spyre";
  const Types available_{Type::CONCURRENT_KERNEL, Type::GPU_MEMCPY, Type::GPU_MEMSET,
                         Type::PRIVATEUSE1_RUNTIME};
};

}  // namespace

libkineto::IActivityProfiler& activity_profiler() {
  static auto* instance = new Profiler;  // sessions may end after static objects
  return *instance;
}

}  // namespace spyre::engine
