// spyre/lazy/interval_set.h — which bytes are covered so far.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace spyre::lazy {

/// A union of half-open intervals, kept sorted and merged. A value.
class IntervalSet {
 public:
  void add(std::uint64_t begin, std::uint64_t end) {
    if (begin >= end) return;
    const auto touches = [&](const Interval& i) { return i.begin <= end && begin <= i.end; };
    const auto first = std::find_if(intervals_.begin(), intervals_.end(), touches);
    auto last = first;
    for (; last != intervals_.end() && touches(*last); ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    const auto place = intervals_.erase(first, last);
    intervals_.insert(first == last ? std::upper_bound(intervals_.begin(), intervals_.end(), Interval{begin, end})
                                    : place,
                      {begin, end});
  }

  bool covers(std::uint64_t begin, std::uint64_t end) const {
    return begin >= end || std::any_of(intervals_.begin(), intervals_.end(),
                                       [&](const Interval& i) { return i.begin <= begin && end <= i.end; });
  }

 private:
  struct Interval {
    std::uint64_t begin, end;
    friend bool operator<(const Interval& a, const Interval& b) { return a.begin < b.begin; }
  };
  std::vector<Interval> intervals_;
};

}  // namespace spyre::lazy
