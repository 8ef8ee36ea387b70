// spyre/kernels/asmjit_stderr.h — lets Debian's static asmjit be linked into a shared library.
#pragma once

namespace spyre::kernels {

/// Gives asmjit its `stderr`. Called before asmjit is used; it also makes the linker keep the symbol's file.
void provide_asmjit_stderr();

}  // namespace spyre::kernels
