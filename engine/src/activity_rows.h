// spyre/engine/activity_rows.h — the cards' activities as rows of PyTorch's profiler.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include <libkineto.h>

#include "spyre/device_sim/activity.h"

namespace spyre::engine {

/// "spyre_kernel_v1_add_relu_<16 characters>#0": operators, program, number of the step in its launch.
std::string kernel_row_name(const device_sim::Activity& kernel);

/// Writes rows. A device row lies at the modelled time since recording began, counted from the moment when it did; the
/// row of the call that submitted it lies where this host made it. An arrow joins the two. The device row belongs to
/// the operator that recorded it, the call's row to the one that was running. Confined to one thread.
class ActivityRows {
 public:
  using Types = std::set<libkineto::ActivityType>;

  ActivityRows(Types wanted, libkineto::getLinkedActivityCallback linked);

  void add(std::int32_t device, const device_sim::ActivityRecord& record);
  /// Rows refer to it: it must outlive their readers.
  std::unique_ptr<libkineto::CpuTraceBuffer> take() { return std::move(rows_); }
  const libkineto::CpuTraceBuffer& rows() const { return *rows_; }

 private:
  struct Place;
  void add_call(const device_sim::Activity& activity, std::int32_t id);
  void add_on_card(const device_sim::Activity& activity, const Place& place, std::int32_t id);
  libkineto::GenericTraceActivity* append(libkineto::ActivityType type, const std::string& name);
  std::int64_t unix_ns(device_sim::Activity::Time time) const;

  Types wanted_;
  libkineto::getLinkedActivityCallback linked_;
  std::int64_t unix_offset_;  // of the steady clock
  std::unique_ptr<libkineto::CpuTraceBuffer> rows_;
  std::int32_t last_id_;
};

}  // namespace spyre::engine
