// spyre/engine/source.h — where the running Python line comes from; python/ provides it.
#pragma once
#include <cstdint>
#include <string>

namespace spyre::engine {

/// Finds the Python line that runs now, and names lines found before. Plain functions: python/ has no state here.
struct SourceProvider {
  std::uint32_t (*current)() = nullptr;              // 0: none
  std::string (*describe)(std::uint32_t) = nullptr;  // "file.py:12 in function"
};

void set_source_provider(SourceProvider provider);
/// Empty for 0 and for unknown numbers.
std::string describe_source(std::uint32_t source);

}  // namespace spyre::engine
