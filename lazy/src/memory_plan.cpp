// spyre/lazy/memory_plan.cpp — walks the steps once: what is born takes its place, what has died gives it back.
#include "spyre/lazy/memory_plan.h"

#include <algorithm>
#include <array>

#include "access.h"
#include "arena_layout.h"
#include "interval_set.h"

namespace spyre::lazy {
namespace {

using kernels::ArgumentSpec;
using kernels::Form;

/// True if argument `a` of the group's kernel has every byte of its range exactly once.
bool is_dense(const Group& group, std::size_t a) {
  std::array<std::pair<std::int64_t, std::int64_t>, kMaxRank> dims;
  std::size_t count = 0;
  for (std::size_t d = 0; d < group.extents.size(); ++d) {
    const std::int64_t stride = group.strides[a * group.extents.size() + d];
    if (group.extents[d] != 1 && stride != 0) dims[count++] = {std::abs(stride), group.extents[d]};
  }
  std::sort(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(count));
  std::int64_t step = size_of(group.spec.arguments[a].dtype);
  for (std::size_t i = 0; i < count; ++i) {
    if (dims[i].first != step) return false;
    step *= dims[i].second;
  }
  return true;
}

bool same_places(const Group& group, std::size_t a, std::size_t b) {
  const std::size_t rank = group.extents.size();
  const auto strides = group.strides.begin();
  return group.bindings[a].offset == group.bindings[b].offset &&
         size_of(group.spec.arguments[a].dtype) == size_of(group.spec.arguments[b].dtype) &&
         std::equal(strides + static_cast<std::ptrdiff_t>(a * rank), strides + static_cast<std::ptrdiff_t>((a + 1) * rank),
                    strides + static_cast<std::ptrdiff_t>(b * rank));
}

/// In place is safe if the kernel is pointwise with one store, the last thing that happens to a point, and the input
/// is read at the stored points only.
void find_in_place(const Group& group, StepTouches& step) {
  if (group.spec.form != Form::Pointwise) return;
  const auto is_store = [](const ArgumentSpec& a) { return a.kind == ArgumentSpec::Kind::Store; };
  if (std::ranges::count_if(group.spec.arguments, is_store) != 1) return;
  const auto out =
      static_cast<std::size_t>(std::ranges::find_if(group.spec.arguments, is_store) - group.spec.arguments.begin());
  for (std::size_t in = 0; in < group.bindings.size(); ++in) {
    if (group.bindings[in].kind != Binding::Kind::Read) continue;
    const std::uint32_t buffer = group.bindings[in].index;
    bool safe = true;
    for (std::size_t other = 0; other < group.bindings.size(); ++other)
      if (group.bindings[other].kind != Binding::Kind::Iota && group.bindings[other].index == buffer)
        safe = safe && other != out && same_places(group, other, out);
    if (!safe) continue;
    step.in_place_input = buffer;
    step.in_place_output = group.bindings[out].index;
    return;
  }
}

StepTouches touches_of_kernel(const Group& group) {
  StepTouches step;
  for (std::size_t a = 0; a < group.bindings.size(); ++a) {
    const Binding& b = group.bindings[a];
    if (b.kind == Binding::Kind::Iota) continue;
    step.touches.push_back({b.index, b.kind == Binding::Kind::Write, is_dense(group, a),
                            static_cast<std::uint64_t>(b.begin), static_cast<std::uint64_t>(b.end)});
  }
  find_in_place(group, step);
  return step;
}

StepTouches touches_of_library(const Graph& graph, const Node& node) {
  StepTouches step;
  const std::size_t count = graph.all_operands(node).size();
  for (std::size_t i = 0; i < count; ++i) {
    const Access access = access_of(graph, node, i);
    step.touches.push_back({access.buffer, i >= node.input_count, access.dense,
                            static_cast<std::uint64_t>(access.begin), static_cast<std::uint64_t>(access.end)});
  }
  return step;
}

/// First and last step that touch a buffer.
struct Lifetime {
  static constexpr std::uint32_t kNever = 0xFFFF'FFFF;
  std::uint32_t first = kNever, last = 0;
};

class MemoryPlanner {
 public:
  MemoryPlanner(std::span<const BufferFacts> buffers, std::span<const StepTouches> steps)
      : buffers_(buffers), steps_(steps), lives_(buffers.size()), taken_(buffers.size(), false) {
    plan_.placements.resize(buffers.size());
    for (std::uint32_t s = 0; s < steps.size(); ++s)
      for (const Touch& touch : steps[s].touches) {
        lives_[touch.buffer].first = std::min(lives_[touch.buffer].first, s);
        lives_[touch.buffer].last = s;
      }
  }

