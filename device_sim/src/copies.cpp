// spyre/device_sim/copies.cpp — pieces of both sides cut into segments that lie in one of each.
#include "spyre/device_sim/copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "spyre/base/error.h"

namespace spyre::device_sim {
namespace {

/// So that a large copy is work for several cores.
constexpr std::uint64_t kSegment = 1 << 20;

struct Segment {
  std::byte* target = nullptr;
  const std::byte* source = nullptr;  // nullptr: a fill
  std::size_t length = 0;
};

/// Moves or fills segments, which do not overlap. Immutable.
class SegmentProgram final : public Program {
 public:
  SegmentProgram(std::vector<Segment> segments, std::byte value)
      : segments_(std::move(segments)), value_(value) {}

  std::int64_t work_items(std::span<const std::byte>) const override {
    return static_cast<std::int64_t>(segments_.size());
  }
  void run(std::span<const std::byte>, std::int64_t first, std::int64_t last,
           Core&) const override {
    for (std::int64_t i = first; i < last; ++i) {
      const Segment& s = segments_[static_cast<std::size_t>(i)];
      if (s.source != nullptr) std::memcpy(s.target, s.source, s.length);
      else std::memset(s.target, std::to_integer<int>(value_), s.length);
    }
  }

 private:
  std::vector<Segment> segments_;
  std::byte value_;
};

/// A position in a list of pieces. Confined to one thread.
class Cursor {
 public:
  Cursor(const Card& card, const std::vector<Piece>& pieces) : card_(card), pieces_(pieces) {}
  bool done() const { return index_ == pieces_.size(); }
  std::uint64_t left() const { return pieces_[index_].length.count - used_; }
  std::byte* address() const { return card_.address(pieces_[index_]) + used_; }
  void advance(std::uint64_t length) {
    used_ += length;
    if (used_ < pieces_[index_].length.count) return;
    used_ = 0;
    ++index_;
  }

 private:
  const Card& card_;
  const std::vector<Piece>& pieces_;
  std::size_t index_ = 0;
  std::uint64_t used_ = 0;
};

std::vector<Segment> segments_of(const Card& card, const std::vector<Piece>& target,
                                 const std::vector<Piece>* source) {
  std::vector<Segment> segments;
  Cursor to(card, target), from(card, source != nullptr ? *source : target);
  while (!to.done()) {
    const std::uint64_t length = std::min({to.left(), from.left(), kSegment});
    segments.push_back({to.address(), source != nullptr ? from.address() : nullptr, length});
    to.advance(length);
    from.advance(length);
  }
  return segments;
}

bool overlap(const Piece& a, const Piece& b) {
  return a.region == b.region && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

template <class Transfer>
void set_pieces(Transfer& transfer, Piece& first, std::vector<Piece> all) {
  if (all.empty()) return;
  first = all.front();
  transfer.more.assign(all.begin() + 1, all.end());
}

}  // namespace

Operation upload_to(const Allocation& target, Bytes offset, const std::byte* source, Bytes length) {
  HostToDevice copy{.source = source};
  set_pieces(copy, copy.target, parts(target, offset, length));
  return {.what = std::move(copy), .name = "upload"};
}

Operation download_from(const Allocation& source, Bytes offset, std::byte* target, Bytes length) {
  DeviceToHost copy{.target = target};
  set_pieces(copy, copy.source, parts(source, offset, length));
  return {.what = std::move(copy), .name = "download"};
}

Operation fill_memory(const Card& card, const Allocation& target, Bytes offset, Bytes length,
                      std::byte value) {
  std::vector<Piece> pieces = parts(target, offset, length);
  auto program = std::make_shared<SegmentProgram>(segments_of(card, pieces, nullptr), value);
  return {.what = Compute{.program = std::move(program)},
          .name = "fill",
          .footprint = {.writes = std::move(pieces)},
          .work = {.bytes_written = length.count}};
}

Operation copy_memory(const Card& card, const Allocation& source, Bytes from,
                      const Allocation& target, Bytes to, Bytes length) {
  std::vector<Piece> reads = parts(source, from, length), writes = parts(target, to, length);
  for (const Piece& a : reads)
    if (std::ranges::any_of(writes, [&](const Piece& b) { return overlap(a, b); }))
      throw InvalidArgument("copy: source and target overlap; expected two ranges apart");
  auto program = std::make_shared<SegmentProgram>(segments_of(card, writes, &reads), std::byte{0});
  return {.what = Compute{.program = std::move(program)},
          .name = "copy",
          .footprint = {.reads = std::move(reads), .writes = std::move(writes)},
          .work = {.bytes_read = length.count, .bytes_written = length.count}};
}

}  // namespace spyre::device_sim
