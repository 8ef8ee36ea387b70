// spyre/engine/settings.cpp — words to settings and back; the words stand in base/env's table and nowhere else.
#include "spyre/engine/settings.h"

#include <optional>

#include "spyre/base/env.h"
#include "spyre/base/log.h"
#include "spyre/base/text.h"

namespace spyre::engine {
namespace {

std::optional<std::size_t> position_in(std::string_view grammar, std::string_view word) {
  for (std::size_t position = 0;; ++position) {
    const std::size_t end = grammar.find('|');
    if (grammar.substr(0, end) == word) return position;
    if (end == std::string_view::npos) return std::nullopt;
    grammar.remove_prefix(end + 1);
  }
}

std::size_t choice_named(Env variable, const std::string& name) {
  const EnvRow& row = env_row(variable);
  if (const auto position = position_in(row.grammar, name)) return *position;
  throw InvalidArgument(
      str("config: got \"", name, "\"; expected ", row.grammar, " (", row.meaning, ")"));
}

std::string_view word_at(Env variable, std::size_t position) {
  std::string_view grammar = env_row(variable).grammar;
  while (position-- > 0) grammar.remove_prefix(grammar.find('|') + 1);
  return grammar.substr(0, grammar.find('|'));
}

constexpr std::size_t kAuto = 0;  // auto|avx2|avx512

kernels::Isa isa_at(std::size_t position) {
  const kernels::Isa best = kernels::best_isa();
  if (position == kAuto) return best;
  const auto asked = static_cast<kernels::Isa>(position - 1);
  if (asked > best) {
    throw Unsupported(str("SPYRE_ISA: got ", name_of(asked), "; this CPU has no more than ",
                          name_of(best), "; try SPYRE_ISA=auto"));
  }
  return asked;
}

}  // namespace

lazy::Settings settings_from_environment() {
  check_environment();
  check_log();
  lazy::Settings settings;
  settings.mode = env_choice_as<lazy::Mode>(Env::Mode);
  settings.execution = env_choice_as<kernels::Execution>(Env::Exec);
  settings.isa = isa_at(env_choice(Env::Isa));
  settings.numerics = env_choice_as<kernels::Numerics>(Env::Numerics);
  settings.max_nodes = static_cast<std::uint32_t>(env_integer(Env::MaxNodes));
  settings.max_pending = env_size(Env::MaxPending);
  settings.plan_cache = env_size(Env::PlanCache);
  settings.kernel_cache = env_size(Env::KernelCache);
  settings.passes = env_text(Env::Passes);
  settings.verify = env_switch(Env::Verify);
  settings.sync = env_switch(Env::Sync);
  settings.dump_directory = env_text(Env::Dump);
  return settings;
}

FallbackPolicy fallback_policy_from_environment() {
  return env_choice_as<FallbackPolicy>(Env::Fallback);
}

lazy::Mode mode_named(const std::string& name) {
  return static_cast<lazy::Mode>(choice_named(Env::Mode, name));
}
kernels::Execution execution_named(const std::string& name) {
  return static_cast<kernels::Execution>(choice_named(Env::Exec, name));
}
kernels::Numerics numerics_named(const std::string& name) {
  return static_cast<kernels::Numerics>(choice_named(Env::Numerics, name));
}
kernels::Isa isa_named(const std::string& name) { return isa_at(choice_named(Env::Isa, name)); }
FallbackPolicy fallback_policy_named(const std::string& name) {
  return static_cast<FallbackPolicy>(choice_named(Env::Fallback, name));
}

std::string_view name_of(lazy::Mode mode) {
  return word_at(Env::Mode, static_cast<std::size_t>(mode));
}
std::string_view name_of(kernels::Execution execution) {
  return word_at(Env::Exec, static_cast<std::size_t>(execution));
}
std::string_view name_of(kernels::Isa isa) {
  return word_at(Env::Isa, static_cast<std::size_t>(isa) + 1);
}
std::string_view name_of(kernels::Numerics numerics) {
  return word_at(Env::Numerics, static_cast<std::size_t>(numerics));
}
std::string_view name_of(FallbackPolicy policy) {
  return word_at(Env::Fallback, static_cast<std::size_t>(policy));
}

}  // namespace spyre::engine
