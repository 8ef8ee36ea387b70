// spyre/kernels/register_need.cpp — see register_need.h.
#include "register_need.h"

#include <algorithm>

namespace spyre::kernels {
namespace {

bool takes_registers(const MicroInstruction& in, const KernelSpec& spec) {
  if (in.op == Micro::Const) return false;
  if (in.op != Micro::Input) return true;
  return in.imm < spec.steps.size() && spec.steps[in.imm].level == Level::Element;
}

}  // namespace

RegisterNeed register_need(const Segment& segment, const KernelSpec& spec) {
  const MicroProgram& program = segment.program;
  std::vector<std::size_t> last(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    last[i] = i;
    MicroInstruction in = program[i];
    each_operand(in, [&](std::uint16_t operand) { last[operand] = i; });
  }
  segment.each_output([&](std::uint16_t i) { last[i] = program.size(); });
  std::vector<RegisterNeed> ending(program.size() + 1);
  RegisterNeed alive, most;
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (takes_registers(program[i], spec)) {
      const Lane lane = program[i].lane;
      RegisterNeed& end = ending[last[i]];
      int& count = lane == Lane::Mask ? alive.masks : alive.vectors;
      int& ends = lane == Lane::Mask ? end.masks : end.vectors;
      const int registers = lane == Lane::F64 || lane == Lane::I64 ? 2 : 1;
      count += registers;
      ends += registers;
    }
    // A result may take the place of an operand that ends here.
    alive.vectors -= ending[i].vectors;
    alive.masks -= ending[i].masks;
    most.vectors = std::max(most.vectors, alive.vectors);
    most.masks = std::max(most.masks, alive.masks);
  }
  return most;
}

}  // namespace spyre::kernels
