// spyre/lazy/key.h — the canonical bytes of a finished trace: everything that its plan may depend
// on.
//
// In the key: nodes, operands (buffers numbered by first use), geometry, library attributes, what
// is known of each buffer at both ends of the trace, and the settings that change plans. Not in it:
// scalar values, first values of counters, addresses, source lines.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "spyre/base/hash.h"
#include "spyre/lazy/graph.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// What the plan may know of each buffer of the trace, in the table's order. Taken once per plan: other
/// threads may drop owners at any time.
void collect_facts(const Trace& trace, std::vector<BufferFacts>& facts);

/// The same key in parts, for saying which part is new.
struct KeyParts {
  std::span<const std::byte> program;  // nodes, wide operands and attributes
  std::span<const std::byte> geometry, buffers, settings;
};

/// Builds keys into the same bytes again and again. Confined to the holder of the device's lock.
class KeyBuilder {
 public:
  /// `settings`: canonical bytes of the settings that change plans. The result is valid until the
  /// next build.
  std::span<const std::byte> build(const Trace& trace, std::span<const BufferFacts> facts,
                                   std::span<const std::byte> settings);
  /// True if build() of the same, with the facts of this moment, would give `key`; neither copies nor hashes.
  static bool is_key(std::span<const std::byte> key, const Trace& trace,
                     std::span<const std::byte> settings);
  /// Of the key built last.
  const KeyParts& parts() const { return parts_; }

 private:
  std::vector<std::byte> bytes_;
  KeyParts parts_;
};

}  // namespace spyre::lazy
