// spyre/lazy/work_estimate.cpp — see work_estimate.h.
#include "work_estimate.h"

#include "spyre/kernels/kernel.h"

namespace spyre::lazy {
namespace {

using device_sim::Work;
using kernels::ArgumentSpec;
using kernels::Form;
using kernels::InnerStride;
using kernels::Level;
using kernels::Step;

/// A transcendental occupies a lane as long as this many simple operations.
constexpr std::uint64_t kTranscendental = 4;

std::uint64_t distinct_bytes(const Group& group, std::size_t argument) {
  std::uint64_t bytes = size_of(group.spec.arguments[argument].dtype);
  const std::size_t rank = group.extents.size();
  for (std::size_t d = 0; d < rank; ++d)
    if (group.strides[argument * rank + d] != 0)
      bytes *= static_cast<std::uint64_t>(group.extents[d]);
  return bytes;
}

std::uint64_t lane_operations(const Step& step, const Nest& nest) {
  if (step.kind != Step::Kind::Apply && step.kind != Step::Kind::Reduce) return 0;
  const bool element = step.level == Level::Element || step.kind == Step::Kind::Reduce;
  const auto points = static_cast<std::uint64_t>(element ? nest.points() : nest.kept_points());
  if (step.level == Level::Uniform) return 0;
  const bool transcendental = step.kind == Step::Kind::Apply &&
                              kernels::op(step.op).info.cost == kernels::Cost::Transcendental;
  return points * (transcendental ? kTranscendental : 1);
}

Work::Pattern pattern_of(const Group& group) {
  if (group.spec.form == Form::Row) return Work::Pattern::RowReduction;
  if (group.spec.form == Form::Column) return Work::Pattern::ColumnReduction;
  bool broadcast = false;
  const std::size_t rank = group.extents.size();
  for (std::size_t a = 0; a < group.bindings.size(); ++a) {
    const ArgumentSpec& spec = group.spec.arguments[a];
    if (spec.kind == ArgumentSpec::Kind::Iota) continue;
    if (spec.inner == InnerStride::Any) return Work::Pattern::Relayout;
    for (std::size_t d = 0; d < rank; ++d)
      broadcast = broadcast || group.strides[a * rank + d] == 0;
  }
  return broadcast ? Work::Pattern::Broadcast : Work::Pattern::Stream;
}

}  // namespace

Work estimate_work(const Group& group, const Nest& nest) {
  Work work{.pattern = pattern_of(group),
            .rows = nest.reduces() ? static_cast<std::uint64_t>(nest.kept_points()) : 0};
  for (std::size_t a = 0; a < group.bindings.size(); ++a) {
    if (group.bindings[a].kind == Binding::Kind::Read) work.bytes_read += distinct_bytes(group, a);
    if (group.bindings[a].kind == Binding::Kind::Write)
      work.bytes_written += distinct_bytes(group, a);
  }
  for (const Step& step : group.spec.steps) work.lane_ops += lane_operations(step, nest);
  work.scratchpad_peak = kernels::scratch_bytes(group.spec, group.extents.begin()).count;
  return work;
}

}  // namespace spyre::lazy
