// spyre/lazy/key.cpp — the trace's arrays are canonical already; the key is their concatenation,
// with lengths.
#include "spyre/lazy/key.h"

#include <array>
#include <cstring>

#include "buffer_access.h"

namespace spyre::lazy {
namespace {

/// Reads a key from its beginning. A value.
class Comparison {
 public:
  explicit Comparison(std::span<const std::byte> key) : at_(key.data()) {}
  template <class T> void expect(std::span<const T> values) {
    equal_ =
        equal_ && (values.empty() || std::memcmp(at_, values.data(), values.size_bytes()) == 0);
    at_ += values.size_bytes();
  }
  /// Words that are computed one after the other, all of them before anything is decided.
  template <class Word> void expect_each(std::size_t count, Word&& word) {
    std::uint64_t differing = 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t stored;
      std::memcpy(&stored, at_ + i * sizeof stored, sizeof stored);
      differing |= stored ^ word(i);
    }
    equal_ = equal_ && differing == 0;
    at_ += count * sizeof(std::uint64_t);
  }
  bool equal() const { return equal_; }

 private:
  const std::byte* at_;
  bool equal_ = true;
};

BufferFacts facts_of(Buffer& buffer, std::uint64_t serial) {
  // A buffer of another serial is also used by the nodes behind a cut: they will read it.
  return {buffer.size().count, buffer.observable() || BufferAccess::trace_serial(buffer) != serial,
          BufferAccess::has_memory(buffer), BufferAccess::directive(buffer)};
}

/// Facts of one buffer in one word: its directive in the high bits, then its bytes, which stay under
/// 2^46, then flags.
std::uint64_t packed(const BufferFacts& facts) {
  return std::uint64_t{facts.directive} << 48 | facts.bytes << 2 |
         std::uint64_t{facts.observable} << 1 | std::uint64_t{facts.written_before};
}

using Lengths = std::array<std::uint64_t, 6>;

Lengths lengths_of(const Trace& trace, std::size_t buffers, std::size_t settings) {
  return {
      settings, trace.nodes().size(),     trace.wide().size(), trace.geometries().words().size(),
      buffers,  trace.attributes().size()};
}

std::size_t key_bytes(const Trace& trace, const Lengths& lengths) {
  return sizeof lengths + lengths[0] + trace.nodes().size_bytes() + trace.wide().size_bytes() +
         trace.geometries().words().size_bytes() + lengths[4] * sizeof(std::uint64_t) + lengths[5];
}

template <class T> std::byte* put(std::byte* at, std::span<const T> values) {
  if (!values.empty()) std::memcpy(at, values.data(), values.size_bytes());
  return at + values.size_bytes();
}

}  // namespace

void collect_facts(const Trace& trace, std::vector<BufferFacts>& facts) {
  const std::span<const BufferUse> buffers = trace.buffers();
  facts.resize(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i)
    facts[i] = facts_of(*buffers[i].buffer, trace.serial());
}

bool KeyBuilder::is_key(std::span<const std::byte> key, const Trace& trace,
                        std::span<const std::byte> settings) {
  const std::span<const BufferUse> buffers = trace.buffers();
  const Lengths lengths = lengths_of(trace, buffers.size(), settings.size());
  if (key.size() != key_bytes(trace, lengths)) return false;
  Comparison same(key);
  same.expect(std::span<const std::uint64_t>(lengths));
  if (!same.equal()) return false;  // the parts' places follow from the lengths
  same.expect(trace.nodes());
  same.expect(trace.wide());
  same.expect(trace.attributes());
  same.expect(trace.geometries().words());
  same.expect_each(buffers.size(), [&, serial = trace.serial()](std::size_t b) {
    return packed(facts_of(*buffers[b].buffer, serial));
  });
  same.expect(settings);
  return same.equal();
}

std::span<const std::byte> KeyBuilder::build(const Trace& trace, std::span<const BufferFacts> facts,
                                             std::span<const std::byte> settings) {
  const std::span<const std::int64_t> geometry = trace.geometries().words();
  const Lengths lengths = lengths_of(trace, facts.size(), settings.size());
  bytes_.resize(key_bytes(trace, lengths));
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
