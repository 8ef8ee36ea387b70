// spyre/kernels/asmjit_stderr.cpp — the one symbol that keeps Debian's static asmjit out of a shared library.
//
// libasmjit.a is not position independent and reaches `stderr` by a relocation that a shared object may not
// have. The linker's --wrap=stderr turns that into __wrap_stderr, which is hidden here.
#include "asmjit_stderr.h"

#include <cstdio>

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the names that --wrap makes
extern FILE* __real_stderr;
__attribute__((visibility("hidden"))) FILE* __wrap_stderr = nullptr;
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
}

namespace spyre::kernels {

void provide_asmjit_stderr() { __wrap_stderr = __real_stderr; }

}  // namespace spyre::kernels
