// spyre/device_sim/region.cpp — allocation, and the count of committed pages.
#include "region.h"

namespace spyre::device_sim {

Region::Region(Bytes length)
    : mapping_(length.rounded_up(kHugePage)),
      blocks_(mapping_.length()),
      page_committed_(mapping_.length().count / kHugePage.count) {}

std::optional<Bytes> Region::take(Bytes length) { return blocks_.allocate(length); }

void Region::commit(Bytes offset, Bytes length) {
  const std::uint64_t last = (offset.count + length.count - 1) / kHugePage.count;
  for (std::uint64_t page = offset.count / kHugePage.count; page <= last; ++page) {
    if (page_committed_[page] != 0) continue;
    page_committed_[page] = 1;
    committed_ += kHugePage;
  }
}

Bytes Region::trim() {
  const Bytes before = committed_;
  blocks_.coalesce();
  blocks_.visit_free_runs([&](Bytes offset, Bytes length) {
    const std::uint64_t end = (offset.count + length.count) / kHugePage.count;
    for (std::uint64_t page = offset.rounded_up(kHugePage).count / kHugePage.count; page < end;
         ++page) {
      if (page_committed_[page] == 0) continue;
      page_committed_[page] = 0;
      committed_ -= kHugePage;
      mapping_.discard(kHugePage * page, kHugePage);
    }
  });
  return before - committed_;
}

}  // namespace spyre::device_sim
