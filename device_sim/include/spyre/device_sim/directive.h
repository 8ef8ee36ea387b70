// spyre/device_sim/directive.h — which memory domains are to serve, and what then lies where.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "spyre/base/bytes.h"

namespace spyre::device_sim {

/// Which memory domains may serve a request.
enum class MemoryPolicy : std::uint8_t {
  Default,     // any
  Bind,        // the named ones only
  Preferred,   // the named ones first
  Interleave,  // one piece in each of the named ones (none named: in all); all pieces or none
};
std::string_view name_of(MemoryPolicy policy);
/// Throws InvalidArgument for another name than those.
MemoryPolicy memory_policy_named(std::string_view name);

/// How an allocation is to be placed. A value.
struct Directive {
  MemoryPolicy policy{};
  std::vector<std::uint16_t> domains = {};
  friend bool operator==(const Directive&, const Directive&) = default;
};

/// " (bind memory domains 2)", for messages; empty for the default.
std::string text_of(const Directive& directive);
/// Throws InvalidArgument if a card of so many domains cannot follow it.
void check(const Directive& directive, std::uint16_t domains);

/// What one domain holds of an allocation.
struct DomainShare {
  std::uint16_t domain = 0;
  Bytes begin, end;
  friend bool operator==(const DomainShare&, const DomainShare&) = default;
};

/// An interleaved allocation of `size` bytes, in order: equal parts of whole blocks, the last one
/// shorter; no empty ones. `domains`: of the card, which are taken if none is named.
std::vector<DomainShare> interleaved(Bytes size, const std::vector<std::uint16_t>& named,
                                     std::uint16_t domains);

/// Bytes that move between cores and memory, by domain. What a directive leaves open is taken to be
/// spread evenly over the domains that it admits: where it really is may depend on when memory was
/// given back, and no time that a card is said to take may. Confined to one thread.
class DomainTraffic {
 public:
  explicit DomainTraffic(std::uint16_t domains) : bytes_(domains) {}

  /// Within [begin, end) of an allocation.
  struct Moved {
    Bytes begin, end;
    std::uint64_t bytes = 0;
  };
  void add(const Directive& directive, Bytes size, const Moved& moved);
  const std::vector<std::uint64_t>& bytes() const { return bytes_; }

 private:
  std::uint16_t domains() const { return static_cast<std::uint16_t>(bytes_.size()); }
  void spread(const std::vector<std::uint16_t>& named, std::uint64_t bytes);

  std::vector<std::uint64_t> bytes_;
};

}  // namespace spyre::device_sim
