// spyre/lazy/plan_compiler.h — from a trace to its launch plan: graph, passes, memory, kernels,
// arguments.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "spyre/kernels/kernel_cache.h"
#include "spyre/lazy/launch_plan.h"
#include "spyre/lazy/pipeline.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

struct CompileOptions {
  PipelineOptions pipeline;
  kernels::Execution execution{};
  kernels::Isa isa{};
  kernels::Numerics numerics{};
  int cores = 32;  // that the work of a step is divided over, for its price
  /// Called with "trace", "fused", "plan" and "asm" and their text, if set.
  std::function<void(std::string_view what, const std::string& text)> dump;
};

/// Throws Unsupported or InternalError; nothing is left half done.
std::shared_ptr<const LaunchPlan> compile_plan(const Trace& trace,
                                               std::span<const BufferFacts> facts,
                                               kernels::KernelCache& kernels,
                                               const CompileOptions& options);

}  // namespace spyre::lazy
