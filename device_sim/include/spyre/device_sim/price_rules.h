// spyre/device_sim/price_rules.h — the rules of the time model, as text with their sources.
#pragma once
#include <span>
#include <string_view>

namespace spyre::device_sim {

struct RuleRow {
  std::string_view name, formula;
  char mark;  // S: stated, M: measured on a card, E: our estimate
  std::string_view source;
};

/// In the order of price.h's Rule.
std::span<const RuleRow> price_rules();

}  // namespace spyre::device_sim
