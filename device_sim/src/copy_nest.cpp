// spyre/device_sim/copy_nest.cpp — nests from tilings. Each dimension alone becomes one or more pieces (whole tiles, and
// what remains of the last one); a nest is one piece of every dimension.
#include "spyre/device_sim/copy_nest.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {
namespace {

/// One loop of both sides. `step`: what it adds to the tensor's index.
struct Level {
  std::int64_t step, source_stride, target_stride;
};

struct Loop {
  std::int64_t extent, source_stride, target_stride;
};

struct Piece {
  std::vector<Loop> loops;
  std::int64_t source_offset = 0, target_offset = 0;
};

/// What a step along the tensor's index adds to the place in memory; nullopt if it ends inside a
/// tile.
std::optional<std::int64_t> stride_of_step(std::span<const Tile> tiles, std::int64_t step) {
  const auto tile = std::ranges::find_if(tiles, [&](const Tile& t) { return t.step <= step; });
  if (tile == tiles.end() || step % tile->step != 0) return std::nullopt;
  return step / tile->step * tile->stride;
}

std::optional<std::vector<Level>> common_levels(std::span<const Tile> source,
                                                std::span<const Tile> target) {
  std::vector<std::int64_t> steps;
  for (const auto tiles : {source, target})
    for (const Tile& tile : tiles) steps.push_back(tile.step);
  std::ranges::sort(steps, std::ranges::greater{});
  steps.erase(std::ranges::unique(steps).begin(), steps.end());
  std::vector<Level> levels;
  for (const std::int64_t step : steps) {
    const auto source_stride = stride_of_step(source, step);
    const auto target_stride = stride_of_step(target, step);
    if (!source_stride || !target_stride) return std::nullopt;
    levels.push_back({step, *source_stride, *target_stride});
  }
  return levels;
}

/// The pieces of `extent` elements, each beginning as `begun` does.
void cut(std::span<const Level> levels, std::int64_t extent, Piece begun,
         std::vector<Piece>& pieces) {
  if (levels.empty()) return pieces.push_back(std::move(begun));
  const Level& level = levels.front();
  const std::int64_t whole = extent / level.step, rest = extent % level.step;
  if (whole != 0) {
    Piece piece = begun;
    if (whole != 1) piece.loops.push_back({whole, level.source_stride, level.target_stride});
    cut(levels.subspan(1), level.step, std::move(piece), pieces);
  }
  if (rest == 0) return;
  begun.source_offset += whole * level.source_stride;
  begun.target_offset += whole * level.target_stride;
  cut(levels.subspan(1), rest, std::move(begun), pieces);
}

Piece joined(const Piece& a, const Piece& b) {
  Piece piece = a;
  piece.loops.insert(piece.loops.end(), b.loops.begin(), b.loops.end());
  piece.source_offset += b.source_offset;
  piece.target_offset += b.target_offset;
  return piece;
}

CopyNest nest_of(Piece piece) {
  std::ranges::stable_sort(piece.loops, std::ranges::greater{}, &Loop::target_stride);
  CopyNest nest{.source_offset = piece.source_offset, .target_offset = piece.target_offset};
  for (const Loop& loop : piece.loops) {
    nest.sizes.push_back(loop.extent);
    nest.source_strides.push_back(loop.source_stride);
    nest.target_strides.push_back(loop.target_stride);
  }
  return nest;
}

/// The same elements with neighbouring dimensions joined where both strides allow it.
struct Folded {
  Dims sizes, base_strides, strides;
};

Folded folded(const HostShape& base, const Dims& strides) {
  Folded f;
  for (std::size_t d = 0; d < base.sizes.size(); ++d) {
    if (base.sizes[d] == 1) continue;
    const bool joins = !f.sizes.empty() &&
                       f.base_strides.back() == base.sizes[d] * base.strides[d] &&
                       f.strides.back() == base.sizes[d] * strides[d];
    if (!joins) {
      f.sizes.push_back(base.sizes[d]);
      f.base_strides.push_back(base.strides[d]);
      f.strides.push_back(strides[d]);
      continue;
    }
    const std::size_t last = f.sizes.size() - 1;
    f.sizes[last] *= base.sizes[d];
    f.base_strides[last] = base.strides[d];
    f.strides[last] = strides[d];
  }
  return f;
}

/// Both sides of a transfer, dimension by dimension, or folded where the layout needs it.
struct Sides {
  Tiling device, host;
};

Sides sides_of(const TensorLayout& layout, const HostShape& base, const Dims& strides) {
  if (auto device = Tiling::of(layout, base))
    return {std::move(*device), Tiling::strided({base.sizes, strides})};
  const Folded f = folded(base, strides);
  if (auto device = Tiling::of(layout, {f.sizes, f.base_strides}))
    return {std::move(*device), Tiling::strided({f.sizes, f.strides})};
  throw InvalidArgument(str("layout: ", layout, " does not hold a tensor of size ", base.sizes,
                            " and strides ", base.strides));
}

std::vector<CopyNest> always(std::optional<std::vector<CopyNest>> nests) {
  ensure(nests.has_value(), "ordinary strides meet any tile at its start");
  return std::move(*nests);
}

/// Calls with the offsets of each run of the innermost loop.
template <class Visit> void visit_runs(const CopyNest& nest, Visit visit) {
  if (nest.elements() == 0) return;
  const std::size_t outer = nest.sizes.empty() ? 0 : nest.sizes.size() - 1;
  Dims index = Dims::filled(outer, 0);
  std::int64_t source = nest.source_offset, target = nest.target_offset;
  for (;;) {
    visit(source, target);
    std::size_t d = outer;
    for (; d-- > 0;) {
      source += nest.source_strides[d];
      target += nest.target_strides[d];
      if (++index[d] < nest.sizes[d]) break;
      source -= nest.sizes[d] * nest.source_strides[d];
      target -= nest.sizes[d] * nest.target_strides[d];
      index[d] = 0;
    }
    if (d == static_cast<std::size_t>(-1)) return;
  }
}

Loop innermost(const CopyNest& nest) {
  if (nest.sizes.empty()) return {1, 1, 1};
  return {nest.sizes.back(), nest.source_strides.back(), nest.target_strides.back()};
}

template <std::size_t kSize>
void copy_sized(const CopyNest& nest, const std::byte* source, std::byte* target) {
  constexpr auto kBytes = static_cast<std::int64_t>(kSize);
  const Loop run = innermost(nest);
  const bool dense = run.source_stride == 1 && run.target_stride == 1;
  visit_runs(nest, [&](std::int64_t from, std::int64_t to) {
    const std::byte* s = source + from * kBytes;
    std::byte* t = target + to * kBytes;
    if (dense) return void(std::memcpy(t, s, static_cast<std::size_t>(run.extent) * kSize));
    for (std::int64_t i = 0; i < run.extent; ++i)
      std::memcpy(t + i * run.target_stride * kBytes, s + i * run.source_stride * kBytes, kSize);
  });
}

/// Where element number `index` begins. Throws if that is inside a byte.
std::int64_t byte_of(std::int64_t index, DataFormat format) {
  const std::int64_t bits = index * static_cast<std::int64_t>(bits_of(format));
  if (bits % 8 != 0)
    throw Unsupported(str("a run of ", format, " begins at element ", index, ", inside a byte"));
  return bits / 8;
}

/// A run whose elements lie apart on a side, a few at a time through dense ones.
struct StridedConversion {
  DataFormat from, to;
  ConvertRun convert;
  Loop run;

