// spyre/kernels/product_packing.cpp — copied, widened, paired or transposed, as the operand lies.
#include "product_packing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "product_tiles.h"

namespace spyre::kernels {
namespace {

/// Few words: sizes that the compiler knows need no call.
void copy_words(const std::byte* source, std::int64_t count, std::byte* out) {
  const auto copy = [&](auto words) {
    std::memcpy(out, source, words * kWord);
    source += words * kWord;
    out += words * kWord;
  };
  for (; count >= 8; count -= 8) copy(std::integral_constant<std::size_t, 8>{});
  if ((count & 4) != 0) copy(std::integral_constant<std::size_t, 4>{});
  if ((count & 2) != 0) copy(std::integral_constant<std::size_t, 2>{});
  if ((count & 1) != 0) copy(std::integral_constant<std::size_t, 1>{});
}

/// Neighbours along the lanes: runs of them are copied, widened, or interleaved in pairs.
class StepPacker {
 public:
  StepPacker(const Product& p, const Lanes& lanes)
      : type_(p.type),
        k_(p.k),
        pairs_(product_loops(p.isa, p.type, p.n).word_steps == 2),
        lanes_(lanes) {}

  void pack(std::int64_t word, std::byte* out) const {
    if (pairs_) {
      const bool whole = 2 * word + 1 < k_;
      interleave(step(2 * word), whole ? step(2 * word + 1) : kZeros.data(), lanes_.count, out);
    } else if (type_ != DType::F32) {
      widen_row(type_, step(word), lanes_.count, reinterpret_cast<float*>(out));
    } else {
      copy_words(step(word), lanes_.count, out);
    }
  }

 private:
  static constexpr std::array<std::byte, kMostColumns * 2> kZeros{};

  const std::byte* step(std::int64_t number) const {
    return lanes_.data + number * lanes_.step_stride * size_of(type_);
  }

  DType type_;
  std::int64_t k_;
  bool pairs_;
  Lanes lanes_;
};

/// The word of one lane, of so many steps, from anywhere.
std::uint32_t word_at(const Product& p, const Lanes& lanes, std::int64_t steps, std::int64_t lane,
                      std::int64_t word) {
  const std::int64_t size = size_of(p.type);
  const auto element = [&](std::int64_t step) {
    return lanes.data + (lane * lanes.lane_stride + step * lanes.step_stride) * size;
  };
  std::uint32_t result = 0;
  if (p.type == DType::F32) {
    std::memcpy(&result, element(word), sizeof result);
  } else if (steps == 2) {
    std::uint16_t even = 0, odd = 0;
    std::memcpy(&even, element(2 * word), sizeof even);
    if (2 * word + 1 < p.k) std::memcpy(&odd, element(2 * word + 1), sizeof odd);
    result = even | std::uint32_t{odd} << 16;
  } else {
    float wide = 0;
    widen_row(p.type, element(word), 1, &wide);
    std::memcpy(&result, &wide, sizeof result);
  }
  return result;
}

/// Words from `first` on, one by one, from anywhere.
void pack_words(const Product& p, const Lanes& lanes, std::int64_t first, std::int64_t pitch,
                std::byte* out) {
  const std::int64_t steps = product_loops(p.isa, p.type, p.n).word_steps, words = words_of(p);
  for (std::int64_t lane = 0; lane < lanes.count; ++lane)
    for (std::int64_t w = first; w < words; ++w) {
      const std::uint32_t word = word_at(p, lanes, steps, lane, w);
      std::memcpy(out + (w * pitch + lane) * kWord, &word, sizeof word);
    }
}

constexpr std::int64_t kBlock = 8;  // lanes and words that are transposed together

/// A block of so many lanes, as they lie or widened on the way.
void transpose_block(DType type, bool whole_words, const std::byte* source, std::int64_t source_row,
                     std::int64_t lanes, std::byte* out, std::int64_t pitch) {
  if (whole_words) return transpose_words(source, source_row, lanes, out, pitch);
  std::array<float, kBlock * kBlock> wide;
  for (std::int64_t lane = 0; lane < lanes; ++lane)
    widen_row(type, source + lane * source_row, kBlock,
              &wide[static_cast<std::size_t>(lane * kBlock)]);
  transpose_words(reinterpret_cast<const std::byte*>(wide.data()), kBlock * kWord, lanes, out,
                  pitch);
}

/// Neighbours along k: transposed in blocks.
void pack_transposed(const Product& p, const Lanes& lanes, std::int64_t pitch, std::byte* out) {
  constexpr std::int64_t kLine = 16;  // words of a line of the cache
  const std::int64_t steps = product_loops(p.isa, p.type, p.n).word_steps, size = size_of(p.type),
                     word_bytes = size * steps, row_bytes = lanes.lane_stride * size;
  const bool whole_words = word_bytes == kWord;
  const std::int64_t words = p.k / steps / kLine * kLine;
  for (std::int64_t w = 0; w < words; w += kLine)
    for (std::int64_t lane = 0; lane < lanes.count; lane += kBlock)
      for (std::int64_t i = w; i < w + kLine; i += kBlock) {
        const std::byte* const column = lanes.data + i * word_bytes;
        std::byte* const target = out + i * pitch * kWord;
        // The last one may overlap the one before.
        const std::int64_t block = std::max<std::int64_t>(0, std::min(lane, lanes.count - kBlock));
        transpose_block(p.type, whole_words, column + block * row_bytes, row_bytes,
                        std::min(lanes.count, kBlock), target + block * kWord, pitch);
      }
  pack_words(p, lanes, words, pitch, out);
}

}  // namespace

std::int64_t words_of(const Product& p) {
  const std::int64_t steps = product_loops(p.isa, p.type, p.n).word_steps;
  return (p.k + steps - 1) / steps;
}

void pack_neighbours(const Product& p, const Lanes& lanes, std::int64_t first, std::int64_t last,
                     std::int64_t pitch, std::byte* out) {
  const StepPacker packer(p, lanes);
  for (std::int64_t w = first; w < last; ++w) packer.pack(w, out + w * pitch * kWord);
}

void pack_lanes(const Product& p, const Lanes& lanes, std::int64_t pitch, std::byte* out) {
  if (lanes.lane_stride == 1 || lanes.count == 1) {
    pack_neighbours(p, lanes, 0, words_of(p), pitch, out);
  } else if (lanes.step_stride == 1) {
    pack_transposed(p, lanes, pitch, out);
  } else {
    pack_words(p, lanes, 0, pitch, out);
  }
}

}  // namespace spyre::kernels
