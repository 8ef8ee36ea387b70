// spyre/lazy/byte_coverage.h — which bytes of a buffer are written so far.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace spyre::lazy {

/// A union of half-open intervals, kept sorted and merged. A value.
class IntervalSet {
 public:
  void add(std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const auto touches = [&](const Interval& i) { return i.begin <= end && begin <= i.end; };
    const auto first = std::find_if(intervals_.begin(), intervals_.end(), touches);
    auto last = first;
    for (; last != intervals_.end() && touches(*last); ++last) {
      begin = std::min(begin, last->begin);
      end = std::max(end, last->end);
    }
    const auto place = intervals_.erase(first, last);
    intervals_.insert(
        first == last ? std::upper_bound(intervals_.begin(), intervals_.end(), Interval{begin, end})
                      : place,
        {begin, end});
  }

  bool covers(std::int64_t begin, std::int64_t end) const {
    return begin >= end ||
           std::any_of(intervals_.begin(), intervals_.end(),
                       [&](const Interval& i) { return i.begin <= begin && end <= i.end; });
  }

 private:
  struct Interval {
    std::int64_t begin, end;
    friend bool operator<(const Interval& a, const Interval& b) { return a.begin < b.begin; }
  };
  std::vector<Interval> intervals_;
};

/// Bytes [begin, end) that consist of runs: `run` bytes, then again `run` bytes `period` later, up
/// to `end`. A run as long as the range is a dense write; run 0: the places are not known.
struct ByteRuns {
  std::int64_t begin = 0, end = 0, run = 0, period = 0;
  bool dense() const { return run == end - begin; }
};

/// Knows dense writes exactly, and the columns that a concatenation writes side by side if they
/// have one period. A value.
class ByteCoverage {
 public:
  explicit ByteCoverage(std::int64_t bytes) : bytes_(bytes) {}

  void add(const ByteRuns& written) {
    if (written.dense()) return whole_.add(written.begin, written.end);
    if (written.run == 0 || !is_column(written)) return;
    if (written.period != period_) columns_ = {};
    period_ = written.period;
    columns_.add(written.begin, written.begin + written.run);
    if (columns_.covers(0, period_)) whole_.add(0, bytes_);
  }

  bool covers(std::int64_t begin, std::int64_t end) const { return whole_.covers(begin, end); }
  bool covers_all() const { return covers(0, bytes_); }

 private:
  /// True if the runs go through the whole buffer and do not wrap.
  bool is_column(const ByteRuns& r) const {
    const std::int64_t repeats = (r.end - r.begin - r.run) / r.period + 1;
    return repeats * r.period == bytes_ && r.begin + r.run <= r.period;
  }

  std::int64_t bytes_, period_ = 0;
  IntervalSet whole_, columns_;
};

}  // namespace spyre::lazy