  void operator()(const std::byte* source, std::byte* target) const {
    constexpr std::int64_t kChunk = 64;
    std::array<std::byte, kChunk * 8> gathered, converted;
    const std::size_t from_bytes = bits_of(from) / 8, to_bytes = bits_of(to) / 8;
    for (std::int64_t first = 0; first < run.extent; first += kChunk) {
      const std::int64_t count = std::min(kChunk, run.extent - first);
      copy_elements({.sizes = {count},
                     .source_strides = {run.source_stride},
                     .target_strides = {1},
                     .source_offset = first * run.source_stride},
                    from_bytes, source, gathered.data());
      convert(gathered.data(), converted.data(), count);
      copy_elements({.sizes = {count},
                     .source_strides = {1},
                     .target_strides = {run.target_stride},
                     .target_offset = first * run.target_stride},
                    to_bytes, converted.data(), target);
    }
  }
};

}  // namespace

std::optional<std::vector<CopyNest>> copy_nests(const Tiling& source, const Tiling& target) {
  ensure(source.sizes() == target.sizes(), "both sides of a copy have the same extents");
  if (source.sizes().numel() == 0) return std::vector<CopyNest>{};
  std::vector<Piece> pieces(1);
  for (const Repeat& repeat : target.repeats())
    pieces[0].loops.push_back({repeat.extent, 0, repeat.stride});
  for (std::size_t d = 0; d < source.sizes().size(); ++d) {
    if (source.sizes()[d] == 1) continue;
    const auto levels = common_levels(source.tiles(d), target.tiles(d));
    if (!levels) return std::nullopt;
    std::vector<Piece> of_dim, all;
    cut(*levels, source.sizes()[d], {}, of_dim);
    for (const Piece& a : pieces)
      for (const Piece& b : of_dim) all.push_back(joined(a, b));
    pieces = std::move(all);
  }
  std::vector<CopyNest> nests;
  for (Piece& piece : pieces) nests.push_back(nest_of(std::move(piece)));
  return nests;
}

