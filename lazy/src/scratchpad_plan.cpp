// spyre/lazy/scratchpad_plan.cpp — one walk over the tenants: who has died gives the place back.
#include "spyre/lazy/scratchpad_plan.h"

#include <algorithm>

#include "arena_layout.h"
#include "spyre/base/error.h"

namespace spyre::lazy {
namespace {

/// Tenants that are in. Confined to one call.
class Residents {
 public:
  explicit Residents(Bytes room) : room_(room) {}

  void leave_before(const ScratchpadTenant& next) {
    std::erase_if(living_, [&](const Living& l) {
      const bool dead = l.last < next.first || (next.in_place && l.last == next.first);
      if (dead) layout_.give_back(l.offset, l.bytes);
      return dead;
    });
  }

  std::optional<std::uint64_t> enter(const ScratchpadTenant& tenant) {
    const std::uint64_t offset = layout_.take(tenant.bytes.count);
    if (offset + tenant.bytes.count > room_.count) {
      layout_.give_back(offset, tenant.bytes.count);
      return std::nullopt;
    }
    living_.push_back({offset, tenant.bytes.count, tenant.last});
    return offset;
  }

 private:
  struct Living {
    std::uint64_t offset = 0, bytes = 0;
    std::uint32_t last = 0;
  };

  Bytes room_;
  ArenaLayout layout_;
  std::vector<Living> living_;
};

}  // namespace

ScratchpadPlan plan_scratchpad(std::span<const ScratchpadTenant> tenants, Bytes room) {
  ensure(std::ranges::is_sorted(tenants, {}, &ScratchpadTenant::first),
         "the scratchpad's tenants come in order");
  ScratchpadPlan plan;
  Residents residents(room);
  for (const ScratchpadTenant& tenant : tenants) {
    residents.leave_before(tenant);
    const std::optional<std::uint64_t> offset = residents.enter(tenant);
    plan.offsets.push_back(offset);
    if (offset)
      plan.used =
          std::max(plan.used,
                   Bytes{*offset + tenant.bytes.count}.rounded_up(Bytes{ArenaLayout::kAlignment}));
  }
  return plan;
}

}  // namespace spyre::lazy