  MemoryPlan run() {
    order_by_first_and_last();
    std::size_t next_born = 0, next_dead = 0;
    for (std::uint32_t s = 0; s < steps_.size(); ++s) {
      while (next_born < born_.size() && lives_[born_[next_born]].first == s) place(born_[next_born++], s);
      while (next_dead < dead_.size() && lives_[dead_[next_dead]].last == s) bury(dead_[next_dead++]);
    }
    plan_.arena = {arena_.size()};
    find_fills();
    return std::move(plan_);
  }

 private:
  void order_by_first_and_last() {
    for (std::uint32_t b = 0; b < buffers_.size(); ++b)
      if (lives_[b].first != Lifetime::kNever) born_.push_back(b);
    dead_ = born_;
    std::ranges::stable_sort(born_, {}, [&](std::uint32_t b) { return lives_[b].first; });
    std::ranges::stable_sort(dead_, {}, [&](std::uint32_t b) { return lives_[b].last; });
  }

  void place(std::uint32_t b, std::uint32_t step) {
    Placement& placement = plan_.placements[b];
    if (buffers_[b].written_before) {
      placement.kind = Placement::Kind::Given;
    } else if (const std::uint32_t donor = donor_for(b, step); donor != StepTouches::kNone) {
      taken_[donor] = true;
      if (plan_.placements[donor].kind == Placement::Kind::Arena) placement = plan_.placements[donor];
      else placement = {Placement::Kind::Donated, donor, 0};
    } else if (buffers_[b].observable) {
      placement.kind = Placement::Kind::New;
    } else {
      placement = {Placement::Kind::Arena, 0, arena_.take(buffers_[b].bytes)};
    }
  }

  /// A buffer whose bytes `b` may take over: the step computes `b` in place of it.
  std::uint32_t donor_for(std::uint32_t b, std::uint32_t step) const {
    const StepTouches& touches = steps_[step];
    const std::uint32_t donor = touches.in_place_input;
    if (touches.in_place_output != b || donor == StepTouches::kNone || taken_[donor]) return StepTouches::kNone;
    const bool dead = lives_[donor].last == step && !buffers_[donor].observable;
    if (!dead || buffers_[donor].bytes != buffers_[b].bytes || !fills(touches, b)) return StepTouches::kNone;
    // Memory of its own stays with whoever can be read later; arena bytes stay in the arena.
    const bool own = plan_.placements[donor].kind == Placement::Kind::Given;
    return own == buffers_[b].observable ? donor : StepTouches::kNone;
  }

  /// True if the step writes the whole buffer: no byte of the donor can be seen through it.
  bool fills(const StepTouches& step, std::uint32_t b) const {
    return std::ranges::any_of(step.touches, [&](const Touch& t) {
      return t.buffer == b && t.write && t.dense && t.begin == 0 && t.end == buffers_[b].bytes;
    });
  }

  void bury(std::uint32_t b) {
    if (plan_.placements[b].kind == Placement::Kind::Arena && !taken_[b])
      arena_.give_back(plan_.placements[b].offset, buffers_[b].bytes);
  }

  void find_fills() {
    std::vector<IntervalSet> written(buffers_.size());
    std::vector<bool> fill(buffers_.size(), false);
    for (const StepTouches& step : steps_) {
      for (const Touch& t : step.touches)
        if (!t.write && !written[t.buffer].covers(t.begin, t.end)) fill[t.buffer] = true;
      for (const Touch& t : step.touches)
        if (t.write && t.dense) written[t.buffer].add(t.begin, t.end);
    }
    for (const std::uint32_t b : born_) {
      if (buffers_[b].written_before) continue;
      const bool read_later = buffers_[b].observable && !written[b].covers(0, buffers_[b].bytes);
      if (fill[b] || read_later) plan_.fills.push_back({lives_[b].first, b});
    }
  }

  std::span<const BufferFacts> buffers_;
  std::span<const StepTouches> steps_;
  std::vector<Lifetime> lives_;
  std::vector<bool> taken_;
  std::vector<std::uint32_t> born_, dead_;
  ArenaLayout arena_;
  MemoryPlan plan_;
};

}  // namespace

std::vector<StepTouches> touches_of(const Plan& plan) {
  std::vector<StepTouches> steps;
  steps.reserve(plan.groups.size());
  for (const Group& group : plan.groups)
    steps.push_back(group.library ? touches_of_library(plan.graph, plan.graph.nodes[group.nodes.front()])
                                  : touches_of_kernel(group));
  return steps;
}

MemoryPlan plan_memory(std::span<const BufferFacts> buffers, std::span<const StepTouches> steps) {
  return MemoryPlanner(buffers, steps).run();
}

}  // namespace spyre::lazy