std::vector<CopyNest> host_to_device(const TensorLayout& layout, const HostShape& base,
                                     const Dims& strides) {
  if (base.sizes.numel() == 0) return {};
  const Sides sides = sides_of(layout, base, strides);
  return always(copy_nests(sides.host, sides.device));
}

std::vector<CopyNest> device_to_host(const TensorLayout& layout, const HostShape& base,
                                     const Dims& strides) {
  if (base.sizes.numel() == 0) return {};
  const Sides sides = sides_of(layout, base, strides);
  return always(copy_nests(sides.device, sides.host));
}

std::optional<std::vector<CopyNest>> device_to_device(const TensorLayout& source,
                                                      const TensorLayout& target,
                                                      const HostShape& base) {
  const auto from = Tiling::of(source, base), to = Tiling::of(target, base);
  if (from && to) return copy_nests(*from, *to);
  const Folded f = folded(base, base.strides);
  const auto folded_from = Tiling::of(source, {f.sizes, f.base_strides});
  const auto folded_to = Tiling::of(target, {f.sizes, f.base_strides});
  return folded_from && folded_to ? copy_nests(*folded_from, *folded_to) : std::nullopt;
}

void copy_elements(const CopyNest& nest, std::size_t element_size, const std::byte* source,
                   std::byte* target) {
  switch (element_size) {
    case 1: return copy_sized<1>(nest, source, target);
    case 2: return copy_sized<2>(nest, source, target);
    case 4: return copy_sized<4>(nest, source, target);
    case 8: return copy_sized<8>(nest, source, target);
    case 16: return copy_sized<16>(nest, source, target);
    default: throw Unsupported(str("elements of ", element_size, " bytes"));
  }
}

void convert_elements(const CopyNest& nest, DataFormat from, const std::byte* source, DataFormat to,
                      std::byte* target) {
  const ConvertRun convert = conversion(from, to);
  const Loop run = innermost(nest);
  const bool dense = run.source_stride == 1 && run.target_stride == 1;
  const StridedConversion strided{.from = from, .to = to, .convert = convert, .run = run};
  if (!dense && (bits_of(from) < 8 || bits_of(to) < 8))
    throw Unsupported(str("elements of ", from, " and ", to, " that lie apart"));
  visit_runs(nest, [&](std::int64_t source_index, std::int64_t target_index) {
    const std::byte* s = source + byte_of(source_index, from);
    std::byte* t = target + byte_of(target_index, to);
    if (dense) convert(s, t, run.extent);
    else strided(s, t);
  });
}

}  // namespace spyre::device_sim
