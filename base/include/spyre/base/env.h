// spyre/base/env.h — every environment variable that the project reads: one table, typed access.
//
// The only getenv of the tree is behind this header. A variable that is unset or empty has its
// default; a value outside the grammar throws InvalidArgument with the grammar and an example.
// Values are read at each call.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "spyre/base/bytes.h"

namespace spyre {

/// In the order of the table.
enum class Env : std::uint8_t {
  Mode,
  Exec,
  Isa,
  Numerics,
  Fallback,
  Log,
  Debug,
  RuntimeLog,
  LogFile,
  Dump,
  Passes,
  Verify,
  Sync,
  MaxNodes,
  MaxPending,
  PlanCache,
  KernelCache,
  Cores,
  Threads,
  WorldSize,
  Devices,
  LocalRank,
  DeviceMemory,
  DeviceSpec,
  DeviceFunction,
  Clock,
  Poison,
  DowncastWarn,
  HostStreams,
  CorrectionDepth,
  LxFraction,
  LxPlanning,
  CompilePasses,
  CompileFallback,
  Metrics,
  FailureReports,
  FailureFolder,
};

struct EnvRow {
  /// Choice: the grammar's words in order. Integer: low..high. Size: a number and a unit. Text:
  /// checked by its reader.
  enum class Kind : std::uint8_t { Choice, Integer, Size, Text };
  Env variable;
  Kind kind;
  std::string_view name, fallback, grammar, example, meaning;
  std::int64_t low = 0, high = 0;
};

/// The whole table, for documentation and tests.
std::span<const EnvRow> env_table();
const EnvRow& env_row(Env variable);

/// Set to something else than the empty string.
bool env_is_set(Env variable);
/// The position of the chosen word in the row's grammar: SPYRE_MODE=eager is 1.
std::size_t env_choice(Env variable);
/// A choice as an enumeration whose enumerators stand in the grammar's order.
template <class Enumeration> Enumeration env_choice_as(Env variable) {
  return static_cast<Enumeration>(env_choice(variable));
}
/// A choice 0|1.
inline bool env_switch(Env variable) { return env_choice(variable) == 1; }
std::int64_t env_integer(Env variable);
Bytes env_size(Env variable);
std::string env_text(Env variable);

/// Throws as the accessors do, for the first variable whose value is outside its grammar.
void check_environment();
/// For readers of Text rows: throws InvalidArgument with the row's grammar and example.
[[noreturn]] void reject_env_value(Env variable, std::string_view value, std::string_view why);

}  // namespace spyre
