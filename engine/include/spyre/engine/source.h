// spyre/engine/source.h — where a recorded operation comes from: a Python line, or the operator that a profiler sees.
#pragma once
#include <cstdint>
#include <string>

#include "spyre/engine/profiled_op.h"

namespace spyre::engine {

/// Finds the Python line that runs now, and names lines found before. Plain functions: python/ has no state here.
struct SourceProvider {
  std::uint32_t (*current)() = nullptr;              // 0: none
  std::string (*describe)(std::uint32_t) = nullptr;  // "file.py:12 in function"
};

void set_source_provider(SourceProvider provider);
/// The Python line; empty for 0 and for unknown numbers.
std::string describe_source(std::uint32_t source);

/// The source of a record while a profiler runs, and otherwise of one that can fault: what recorded_source() is for.
std::uint32_t found_source(bool may_fault);
/// What to record of the place that records now. A line costs a frame look-up, so only operations that can fault have
/// one.
inline std::uint32_t recorded_source(bool may_fault) {
  return may_fault || profiling() ? found_source(may_fault) : 0;
}
/// The profiler's number of the operator that recorded; 0: none.
std::uint32_t profiled_op_of(std::uint32_t source);

}  // namespace spyre::engine
