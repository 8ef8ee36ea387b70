// spyre/kernels/loop_width.cpp — how many vectors of points a loop computes side by side, and what stays in registers.
#include <algorithm>

#include "loop_nest.h"
#include "register_need.h"

namespace spyre::kernels {
namespace {

/// Registers of an instruction set, less those that single micro-ops take in passing.
int usable_registers(int lanes) { return (lanes == 16 ? 32 : 16) - 3; }
constexpr int kUsableMasks = 6;
/// Instructions that a loop may have in all its vectors together: more takes longer to compile than it gains.
constexpr int kMostInstructions = 320;
/// Programs so short are bound by memory.
constexpr int kShort = 24;

/// Rounding to a half type takes a chain of instructions after each operation; only many vectors hide how long it takes.
bool rounds(const Segment& points) {
  return std::ranges::any_of(points.program, [](const MicroInstruction& in) {
    return in.op == Micro::RoundF16 || in.op == Micro::RoundBF16 ||
           in.op == Micro::RoundBF16ShortNan;
  });
}

/// Vectors side by side that are worth having.
int most_side_by_side(const Segment& points, int lanes, int work) {
  if (lanes == 16) return work >= kShort ? 8 : 4;
  return rounds(points) ? 8 : 4;
}

/// Registers for the points of a loop beside `kept` states. Of 16 registers none are set apart: what does not fit waits in
/// the first cache, which costs less than waiting for results does, and constants are read from there anyway.
int room_for_points(int lanes, int kept) {
  return lanes == 16 ? usable_registers(lanes) - kept : 16;
}

}  // namespace

int LoopNest::work_of(const Segment& segment) {
  return static_cast<int>(std::ranges::count_if(segment.program, [](const MicroInstruction& in) {
    return in.op != Micro::Const && in.op != Micro::Input;
  }));
}

bool LoopNest::is_strided(const Segment& segment) const {
  const auto strided = [&](std::uint16_t argument) {
    const ArgumentSpec& a = kernel_.spec.arguments[argument];
    if (a.kind == ArgumentSpec::Kind::Iota) return a.inner != InnerStride::Zero;
    return a.inner == InnerStride::Any ||
           (a.kind == ArgumentSpec::Kind::Store && a.inner == InnerStride::Zero);
  };
  return std::ranges::any_of(
             segment.loads,
             [&](std::uint16_t step) { return strided(kernel_.spec.steps[step].argument); }) ||
         std::ranges::any_of(segment.stores,
                             [&](const StoreOut& store) { return strided(store.argument); });
}

/// Masks cost little beside much work, and compiling takes half as long. Partial vectors are dearer on AVX2.
int LoopNest::side_by_side(const Segment& points, int kept) const {
  const int work = work_of(points);
  if (work > (isa_.lanes() == 16 ? 150 : 400)) return 0;
  if (is_strided(points)) return 1;
  const RegisterNeed need = register_need(points, kernel_.spec);
  const int room = room_for_points(isa_.lanes(), kept);
  const int most = most_side_by_side(points, isa_.lanes(), work);
  const int masks = isa_.lanes() == 16 ? need.masks : 0;
  const int vectors = need.vectors + (isa_.lanes() == 16 ? 0 : need.masks);
  int count = 1;
  while (2 * count <= most && 2 * count * vectors <= room && 2 * count * masks <= kUsableMasks &&
         2 * count * work <= kMostInstructions)
    count *= 2;
  return count;
}

void LoopNest::park_uniforms(const Segment& points, int vectors, int kept) {
  int room = usable_registers(isa_.lanes()) - kept -
             std::max(vectors, 1) * register_need(points, kernel_.spec).vectors;
  for (const Binding& binding : kernel_.uniform.results) {
    Lanes& value = values_[binding.value];
    if (value.lane == Lane::Mask || !value.in_registers()) continue;
    room -= 1;
    if (room < 0) value = isa_.parked(value);
  }
}

}  // namespace spyre::kernels
