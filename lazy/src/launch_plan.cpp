// spyre/lazy/launch_plan.cpp — the size and the printed form of a launch plan.
#include "spyre/lazy/launch_plan.h"

#include <array>
#include <sstream>
#include <string_view>

namespace spyre::lazy {
namespace {

constexpr std::uint64_t kProgramBytes = 128;  // about what one program object takes

std::string_view name_of(Placement::Kind kind) {
  static constexpr std::array<std::string_view, 6> kNames{"none",    "given", "new",
                                                          "donated", "lent",  "arena"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace

Bytes LaunchPlan::bytes() const {
  std::uint64_t n = sizeof(LaunchPlan) + placements.size() * sizeof(Placement) +
                    placed.size() * sizeof(placed[0]) + image.size() * sizeof(image[0]) +
                    addresses.size() * sizeof(AddressPatch) + params.size() * sizeof(ParamPatch) +
                    headers.size() * sizeof(headers[0]);
  for (const LaunchStep& step : steps)
    n += sizeof(LaunchStep) + step.name.size() + step.touches.size() * sizeof(Touch) +
         step.nodes.size() * sizeof(step.nodes[0]) + kProgramBytes;
  return {n};
}

std::string print(const LaunchPlan& plan) {
  std::ostringstream out;
  for (std::size_t b = 0; b < plan.placements.size(); ++b) {
    const Placement& p = plan.placements[b];
    out << 'b' << b << ": " << name_of(p.kind);
    if (p.kind == Placement::Kind::Donated || p.kind == Placement::Kind::Lent)
      out << " by b" << p.donor;
    if (p.kind == Placement::Kind::Arena) out << " +" << p.offset;
    out << '\n';
  }
  out << "arena: " << plan.arena
      << ", arguments: " << Bytes{plan.image.size() * sizeof(std::uint64_t)} << '\n';
  for (const LaunchStep& step : plan.steps) {
    out << step.name << " (";
    for (std::size_t i = 0; i < step.touches.size(); ++i) {
      const Touch& t = step.touches[i];
      out << (i == 0 ? "" : ", ") << (t.write ? "writes b" : "reads b") << t.buffer << '['
          << t.begin << ", " << t.end << ')';
    }
    out << ")\n";
  }
  return std::move(out).str();
}

}  // namespace spyre::lazy
