// spyre/kernels/emitter.h — a lowered kernel to finished machine code.
#pragma once
#include <memory>
#include <string>

#include "code_memory.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/lowering.h"

namespace spyre::kernels {

std::unique_ptr<CodeBlock> emit(const LoweredKernel& kernel, Isa isa);

/// The instructions that emit() makes, as text.
std::string emit_listing(const LoweredKernel& kernel, Isa isa);

}  // namespace spyre::kernels
