// spyre/engine/activity_rows.cpp — names and arguments as upstream's profiler has them.
#include "activity_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <span>
#include <utility>

#include "spyre/base/hash.h"
#include "spyre/base/text.h"
#include "spyre/engine/source.h"

namespace spyre::engine {

using device_sim::Activity;
using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

namespace {

/// PyTorch numbers its own rows from 1: these stay clear of them.
constexpr std::int32_t kFirstId = 1 << 30;

struct Names {
  ActivityType type;      // of the device row
  std::string_view row;   // empty: there is none, or it is the kernel's own
  std::string_view call;  // of the host's row
};

/// By Activity::Kind.
constexpr std::array<Names, 8> kNames{{
    {ActivityType::GPU_MEMCPY, "Memcpy (HtoD)", "aiuLaunchDMIControlBlocks"},
    {ActivityType::GPU_MEMCPY, "Memcpy (DtoH)", "aiuLaunchDMOControlBlocks"},
    {ActivityType::CONCURRENT_KERNEL, "", "aiuLaunchComputeStream"},
    {ActivityType::GPU_MEMSET, "Memset (Device)", "aiuLaunchComputeStream"},
    {ActivityType::ENUM_COUNT, "", "aiuIssueCallback"},
    {ActivityType::ENUM_COUNT, "", "host::synchronize"},
    {ActivityType::GPU_MEMCPY, "Memcpy (DtoD)", "aiuLaunchDMOControlBlocks"},
    {ActivityType::GPU_MEMCPY, "Memcpy (DtoD)", "aiuLaunchDMIControlBlocks"},
}};

const Names& names_of(const Activity& activity) {
  return kNames.at(static_cast<std::size_t>(activity.kind));
}

std::int64_t nanoseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::nanoseconds(duration).count();
}

std::int64_t steady_to_unix() {
  const auto unix_now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(unix_now).count() -
         nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
}

/// 80 bits in the letters of RFC 4648.
std::string base32(const Hash128& hash) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string text;
  for (int i = 0; i < 16; ++i) {
    const int bit = 5 * i;
    const std::uint64_t part = bit < 60 ? hash.low >> bit : hash.high >> (bit - 60);
    text += kLetters[part & 31];
  }
  return text;
}

}  // namespace

std::string kernel_row_name(const Activity& kernel) {
  return str("spyre_kernel_v1_", kernel.name, '_', base32(kernel.program), '#', kernel.step);
}

/// Where a record's modelled times lie.
struct ActivityRows::Place {
  std::int32_t device;
  std::int64_t begin_ns;
  std::uint64_t begin_ps;
  std::int64_t at(std::uint64_t ps) const {
    const auto since = static_cast<std::int64_t>(ps) - static_cast<std::int64_t>(begin_ps);
    return begin_ns + since / 1000;
  }
};

ActivityRows::ActivityRows(Types wanted, libkineto::getLinkedActivityCallback linked)
    : wanted_(std::move(wanted)),
      linked_(std::move(linked)),
      unix_offset_(steady_to_unix()),
      rows_(std::make_unique<libkineto::CpuTraceBuffer>()),
      last_id_(kFirstId) {
  rows_->span.name = "spyre";
  rows_->gpuOpCount = 0;
}

std::int64_t ActivityRows::unix_ns(Activity::Time time) const {
  return nanoseconds(time.time_since_epoch()) + unix_offset_;
}

void ActivityRows::add(std::int32_t device, const device_sim::ActivityRecord& record) {
  const Place place{device, unix_ns(record.begin), record.begin_ps};
  for (const Activity& activity : record.activities) {
    const std::int32_t id = ++last_id_;
    if (wanted_.contains(ActivityType::PRIVATEUSE1_RUNTIME)) add_call(activity, id);
    if (wanted_.contains(names_of(activity).type)) add_on_card(activity, place, id);
  }
}

GenericTraceActivity* ActivityRows::append(ActivityType type, const std::string& name) {
  rows_->emplace_activity(rows_->span, type, name);
  return rows_->activities.back().get();
}

void ActivityRows::add_call(const Activity& activity, std::int32_t id) {
  const Names& names = names_of(activity);
  GenericTraceActivity* row = append(ActivityType::PRIVATEUSE1_RUNTIME, std::string(names.call));
  row->startTime = unix_ns(activity.called);
  row->endTime = unix_ns(activity.returned);
  row->id = id;
  row->device = libkineto::processId();
  row->resource = row->threadId = activity.thread;
  row->linked = linked_(static_cast<std::int32_t>(profiled_op_of(activity.caller)));
  row->addMetadata("correlation", id);
  row->addMetadata("stream", activity.stream.value);
  if (!wanted_.contains(names.type)) return;
  row->flow.id = static_cast<std::uint32_t>(id);
  row->flow.type = libkineto::kLinkAsyncCpuGpu;
  row->flow.start = 1;
}

void ActivityRows::add_on_card(const Activity& activity, const Place& place, std::int32_t id) {
  const Names& names = names_of(activity);
  const std::string name = names.row.empty() ? kernel_row_name(activity) : std::string(names.row);
  GenericTraceActivity* row = append(names.type, name);
  row->startTime = place.at(activity.start_ps);
  row->endTime = place.at(activity.end_ps);
  row->id = id;
  row->device = place.device;
  row->resource = static_cast<std::int32_t>(activity.stream.value);
  const std::uint32_t recorded = profiled_op_of(activity.source);
  row->linked = linked_(
      static_cast<std::int32_t>(recorded != 0 ? recorded : profiled_op_of(activity.caller)));
  row->flow.id = static_cast<std::uint32_t>(id);
  row->flow.type = libkineto::kLinkAsyncCpuGpu;
  row->addMetadata("queued", place.at(activity.queued_ps));
  row->addMetadata("submitted", place.at(activity.submitted_ps));
  row->addMetadata("device", place.device);
  row->addMetadata("context", 0);
  row->addMetadata("stream", activity.stream.value);
  row->addMetadata("correlation", id);
  row->addMetadata("launch", activity.correlation);
  row->addMetadata("bytes", activity.bytes);
  row->addMetadataQuoted("what", activity.name);
  const auto picoseconds = static_cast<double>(activity.end_ps - activity.start_ps);
  if (picoseconds > 0)
    row->addMetadata("memory bandwidth (GB/s)",
                     1000 * static_cast<double>(activity.bytes) / picoseconds);
}

}  // namespace spyre::engine
