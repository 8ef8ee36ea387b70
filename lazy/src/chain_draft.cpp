// spyre/lazy/chain_draft.cpp — see chain_draft.h.
#include "chain_draft.h"

#include <algorithm>
#include <cstdlib>

#include "access.h"
#include "spyre/kernels/kernel.h"
#include "spyre/lazy/iteration_space.h"
#include "spyre/lazy/scratchpad_plan.h"

namespace spyre::lazy {
namespace {

constexpr std::int64_t kPanelRows = 96;          // about what a product needs to run at full speed
constexpr std::int64_t kLeastRows = 24;          // fewer read the right operands too often
constexpr std::int64_t kEnoughPanels = 8;        // fewer leave cores idle,
constexpr std::uint64_t kTinyMacs = 1ULL << 20;  // unless one core runs it all anyway

/// A product that can be computed some rows at a time; a panel never spans two matrices, so one row each is not enough.
bool has_panels(const Graph& graph, const Group& group) {
  return group.library && graph.nodes[group.nodes.front()].rows.rows > 1;
}

const Node& node_of(const Graph& graph, const Group& group) {
  return graph.nodes[group.nodes.front()];
}

Dims rows_of(const Node& product) {
  return without_ones({product.rows.batches, product.rows.rows});
}

/// How far apart rows are, if their strides are those of a dense array of rows; 0 if not.
std::int64_t dense_row(const Dims& rows, const Dims& strides) {
  std::int64_t expected = strides.back();
  for (std::size_t d = rows.size(); d-- > 0; expected *= rows[d])
    if (strides[d] != expected) return 0;
  return strides.back();
}

/// Last byte, relative to the first element's address, plus one; 0 if some stride is negative.
std::int64_t extent_in_bytes(const Dims& extents, const Dims& strides, std::int64_t element) {
  std::int64_t end = element;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (strides[d] < 0) return 0;
    end += (extents[d] - 1) * strides[d];
  }
  return end;
}

/// Whether the `end` bytes from `offset` on lie in the row that begins at the base.
bool within_row(std::int64_t offset, std::int64_t end, std::int64_t row) {
  return offset >= 0 && offset + end <= row;
}

}  // namespace

bool ChainDraft::has_rows(const Graph& graph, const Group& group) {
  return has_panels(graph, group);
}

ChainDraft::ChainDraft(const Graph& graph, const Group& product)
    : graph_(graph), rows_(rows_of(node_of(graph, product))) {}

std::optional<Dims> ChainDraft::rows_with(const Group& group) const {
  if (has_panels(graph_, group)) {
    const Dims theirs = rows_of(node_of(graph_, group));
    return theirs.numel() == rows_.numel() ? common_refinement(rows_, theirs) : std::nullopt;
  }
  if (group.library) return std::nullopt;
  const auto loops = row_loops(group, rows_);
  return loops ? std::optional(loops->rows) : std::nullopt;
}

std::vector<ChainDraft::Touching> ChainDraft::touches(const Group& group, const Dims& rows) const {
  return group.library ? product_touches(group) : kernel_touches(group, rows);
}

std::vector<ChainDraft::Touching> ChainDraft::kernel_touches(const Group& group,
                                                             const Dims& rows) const {
  const auto loops = row_loops(group, rows);
  std::vector<Touching> result;
  for (std::size_t a = 0; a < group.bindings.size(); ++a) {
    const Binding& binding = group.bindings[a];
    if (binding.kind == Binding::Kind::Iota) continue;
    Touching touch{.buffer = binding.index, .write = binding.kind == Binding::Kind::Write};
    const std::int64_t element = size_of(group.spec.arguments[a].dtype);
    const std::int64_t row = dense_row(loops->rows, loops->row_strides[a]);
    const std::int64_t end = extent_in_bytes(loops->inner, loops->inner_strides[a], element);
    if (row > 0 && end > 0 && within_row(binding.offset, end, row)) touch.row_bytes = row;
    std::int64_t points = element;
    for (std::size_t d = 0; d < loops->inner.size(); ++d)
      if (loops->inner_strides[a][d] != 0) points *= loops->inner[d];
    touch.fills = touch.write && touch.row_bytes != 0 && points == row;
    result.push_back(touch);
  }
  return result;
}

