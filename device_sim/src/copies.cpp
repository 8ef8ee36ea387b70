// spyre/device_sim/copies.cpp — transfers, and programs that copy and fill in segments.
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

/// Of ranges of one length; `source` nullptr: a fill.
std::vector<Segment> segments_of(std::byte* target, const std::byte* source, std::uint64_t length) {
  std::vector<Segment> segments;
  for (std::uint64_t begin = 0; begin < length; begin += kSegment)
    segments.push_back({target + begin, source != nullptr ? source + begin : nullptr,
                        std::min(length - begin, kSegment)});
  return segments;
}

bool overlap(const Piece& a, const Piece& b) {
  return a.region == b.region && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

}  // namespace

Operation upload_to(const Allocation& target, Bytes offset, const std::byte* source, Bytes length) {
  return {.what = HostToDevice{.source = source, .target = part_of(target, offset, length)},
          .name = "upload"};
}

Operation download_from(const Allocation& source, Bytes offset, std::byte* target, Bytes length) {
  return {.what = DeviceToHost{.source = part_of(source, offset, length), .target = target},
          .name = "download"};
}

Operation fill_memory(const Card& card, const Allocation& target, Bytes offset, Bytes length,
                      std::byte value) {
  const Piece place = part_of(target, offset, length);
  auto program = std::make_shared<SegmentProgram>(
      segments_of(card.address(place), nullptr, length.count), value);
  return {.what = Compute{.program = std::move(program)},
          .name = "fill",
          .footprint = {.writes = {place}},
          .work = {.bytes_written = length.count}};
}

Operation copy_memory(const Card& card, const Allocation& source, Bytes from,
                      const Allocation& target, Bytes to, Bytes length) {
  const Piece read = part_of(source, from, length), written = part_of(target, to, length);
  if (overlap(read, written))
    throw InvalidArgument("copy: source and target overlap; expected two ranges apart");
  auto program = std::make_shared<SegmentProgram>(
      segments_of(card.address(written), card.address(read), length.count), std::byte{0});
  return {.what = Compute{.program = std::move(program)},
          .name = "copy",
          .footprint = {.reads = {read}, .writes = {written}},
          .work = {.bytes_read = length.count, .bytes_written = length.count}};
}

}  // namespace spyre::device_sim
