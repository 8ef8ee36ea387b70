// spyre/kernels/code_memory.cpp — asmjit's allocator with dual mapping.
#include "code_memory.h"

#include "asmjit_stderr.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

asmjit::JitAllocator::CreateParams pool_parameters() {
  asmjit::JitAllocator::CreateParams parameters;
  parameters.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  parameters.blockSize = 1U << 20;
  return parameters;
}

}  // namespace

CodeMemory::CodeMemory()
    : runtime_([] {
        static const asmjit::JitAllocator::CreateParams parameters = pool_parameters();
        return &parameters;
      }()) {}

std::shared_ptr<CodeMemory> CodeMemory::shared() {
  static const std::shared_ptr<CodeMemory> memory = [] {
    provide_asmjit_stderr();
    return std::make_shared<CodeMemory>();
  }();
  return memory;
}

CodeBlock::CodeBlock(std::shared_ptr<CodeMemory> memory, asmjit::CodeHolder& code)
    : memory_(std::move(memory)) {
  const asmjit::Error error = memory_->runtime().add(&function_, &code);
  if (error != asmjit::kErrorOk)
    throw InternalError(
        str("kernel: no executable memory: ", asmjit::DebugUtils::errorAsString(error)));
  size_ = code.codeSize();
}

CodeBlock::~CodeBlock() { memory_->runtime().release(function_); }

}  // namespace spyre::kernels