std::vector<ChainDraft::Touching> ChainDraft::product_touches(const Group& group) const {
  const Node& node = node_of(graph_, group);
  std::vector<Touching> result;
  for (std::size_t i = 0; i < graph_.all_operands(node).size(); ++i) {
    const Operand& operand = graph_.all_operands(node)[i];
    const Dims& sizes = graph_.library_sizes[node.first_operand + i];
    Touching touch{.buffer = operand.index, .write = i >= node.input_count};
    if (i == 0 || touch.write) {  // the left operand and the result
      const std::size_t rank = sizes.size();
      const std::int64_t element = operand.element_size, row = operand.strides[rank - 2] * element,
                         end = extent_in_bytes({sizes[rank - 1]},
                                               {operand.strides[rank - 1] * element}, element);
      const bool dense =
          rank == 2 || sizes[0] == 1 || operand.strides[0] == operand.strides[1] * sizes[1];
      const bool within = end > 0 && within_row(operand.offset * element, end, row);
      if (row > 0 && dense && within) touch.row_bytes = row;
      touch.fills = touch.write && touch.row_bytes == sizes[rank - 1] * element;
    }
    result.push_back(touch);
  }
  return result;
}

bool ChainDraft::concerns(const Group& group) const {
  const auto concerning = [&](std::uint32_t buffer, bool write) {
    const auto at = shared_.find(buffer);
    return at != shared_.end() && (write || at->second.written);
  };
  for (const std::uint32_t n : group.nodes) {
    const Node& node = graph_.nodes[n];
    for (const Operand& o : graph_.inputs(node))
      if (o.is_view() && concerning(o.index, false)) return true;
    for (const Operand& o : graph_.outputs(node))
      if (concerning(o.index, true)) return true;
  }
  return false;
}

bool ChainDraft::compatible(const Touching& touch) const {
  const auto at = shared_.find(touch.buffer);
  if (at == shared_.end() || (!touch.write && !at->second.written)) return true;
  const bool known = touch.write || at->second.made;  // reads must find what members wrote
  return known && touch.row_bytes != 0 && touch.row_bytes == at->second.row_bytes;
}

bool ChainDraft::join(const Group& group, std::size_t position) {
  if (node_of(graph_, group).may_fault) return false;  // a chain would fail as a whole
  const std::optional<Dims> rows = rows_with(group);
  if (!rows || (rows->back() < kLeastRows && rows->back() < rows_.back())) return false;
  const std::vector<Touching> theirs = touches(group, *rows);
  if (!std::ranges::all_of(theirs, [&](const Touching& t) { return compatible(t); })) return false;
  rows_ = *rows;
  add(theirs, position);
  return true;
}

void ChainDraft::add(const std::vector<Touching>& touches, std::size_t position) {
  members_.push_back(position);
  for (const Touching& t : touches) {
    const auto [at, fresh] =
        shared_.try_emplace(t.buffer, Shared{.row_bytes = t.row_bytes, .made = t.fills});
    if (!fresh && at->second.row_bytes != t.row_bytes) at->second.row_bytes = 0;
    at->second.written = at->second.written || t.write;
  }
}

/// Nobody else touches it, before, between or after.
bool ChainDraft::resident(const Plan& plan, std::uint32_t buffer) const {
  const BufferFacts& facts = graph_.buffers[buffer];
  if (facts.observable || facts.written_before) return false;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    if (std::ranges::binary_search(members_, g)) continue;
    for (const std::uint32_t n : plan.groups[g].nodes)
      for (const Operand& o : graph_.all_operands(graph_.nodes[n]))
        if (o.is_view() && o.index == buffer) return false;
  }
  return true;
}

void ChainDraft::place_residents(const Plan& plan, Chain& chain) const {
  for (const auto& [buffer, shared] : shared_)
    if (shared.made && shared.row_bytes != 0 && resident(plan, buffer))
      chain.residents.push_back({.buffer = buffer, .row_bytes = shared.row_bytes});
}

