// spyre/device_sim/price.h — how long the modelled card takes for one operation, and why. Pure
// functions.
#pragma once
#include <string_view>

#include "picoseconds.h"
#include "pipeline.h"
#include "spyre/device_sim/device_spec.h"
#include "spyre/device_sim/operation.h"
#include "spyre/device_sim/price_rules.h"

namespace spyre::device_sim {

/// What an operation's time is spent on: the largest of its parts.
enum class Bound : std::uint8_t { Nothing, Memory, Matrix, Vector, Ring, Link, Host };
std::string_view name_of(Bound bound);

/// Which rule of the model gave the bounding part.
enum class Rule : std::uint8_t {
  Nothing,
  Memory,
  RowReduction,
  ColumnReduction,
  Relayout,
  Broadcast,
  FanOut,
  MemoryDomain,
  Matrix,
  BatchedMatrix,
  Projection,
  Vector,
  Ring,
  HostToDevice,
  DeviceToHost,
  HostCallback,
  DeviceToDevice,
};
const RuleRow& row_of(Rule rule);
inline constexpr std::size_t kRuleCount = static_cast<std::size_t>(Rule::DeviceToDevice) + 1;

/// The parts of a price. A card overlaps memory, arithmetic and ring; partial sums, the fixed cost
/// and the phases of a batched product come one after the other.
struct Price {
  Picoseconds total{};
  Picoseconds memory{}, matrix{}, vector{}, ring{}, partial_sums{}, fixed{};
  Bound bound{};
  Rule rule{};
  int cores = 0;  // that have a share of the work
};

/// What a price depends on.
struct Charge {
  PipelineId pipeline{};
  std::uint64_t bytes = 0;  // that a transfer moves
  Work work = {};
  bool chained = false;
  bool opens = false;  // memory for another card: takes no time
  PeerLink peer = {};  // the other card's; without a rate there is none
};
Charge charge_of(const Operation& operation);

Price price_of(const Charge& charge, const DeviceSpec& spec);
Price price_of(const Work& work, const DeviceSpec& spec);  // of a compute operation

/// Bytes that a compute operation moves between device memory and cores: its operands, what fills up
/// their sticks, and, on a card whose scratchpads are not planned, what it passes on to itself.
struct Traffic {
  std::uint64_t read = 0, written = 0;
  std::uint64_t both() const { return read + written; }
};
Traffic traffic_of(const Work& work, const DeviceSpec& spec);

/// Time in which all cores' matrix units could do the work, as a part of `elapsed`.
double matrix_utilisation(const Work& work, const DeviceSpec& spec, Picoseconds elapsed);

/// The total alone.
inline Picoseconds price(const Operation& operation, const DeviceSpec& spec) {
  return price_of(charge_of(operation), spec).total;
}
inline Picoseconds compute_price(const Work& work, const DeviceSpec& spec) {
  return price_of(work, spec).total;
}

/// What its submission costs the host.
Picoseconds host_price(const Charge& charge, const DeviceSpec& spec);

}  // namespace spyre::device_sim
