// spyre/kernels/code_memory_test.cpp — code is never writable where it runs, and its memory comes back.
#include "code_memory.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "spec_builder.h"
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

KernelSpec negation() {
  SpecBuilder b(Form::Pointwise);
  b.store(b.apply("neg", DType::F32, {b.load(DType::F32)}), DType::F32);
  return b.spec();
}

TEST(CodeMemoryTest, NoPageIsWritableAndExecutable) {
  const std::unique_ptr<Kernel> kernel = compile(negation(), Isa::Avx2);
  std::ifstream maps("/proc/self/maps");
  bool executable_found = false;
  for (std::string line; std::getline(maps, line);) {
    const std::string access = line.substr(line.find(' ') + 1, 4);
    EXPECT_FALSE(access[1] == 'w' && access[2] == 'x') << line;
    executable_found |= access[2] == 'x';
  }
  EXPECT_TRUE(executable_found);
}

TEST(CodeMemoryTest, FreedCodeIsUsedAgain) {
  for (int i = 0; i < 1000; ++i) compile(negation(), Isa::Avx2);
  const auto statistics = CodeMemory::shared()->runtime().allocator()->statistics();
  EXPECT_LT(statistics.usedSize(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace spyre::kernels