/// What stages share within a batch stays in the scratchpad, as far as half of it goes. Returns what
/// the greediest stage takes besides.
Bytes ChainDraft::place_batches(Bytes scratchpad, Chain& chain) const {
  Bytes kept, most;
  for (Stage& stage : chain.stages) {
    const Group& group = stage.group;
    Bytes needed;
    if (group.library) {
      const Node& node = node_of(graph_, group);
      stage.batch_bytes = node.batch_bytes;
      stage.keeps = (kept + node.batch_bytes).count <= scratchpad.count / 2;
      needed = stage.keeps ? node.row_scratch : node.row_scratch + node.batch_bytes;
      stage.batch_offset = stage.keeps ? kept.count : 0;
      if (stage.keeps) kept += node.batch_bytes;
    } else {
      needed = kernels::scratch_bytes(group.spec, group.extents.begin());
    }
    most = std::max(most, needed);
  }
  chain.resident_bytes = kept;
  return most;
}

bool ChainDraft::fit_panel(Bytes scratchpad, Chain& chain) const {
  const Bytes taken = place_batches(scratchpad, chain) + chain.resident_bytes;
  std::int64_t row_bytes = 0;
  for (const Chain::Resident& r : chain.residents) row_bytes += r.row_bytes;
  // Half a scratchpad, so that residents and what streams by share a second-level cache.
  const auto room = static_cast<std::int64_t>(
      std::min(scratchpad.count / 2, scratchpad.count - std::min(scratchpad, taken).count));
  chain.panel_rows = std::min(chain.rows.back(), kPanelRows);
  if (row_bytes != 0) chain.panel_rows = std::min(chain.panel_rows, room / row_bytes);
  if (chain.panel_rows < std::min(chain.rows.back(), kLeastRows)) return false;
  // Cores should not be idle: rather small panels than few.
  const std::int64_t runs = chain.rows.numel() / chain.rows.back(),
                     wanted = (kEnoughPanels + runs - 1) / runs,
                     small = (chain.rows.back() + wanted - 1) / wanted;
  chain.panel_rows = std::clamp(small, std::min(kLeastRows, chain.panel_rows), chain.panel_rows);
  chain.panel_rows = (chain.rows.back() + chain.panels_per_run() - 1) / chain.panels_per_run();
  // All of them live as long as the panel does.
  std::vector<ScratchpadTenant> tenants;
  for (const Chain::Resident& r : chain.residents)
    tenants.push_back({Bytes{static_cast<std::uint64_t>(r.row_bytes * chain.panel_rows)}});
  const std::uint64_t kept = chain.resident_bytes.count;
  const ScratchpadPlan plan = plan_scratchpad(tenants, scratchpad);
  for (std::size_t i = 0; i < tenants.size(); ++i) {
    if (!plan.offsets[i]) return false;
    chain.residents[i].offset = kept + *plan.offsets[i];
  }
  chain.resident_bytes += plan.used;
  return true;
}

std::optional<Group> ChainDraft::build(const Plan& plan, Bytes scratchpad) const {
  if (members_.size() < 2) return std::nullopt;
  Chain chain{.rows = rows_};
  std::uint64_t macs = 0;
  for (const std::size_t m : members_) {
    const Group& group = plan.groups[m];
    if (group.library) {
      const Node& node = node_of(graph_, group);
      const Dims &left = graph_.library_sizes[node.first_operand],
                 &out = graph_.library_sizes[node.first_operand + node.input_count];
      macs += static_cast<std::uint64_t>(out.numel() * left.back());
      chain.stages.push_back({.group = group});
    } else {
      chain.stages.push_back(panel_stage(group, *row_loops(group, rows_)));
    }
  }
  place_residents(plan, chain);
  if (chain.residents.empty() || !fit_panel(scratchpad, chain)) return std::nullopt;
  if (chain.panels() < kEnoughPanels && macs > kTinyMacs) return std::nullopt;
  return as_group(plan, std::move(chain));
}

Group ChainDraft::as_group(const Plan& plan, Chain chain) const {
  Group group;
  for (const std::size_t m : members_) {
    const Group& member = plan.groups[m];
    group.nodes.insert(group.nodes.end(), member.nodes.begin(), member.nodes.end());
    group.work.lane_ops += member.work.lane_ops;
    group.refusal = member.refusal;
    group.refused = member.refused;
  }
  std::ranges::sort(group.nodes);
  group.chain = std::make_shared<const Chain>(std::move(chain));
  return group;
}

}  // namespace spyre::lazy
