// spyre/lazy/plan_dump.h — SPYRE_DUMP: the files of one compiled plan, 0001.trace.txt, .fused.txt,
// .dot, .plan.txt, .asm.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace spyre::lazy {

/// Makes the directory, if it is named and not there. Throws InvalidArgument if files cannot go
/// there.
void check_dump_directory(const std::string& directory);

/// Writes each text to its own file; a file that cannot be written is logged, never thrown. A
/// value.
class PlanDump {
 public:
  PlanDump(std::string directory, std::uint32_t number);
  void operator()(std::string_view what, const std::string& text) const;

 private:
  std::string stem_;
};

}  // namespace spyre::lazy
