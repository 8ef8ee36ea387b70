// spyre/device_sim/deferred_frees.cpp — what is not ready goes to the back of the line.
#include "deferred_frees.h"

#include <algorithm>
#include <utility>

namespace spyre::device_sim {

void DeferredFrees::add(Allocation allocation, std::vector<TimelinePoint> points) {
  if (allocation.empty()) return;
  for (const TimelinePoint& point : points)
    scheduler_.finished(point);  // rejects one that was never submitted
  const Lock lock(mutex_);
  entries_.push_back({std::move(allocation), std::move(points)});
  count_.store(entries_.size(), std::memory_order_relaxed);
}

Bytes DeferredFrees::bytes() const {
  const Lock lock(mutex_);
  Bytes sum;
  for (const Entry& entry : entries_) sum += entry.allocation.place.length;
  return sum;
}

bool DeferredFrees::ready(const Entry& entry) const {
  return std::ranges::all_of(entry.points,
                             [&](const TimelinePoint& p) { return scheduler_.finished(p); });
}

bool DeferredFrees::collect(std::size_t most) {
  const Lock lock(mutex_);
  bool freed = false;
  for (std::size_t i = std::min(most, entries_.size()); i-- > 0;) {
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    if (ready(entry)) {
      memory_.free(entry.allocation);
      freed = true;
    } else {
      entries_.push_back(std::move(entry));
    }
  }
  count_.store(entries_.size(), std::memory_order_relaxed);
  return freed;
}

bool DeferredFrees::drain() {
  std::deque<Entry> entries;
  {
    const Lock lock(mutex_);
    entries.swap(entries_);
    count_.store(0, std::memory_order_relaxed);
  }
  for (const Entry& entry : entries) {
    for (const TimelinePoint& point : entry.points) scheduler_.drain(point);
    memory_.free(entry.allocation);
  }
  return !entries.empty();
}

}  // namespace spyre::device_sim
