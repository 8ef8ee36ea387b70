// spyre/lazy/card_traffic.cpp — see card_traffic.h.
#include "card_traffic.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "spyre/device_sim/data_format.h"

namespace spyre::lazy {
namespace {

using device_sim::Work;

constexpr std::uint64_t kStick = device_sim::kStick.count;

std::uint64_t distinct_bytes(const Dims& sizes, const Dims& strides, std::uint8_t element_size) {
  std::uint64_t bytes = element_size;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (strides[d] != 0) bytes *= static_cast<std::uint64_t>(sizes[d]);
  return bytes;
}

/// Goes through the members of a group in order. Confined to one call of add_card_traffic().
class TrafficCount {
 public:
  TrafficCount(const Graph& graph, const Chain* chain, Work& work)
      : graph_(graph), chain_(chain), work_(work) {}

  void add(const Group& group) {
    for (const std::uint32_t n : group.nodes) {
      const Node& node = graph_.nodes[n];
      const std::size_t operands = graph_.all_operands(node).size();
      for (std::size_t i = 0; i < operands; ++i) add(group, node, i);
    }
  }

 private:
  void add(const Group& group, const Node& node, std::size_t i) {
    const Operand& operand = graph_.all_operands(node)[i];
    if (!operand.is_view()) return;
    const bool library = node.kind == Node::Kind::Library;
    const Dims& sizes = library ? graph_.library_sizes[node.first_operand + i] : node.sizes;
    const auto bytes = [&] { return distinct_bytes(sizes, operand.strides, operand.element_size); };
    const auto padding = [&] {
      return padding_bytes(sizes, operand.strides, operand.element_size);
    };
    if (i >= node.input_count) {
      const bool stays = chain_ != nullptr && chain_->resident(operand.index) != Chain::kNone;
      if (stays || !writes(group, operand.index)) work_.passed_written += bytes();
      else if (is_new({operand.index, operand.offset}, written_))
        work_.padding_written += padding();
      if (chain_ == nullptr || stays) is_new(operand.index, made_);
    } else if (std::ranges::find(made_, operand.index) != made_.end()) {
      work_.passed_read += bytes();
    } else if (is_new({operand.index, operand.offset}, read_)) {
      work_.padding_read += padding();
    }
  }

  /// Whether it was not in the list, which it is then.
  template <class T>
  static bool is_new(const std::type_identity_t<T>& value, std::vector<T>& list) {
    const bool found = std::ranges::find(list, value) != list.end();
    if (!found) list.push_back(value);
    return !found;
  }

  /// Whether the group's own code writes the buffer; else it only passes on what it computes.
  static bool writes(const Group& group, std::uint32_t buffer) {
    return group.library || std::ranges::any_of(group.bindings, [&](const Binding& b) {
             return b.kind == Binding::Kind::Write && b.index == buffer;
           });
  }

  const Graph& graph_;
  const Chain* const chain_;
  Work& work_;
  using Window = std::pair<std::uint32_t, std::int64_t>;  // a buffer, an offset
  std::vector<std::uint32_t> made_;  // buffers of which members pass on what they wrote
  std::vector<Window> read_, written_;
};

}  // namespace

std::uint64_t padding_bytes(const Dims& sizes, const Dims& strides, std::uint8_t element_size) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  std::int64_t row = 1, rows = 1, closest = 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::int64_t stride = std::abs(strides[d]);
    if (stride == 0 || sizes[d] == 1) continue;
    rows *= sizes[d];
    if (closest != 0 && stride > closest) continue;
    closest = stride;
    row = sizes[d];
  }
  rows /= row;
  const std::uint64_t bytes = static_cast<std::uint64_t>(row) * element_size;
  return static_cast<std::uint64_t>(rows) * ((bytes + kStick - 1) / kStick * kStick - bytes);
}

void add_card_traffic(const Graph& graph, const Group& group, device_sim::Work& work) {
  TrafficCount count(graph, group.chain.get(), work);
  if (group.chain == nullptr) return count.add(group);
  for (const Stage& stage : group.chain->stages) count.add(stage.group);
}

}  // namespace spyre::lazy
