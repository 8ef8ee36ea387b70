// spyre/kernels/code_memory.h — pooled executable memory that is never writable where it is executable.
#pragma once
#include <asmjit/x86.h>

#include <cstddef>
#include <memory>

#include "call_frame.h"

namespace spyre::kernels {

/// One pool per process: pages hold many kernels, and are mapped twice, once to write and once to run.
/// Internally synchronized.
class CodeMemory {
 public:
  CodeMemory();
  CodeMemory(const CodeMemory&) = delete;
  CodeMemory& operator=(const CodeMemory&) = delete;

  /// The pool that all kernels share; it lives as long as any of them.
  static std::shared_ptr<CodeMemory> shared();

  asmjit::JitRuntime& runtime() { return runtime_; }

 private:
  asmjit::JitRuntime runtime_;
};

/// Owns the code of one kernel; frees it when destroyed. Immutable.
class CodeBlock {
 public:
  /// Copies finished code into the pool. Throws InternalError if the pool refuses.
  CodeBlock(std::shared_ptr<CodeMemory> memory, asmjit::CodeHolder& code);
  ~CodeBlock();
  CodeBlock(const CodeBlock&) = delete;
  CodeBlock& operator=(const CodeBlock&) = delete;

  CompiledFunction function() const { return function_; }
  std::size_t size() const { return size_; }

 private:
  std::shared_ptr<CodeMemory> memory_;  // shared with every other block
  CompiledFunction function_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace spyre::kernels
