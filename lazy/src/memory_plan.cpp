// spyre/lazy/memory_plan.cpp — walks the steps once: what is born takes its place, what has died
// gives it back.
#include "spyre/lazy/memory_plan.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "access.h"
#include "arena_layout.h"
#include "byte_coverage.h"

namespace spyre::lazy {
namespace {

using kernels::ArgumentSpec;
using kernels::Form;

/// One loop dimension of an argument: stride in bytes, extent.
using StridedDims = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Adds the runs of a window, whose dimensions are given in any order.
void describe_runs(Touch& touch, StridedDims dims, std::int64_t element) {
  std::erase_if(dims, [](const auto& d) { return d.second == 1 || d.first == 0; });
  for (auto& d : dims) d.first = std::abs(d.first);
  std::ranges::sort(dims);
  std::int64_t step = element;
  std::size_t i = 0;
  for (; i < dims.size() && dims[i].first == step; ++i) step *= dims[i].second;
  touch.run = step;
  if (i == dims.size()) return;
  touch.period = dims[i].first;
  std::int64_t next = dims[i].first;
  for (; i < dims.size(); ++i) {
    if (dims[i].first != next || dims[i].first < step) {
      touch.run = touch.period = 0;
      return;
    }
    next *= dims[i].second;
  }
}

bool same_places(const Group& group, std::size_t a, std::size_t b) {
  const std::size_t rank = group.extents.size();
  const auto strides = group.strides.begin();
  return group.bindings[a].offset == group.bindings[b].offset &&
         size_of(group.spec.arguments[a].dtype) == size_of(group.spec.arguments[b].dtype) &&
         std::equal(strides + static_cast<std::ptrdiff_t>(a * rank),
                    strides + static_cast<std::ptrdiff_t>((a + 1) * rank),
                    strides + static_cast<std::ptrdiff_t>(b * rank));
}

/// In place is safe if the kernel is pointwise with one store, the last thing that happens to a
/// point, and the input is read at the stored points only.
void find_in_place(const Group& group, StepTouches& step) {
  if (group.spec.form != Form::Pointwise) return;
  const auto is_store = [](const ArgumentSpec& a) { return a.kind == ArgumentSpec::Kind::Store; };
  if (std::ranges::count_if(group.spec.arguments, is_store) != 1) return;
  const auto out = static_cast<std::size_t>(std::ranges::find_if(group.spec.arguments, is_store) -
                                            group.spec.arguments.begin());
  for (std::size_t in = 0; in < group.bindings.size(); ++in) {
    if (group.bindings[in].kind != Binding::Kind::Read) continue;
    const std::uint32_t buffer = group.bindings[in].index;
    bool safe = true;
    for (std::size_t other = 0; other < group.bindings.size(); ++other)
      if (group.bindings[other].kind != Binding::Kind::Iota &&
          group.bindings[other].index == buffer)
        safe = safe && other != out && same_places(group, other, out);
    if (!safe) continue;
    step.in_place_input = buffer;
    step.in_place_output = group.bindings[out].index;
    return;
  }
}

/// `dims`: loops around the group's own.
std::optional<Touch> touch_of_argument(const Group& group, std::size_t a, StridedDims dims) {
  const Binding& b = group.bindings[a];
  if (b.kind == Binding::Kind::Iota) return std::nullopt;
  Touch touch{b.index, b.kind == Binding::Kind::Write, b.begin, b.end};
  for (std::size_t d = 0; d < group.extents.size(); ++d)
    dims.emplace_back(group.strides[a * group.extents.size() + d], group.extents[d]);
  describe_runs(touch, std::move(dims), size_of(group.spec.arguments[a].dtype));
  return touch;
}

StepTouches touches_of_kernel(const Group& group) {
  StepTouches step;
  for (std::size_t a = 0; a < group.bindings.size(); ++a)
    if (const auto touch = touch_of_argument(group, a, {})) step.touches.push_back(*touch);
  find_in_place(group, step);
  return step;
}

/// A kernel stage holds the last dimension of the rows itself.
std::vector<Touch> touches_of_stage(const Chain& chain, const Stage& stage) {
  std::vector<Touch> touches;
  for (std::size_t a = 0; a < stage.group.bindings.size(); ++a) {
    StridedDims outer;
    for (std::size_t d = 0; d + 1 < chain.rows.size(); ++d)
      outer.emplace_back(stage.row_strides[a][d], chain.rows[d]);
    if (const auto touch = touch_of_argument(stage.group, a, std::move(outer)))
      touches.push_back(*touch);
  }
  return touches;
}

StepTouches touches_of_library(const Graph& graph, const Node& node) {
  StepTouches step;
  const std::size_t count = graph.all_operands(node).size();
  for (std::size_t i = 0; i < count; ++i) {
    const Access access = access_of(graph, node, i);
    Touch touch{access.buffer, i >= node.input_count, access.begin, access.end};
    StridedDims dims;
    for (std::size_t d = 0; d < access.extents.size(); ++d)
      dims.emplace_back(access.strides[d] * access.element_size, access.extents[d]);
    describe_runs(touch, std::move(dims), access.element_size);
    step.touches.push_back(touch);
  }
  return step;
}

/// What leaves the scratchpad. A read of what an earlier stage wrote is no touch: the rows are there.
StepTouches touches_of_chain(const Graph& graph, const Chain& chain) {
  StepTouches step;
  const auto written = [&](std::uint32_t buffer) {
    return std::ranges::any_of(step.touches,
                               [&](const Touch& t) { return t.write && t.buffer == buffer; });
  };
  for (const Stage& stage : chain.stages) {
    std::vector<Touch> touches =
        stage.group.library ? touches_of_library(graph, graph.nodes[stage.group.nodes[0]]).touches
                            : touches_of_stage(chain, stage);
    std::erase_if(touches, [&](const Touch& t) {
      return chain.resident(t.buffer) != Chain::kNone || (!t.write && written(t.buffer));
    });
    step.touches.insert(step.touches.end(), touches.begin(), touches.end());
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
      : buffers_(buffers),
        steps_(steps),
        lives_(buffers.size()),
        taken_(buffers.size(), false),
        lenders_(buffers.size(), StepTouches::kNone) {
    plan_.placements.resize(buffers.size());
    for (std::uint32_t s = 0; s < steps.size(); ++s)
      for (const Touch& touch : steps[s].touches) {
        lives_[touch.buffer].first = std::min(lives_[touch.buffer].first, s);
        lives_[touch.buffer].last = s;
      }
  }

  MemoryPlan run() {
    order_by_first_and_last();
    find_lenders();
    std::size_t next_born = 0, next_dead = 0;
    for (std::uint32_t s = 0; s < steps_.size(); ++s) {
      while (next_born < born_.size() && lives_[born_[next_born]].first == s)
        place(born_[next_born++], s);
      while (next_dead < dead_.size() && lives_[dead_[next_dead]].last == s)
        bury(dead_[next_dead++]);
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

  /// A new result has its memory from the beginning of the launch: what it is computed in place of
  /// needs none beside it, nor what that is computed in place of.
  void find_lenders() {
    for (std::size_t s = steps_.size(); s-- > 0;) {
      const std::uint32_t before = steps_[s].in_place_input, b = steps_[s].in_place_output;
      if (before == StepTouches::kNone || buffers_[before].written_before ||
          !takes_over(b, before, static_cast<std::uint32_t>(s)))
        continue;
      lenders_[before] = buffers_[b].observable ? b : lenders_[b];
    }
  }

  void place(std::uint32_t b, std::uint32_t step) {
    Placement& placement = plan_.placements[b];
    if (buffers_[b].written_before) {
      placement.kind = Placement::Kind::Given;
    } else if (lenders_[b] != StepTouches::kNone) {
      placement = {Placement::Kind::Lent, lenders_[b], 0};
    } else if (const std::uint32_t donor = donor_for(b, step); donor != StepTouches::kNone) {
      taken_[donor] = true;
      if (plan_.placements[donor].kind == Placement::Kind::Arena)
        placement = plan_.placements[donor];
      else placement = {Placement::Kind::Donated, donor, 0};
    } else if (buffers_[b].observable) {
      placement.kind = Placement::Kind::New;
    } else {
      placement = {Placement::Kind::Arena, 0, arena_.take(buffers_[b].bytes)};
    }
  }

  /// A buffer whose bytes `b` may take over: the step computes `b` in place of it.
  std::uint32_t donor_for(std::uint32_t b, std::uint32_t step) const {
    const std::uint32_t donor = steps_[step].in_place_input;
    if (steps_[step].in_place_output != b || donor == StepTouches::kNone || taken_[donor] ||
        !takes_over(b, donor, step))
      return StepTouches::kNone;
    // Memory of its own stays with whoever can be read later; arena bytes stay in the arena.
    const bool own = plan_.placements[donor].kind == Placement::Kind::Given;
    return own == buffers_[b].observable ? donor : StepTouches::kNone;
  }

  /// True if the step, which may compute `b` in place of `before`, makes `b` whole, nobody needs
  /// `before` any more, and both are to be placed alike.
  bool takes_over(std::uint32_t b, std::uint32_t before, std::uint32_t step) const {
    return lives_[b].first == step && !buffers_[b].written_before && lives_[before].last == step &&
           !buffers_[before].observable && buffers_[before].bytes == buffers_[b].bytes &&
           buffers_[before].directive == buffers_[b].directive && fills(steps_[step], b);
  }

  /// True if the step writes the whole buffer: no byte of the donor can be seen through it.
  bool fills(const StepTouches& step, std::uint32_t b) const {
    return std::ranges::any_of(
        step.touches, [&](const Touch& t) { return t.buffer == b && t.fills(buffers_[b].bytes); });
  }

  void bury(std::uint32_t b) {
    if (plan_.placements[b].kind == Placement::Kind::Arena && !taken_[b])
      arena_.give_back(plan_.placements[b].offset, buffers_[b].bytes);
  }

  void find_fills() {
    std::vector<ByteCoverage> written;
    for (const BufferFacts& facts : buffers_)
      written.emplace_back(static_cast<std::int64_t>(facts.bytes));
    std::vector<bool> fill(buffers_.size(), false);
    for (const StepTouches& step : steps_) {
      for (const Touch& t : step.touches)
        if (!t.write && !written[t.buffer].covers(t.begin, t.end)) fill[t.buffer] = true;
      for (const Touch& t : step.touches)
        if (t.write) written[t.buffer].add({t.begin, t.end, t.run, t.period});
    }
    for (const std::uint32_t b : born_) {
      if (buffers_[b].written_before) continue;
      const bool read_later = buffers_[b].observable && !written[b].covers_all();
      if (fill[b] || read_later) plan_.fills.push_back({lives_[b].first, b});
    }
  }

  std::span<const BufferFacts> buffers_;
  std::span<const StepTouches> steps_;
  std::vector<Lifetime> lives_;
  std::vector<bool> taken_;
  std::vector<std::uint32_t> lenders_;  // per buffer: who lends it memory, or kNone
  std::vector<std::uint32_t> born_, dead_;
  ArenaLayout arena_;
  MemoryPlan plan_;
};

}  // namespace

std::vector<StepTouches> touches_of(const Plan& plan) {
  std::vector<StepTouches> steps;
  steps.reserve(plan.groups.size());
  for (const Group& group : plan.groups) {
    if (group.chain) steps.push_back(touches_of_chain(plan.graph, *group.chain));
    else if (!group.library) steps.push_back(touches_of_kernel(group));
    else steps.push_back(touches_of_library(plan.graph, plan.graph.nodes[group.nodes.front()]));
  }
  return steps;
}

MemoryPlan plan_memory(std::span<const BufferFacts> buffers, std::span<const StepTouches> steps) {
  return MemoryPlanner(buffers, steps).run();
}

}  // namespace spyre::lazy
