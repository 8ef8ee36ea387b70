// spyre/lazy/host_machine.h — runs plans on host memory. For *_test.cpp only.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "spyre/kernels/kernel.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {

/// One byte vector per buffer. Confined to one thread.
struct HostMachine {
  std::vector<std::vector<std::byte>> memory;
  kernels::Execution execution = kernels::Execution::Scalar;

  /// Library groups copy their first input's bytes to their first output.
  void run(const Plan& plan, const std::vector<std::uint64_t>& params) {
    for (const Group& group : plan.groups) {
      if (group.library) copy(plan.graph, plan.graph.nodes[group.nodes[0]]);
      else run(group, params);
    }
  }

 private:
  static constexpr std::uint64_t kAlignment = 64;

  void run(const Group& group, const std::vector<std::uint64_t>& params) {
    std::vector<std::uint64_t> bases, arguments;
    for (const Binding& b : group.bindings) {
      if (b.kind == Binding::Kind::Iota) bases.push_back(params[b.index]);
      else bases.push_back(reinterpret_cast<std::uint64_t>(memory[b.index].data() + b.offset));
    }
    for (const std::uint32_t slot : group.params) arguments.push_back(params[slot]);
    const auto kernel = execution == kernels::Execution::Scalar
                            ? kernels::interpret(group.spec)
                            : kernels::compile(group.spec, kernels::best_isa());
    const std::uint64_t needed = kernel->scratch_bytes(group.extents.begin()).count + kAlignment;
    std::vector<std::byte> scratch(needed);
    std::byte* aligned =
        scratch.data() +
        (kAlignment - reinterpret_cast<std::uintptr_t>(scratch.data()) % kAlignment);
    kernel->run({bases.data(), group.extents.begin(), group.strides.data(), arguments.data()}, 0,
                kernel->work_items(group.extents.begin()), aligned);
  }

  void copy(const Graph& graph, const Node& node) {
    const auto &from = memory[graph.inputs(node)[0].index], &to = memory[graph.output(node).index];
    const std::vector<std::byte> bytes(
        from.begin(), from.begin() + static_cast<std::ptrdiff_t>(std::min(from.size(), to.size())));
    std::ranges::copy(bytes, memory[graph.output(node).index].begin());
  }
};

}  // namespace spyre::lazy
