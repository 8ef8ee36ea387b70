// spyre/lazy/miss_history.cpp — hashes of growing prefixes of the key's parts: the first unknown
// one is the cause.
#include "miss_history.h"

#include <array>

namespace spyre::lazy {

std::string_view name_of(MissCause cause) {
  static constexpr std::array<std::string_view, kMissCauseCount> kNames{
      "new_program", "new_shapes", "new_buffers", "new_settings", "forgotten"};
  return kNames[static_cast<std::size_t>(cause)];
}

MissCause MissHistory::explain(const KeyParts& parts) {
  if (seen_.size() + kMissCauseCount > kCapacity) seen_.clear();
  const std::array<std::span<const std::byte>, 4> ordered{parts.program, parts.geometry,
                                                          parts.buffers, parts.settings};
  MissCause cause = MissCause::Forgotten;
  Hash128 prefix;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const Hash128 part = hash(ordered[i]);
    const std::array<std::uint64_t, 5> chained{prefix.low, prefix.high, part.low, part.high, i};
    prefix = hash(std::as_bytes(std::span(chained)));
    if (seen_.insert(prefix).second && cause == MissCause::Forgotten)
      cause = static_cast<MissCause>(i);
  }
  return cause;
}

}  // namespace spyre::lazy
