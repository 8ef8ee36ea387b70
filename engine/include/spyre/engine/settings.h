// spyre/engine/settings.h — what the environment and torch.spyre.config() decide.
#pragma once
#include <string>

#include "spyre/lazy/device.h"

namespace spyre::engine {

enum class FallbackPolicy : std::uint8_t {
  Allow,
  Warn,
  Error
};  // SPYRE_FALLBACK, in its grammar's order

/// Reads and checks the whole environment; throws InvalidArgument with the grammar of the first bad variable.
lazy::Settings settings_from_environment();
FallbackPolicy fallback_policy_from_environment();

/// "lazy", "eager"; "vector", "scalar", "null"; "ieee", "card"; "avx2", "avx512", "auto"; "allow", "warn", "error".
/// Throw InvalidArgument naming the choices.
lazy::Mode mode_named(const std::string& name);
kernels::Execution execution_named(const std::string& name);
kernels::Numerics numerics_named(const std::string& name);
kernels::Isa isa_named(const std::string& name);  // also throws Unsupported if this CPU lacks it
FallbackPolicy fallback_policy_named(const std::string& name);

std::string_view name_of(lazy::Mode mode);
std::string_view name_of(kernels::Execution execution);
std::string_view name_of(kernels::Isa isa);
std::string_view name_of(kernels::Numerics numerics);
std::string_view name_of(FallbackPolicy policy);

}  // namespace spyre::engine
