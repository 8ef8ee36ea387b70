// spyre/lazy/key.cpp — the trace's arrays are canonical already; the key is their concatenation,
// with lengths.
#include "spyre/lazy/key.h"

#include <array>
#include <cstring>

#include "buffer_access.h"

namespace spyre::lazy {
namespace {

/// Facts of one buffer in one word: bytes in the high bits, flags below. Sizes stay under 2^62.
std::uint64_t packed(const BufferFacts& facts) {
  return facts.bytes << 2 | std::uint64_t{facts.observable} << 1 |
         std::uint64_t{facts.written_before};
}

template <class T> std::byte* put(std::byte* at, std::span<const T> values) {
  if (!values.empty()) std::memcpy(at, values.data(), values.size_bytes());
  return at + values.size_bytes();
}

}  // namespace

void collect_facts(const Trace& trace, std::vector<BufferFacts>& facts) {
  facts.clear();
  for (const BufferUse& use : trace.buffers())
    // A buffer of another serial is also used by the nodes behind a cut: they will read it.
    facts.push_back({use.buffer->size().count, use.buffer->observable() || !trace.uses(*use.buffer),
                     BufferAccess::has_memory(*use.buffer)});
}

std::span<const std::byte> KeyBuilder::build(const Trace& trace, std::span<const BufferFacts> facts,
                                             std::span<const std::byte> settings) {
  const std::span<const std::int64_t> geometry = trace.geometries().words();
  const std::array<std::uint64_t, 6> lengths{settings.size(),     trace.nodes().size(),
                                             trace.wide().size(), geometry.size(),
                                             facts.size(),        trace.attributes().size()};
  bytes_.resize(sizeof lengths + settings.size() + trace.nodes().size_bytes() +
                trace.wide().size_bytes() + geometry.size_bytes() +
                facts.size() * sizeof(std::uint64_t) + trace.attributes().size());
  std::byte* at = put(bytes_.data(), std::span<const std::uint64_t>(lengths));
  const auto part = [](const std::byte* from, const std::byte* to) { return std::span(from, to); };
  const std::byte* begin = at;
  at = put(put(put(at, trace.nodes()), trace.wide()), trace.attributes());
  parts_.program = part(begin, at);
  begin = at;
  at = put(at, geometry);
  parts_.geometry = part(begin, at);
  begin = at;
  for (const BufferFacts& f : facts) {
    const std::uint64_t word = packed(f);
    at = put(at, std::span<const std::uint64_t>(&word, 1));
  }
  parts_.buffers = part(begin, at);
  at = put(at, settings);
  parts_.settings = part(at - settings.size(), at);
  return bytes_;
}

}  // namespace spyre::lazy
