// spyre/kernels/emitter.cpp — one function around a loop nest; asmjit allocates its registers.
#include "emitter.h"

#include "avx2_isa.h"
#include "avx512_isa.h"
#include "loop_nest.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::kernels {
namespace {

/// Keeps the first complaint; asmjit itself must not be thrown through.
class FirstError final : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error error, const char* message, asmjit::BaseEmitter*) override {
    if (error_ == asmjit::kErrorOk) message_ = message;
    if (error_ == asmjit::kErrorOk) error_ = error;
  }
  void raise_if_any() const {
    if (error_ != asmjit::kErrorOk) throw InternalError(str("kernel emission: ", message_));
  }

 private:
  asmjit::Error error_ = asmjit::kErrorOk;
  std::string message_;
};

std::unique_ptr<LoopNest> make_loop_nest(const LoweredKernel& kernel, VectorIsa& isa,
                                         x86::Gp frame) {
  switch (kernel.spec.form) {
    case Form::Row: return make_row_program(kernel, isa, frame);
    case Form::Column: return make_column_program(kernel, isa, frame);
    default: return make_pointwise_loop(kernel, isa, frame);
  }
}

void generate(const LoweredKernel& kernel, Isa isa_name, asmjit::CodeHolder& code) {
  FirstError errors;
  code.setErrorHandler(&errors);
  x86::Compiler compiler(&code);
  if (code.logger() != nullptr)
    compiler.addDiagnosticOptions(asmjit::DiagnosticOptions::kRAAnnotate);
  asmjit::FuncNode* function = compiler.addFunc(asmjit::FuncSignatureT<void, CallFrame*>());
  function->frame().setAvxEnabled();
  function->frame().setAvxCleanup();
  if (isa_name == Isa::Avx512) function->frame().setAvx512Enabled();
  const x86::Gp frame = compiler.newIntPtr("frame");
  function->setArg(0, frame);
  const std::unique_ptr<VectorIsa> isa = make_vector_isa(isa_name, compiler);
  make_loop_nest(kernel, *isa, frame)->emit();
  compiler.endFunc();
  compiler.finalize();
  errors.raise_if_any();
  code.resetErrorHandler();
}

}  // namespace

std::unique_ptr<VectorIsa> make_vector_isa(Isa isa, x86::Compiler& compiler) {
  if (isa == Isa::Avx512) return std::make_unique<Avx512Isa>(compiler);
  return std::make_unique<Avx2Isa>(compiler);
}

std::unique_ptr<CodeBlock> emit(const LoweredKernel& kernel, Isa isa) {
  const std::shared_ptr<CodeMemory> memory = CodeMemory::shared();
  asmjit::CodeHolder code;
  code.init(memory->runtime().environment());
  generate(kernel, isa, code);
  return std::make_unique<CodeBlock>(memory, code);
}

std::string emit_listing(const LoweredKernel& kernel, Isa isa) {
  asmjit::CodeHolder code;
  asmjit::StringLogger logger;
  code.init(CodeMemory::shared()->runtime().environment());
  code.setLogger(&logger);
  generate(kernel, isa, code);
  return {logger.data(), logger.dataSize()};
}

}  // namespace spyre::kernels
