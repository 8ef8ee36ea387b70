// spyre/device_sim/copy_nest.cpp — a copy is two arrangements walked together.
#include "spyre/device_sim/copy_nest.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/device_sim/joint_nest.h"

namespace spyre::device_sim {
namespace {

struct Loop {
  std::int64_t extent, source_stride, target_stride;
};

/// The nest as a copy from the first arrangement to the second, with the target's repeats.
CopyNest copy_along(const JointNest& nest, std::span<const Repeat> repeats) {
  std::vector<Loop> loops;
  for (const Repeat& repeat : repeats) loops.push_back({repeat.extent, 0, repeat.stride});
  for (std::size_t d = 0; d < nest.sizes.size(); ++d)
    loops.push_back({nest.sizes[d], nest.strides[0][d], nest.strides[1][d]});
  std::ranges::stable_sort(loops, std::ranges::greater{}, &Loop::target_stride);
  CopyNest copy{.source_offset = nest.offsets[0], .target_offset = nest.offsets[1]};
  for (const Loop& loop : loops) {
    copy.sizes.push_back(loop.extent);
    copy.source_strides.push_back(loop.source_stride);
    copy.target_strides.push_back(loop.target_stride);
  }
  return copy;
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
  const std::array both{source, target};
  const auto joint = joint_nests(both);
  if (!joint) return std::nullopt;
  std::vector<CopyNest> nests;
  for (const JointNest& nest : *joint) nests.push_back(copy_along(nest, target.repeats()));
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
