// spyre/device_sim/directive.cpp — shares are whole blocks, and the same for equal requests.
#include "spyre/device_sim/directive.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/block.h"

namespace spyre::device_sim {
namespace {

std::vector<std::uint16_t> all_of(std::uint16_t domains) {
  std::vector<std::uint16_t> all(domains);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  return all;
}

std::string names_of(const std::vector<std::uint16_t>& domains) {
  std::string names;
  for (const std::uint16_t domain : domains) names += str(names.empty() ? "" : ", ", domain);
  return names;
}

}  // namespace

std::string_view name_of(MemoryPolicy policy) {
  constexpr std::array<std::string_view, 4> kNames{"default", "bind", "preferred", "interleave"};
  return kNames[static_cast<std::size_t>(policy)];
}

MemoryPolicy memory_policy_named(std::string_view name) {
  for (const MemoryPolicy policy : {MemoryPolicy::Default, MemoryPolicy::Bind,
                                    MemoryPolicy::Preferred, MemoryPolicy::Interleave})
    if (name_of(policy) == name) return policy;
  throw InvalidArgument(str("memory directive: no policy '", name,
                            "'; expected default, bind, preferred or interleave"));
}

std::string text_of(const Directive& directive) {
  if (directive.policy == MemoryPolicy::Default) return "";
  const std::string named =
      directive.domains.empty() ? "" : str(" memory domains ", names_of(directive.domains));
  return str(" (", name_of(directive.policy), named, ")");
}

void check(const Directive& directive, std::uint16_t domains) {
  const std::string_view policy = name_of(directive.policy);
  const bool needs_names =
      directive.policy == MemoryPolicy::Bind || directive.policy == MemoryPolicy::Preferred;
  if (needs_names && directive.domains.empty())
    throw InvalidArgument(str("memory directive: ", policy, " names no memory domain"));
  if (directive.policy == MemoryPolicy::Default && !directive.domains.empty())
    throw InvalidArgument("memory directive: default takes no memory domains");
  for (std::size_t i = 0; i < directive.domains.size(); ++i) {
    const std::uint16_t domain = directive.domains[i];
    if (domain >= domains)
      throw InvalidArgument(
          str("memory directive: no domain ", domain, "; this card has ", domains));
    if (std::count(directive.domains.begin(),
                   directive.domains.begin() + static_cast<std::ptrdiff_t>(i), domain) != 0)
      throw InvalidArgument(str("memory directive: domain ", domain, " is named twice"));
  }
}

std::vector<DomainShare> interleaved(Bytes size, const std::vector<std::uint16_t>& named,
                                     std::uint16_t domains) {
  const std::vector<std::uint16_t> order = named.empty() ? all_of(domains) : named;
  const Bytes chunk = Bytes{(size.count + order.size() - 1) / order.size()}.rounded_up(kBlock);
  std::vector<DomainShare> shares;
  Bytes begin;
  for (const std::uint16_t domain : order) {
    if (begin >= size) break;
    const Bytes end = std::min(begin + chunk, size);
    shares.push_back({domain, begin, end});
    begin = end;
  }
  return shares;
}

void DomainTraffic::add(const Directive& directive, Bytes size, const Moved& moved) {
  if (directive.policy != MemoryPolicy::Interleave) return spread(directive.domains, moved.bytes);
  std::uint64_t left = moved.bytes;
  for (const DomainShare& share : interleaved(size, directive.domains, domains())) {
    const Bytes begin = std::max(share.begin, moved.begin), end = std::min(share.end, moved.end);
    if (begin >= end) continue;
    const auto part = static_cast<double>((end - begin).count) /
                      static_cast<double>((moved.end - moved.begin).count);
    const std::uint64_t bytes =
        end == moved.end
            ? left
            : std::min(left, static_cast<std::uint64_t>(part * static_cast<double>(moved.bytes)));
    bytes_[share.domain] += bytes;
    left -= bytes;
  }
}

void DomainTraffic::spread(const std::vector<std::uint16_t>& named, std::uint64_t bytes) {
  const std::vector<std::uint16_t> over = named.empty() ? all_of(domains()) : named;
  for (std::size_t i = 0; i < over.size(); ++i)
    bytes_[over[i]] += bytes / over.size() + (i < bytes % over.size() ? 1 : 0);
}

}  // namespace spyre::device_sim
