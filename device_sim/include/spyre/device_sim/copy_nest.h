// spyre/device_sim/copy_nest.h — a copy between two arrangements of one tensor, as loop nests: data that a transfer, or
// an operation on the card, carries out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/device_sim/format_conversion.h"
#include "spyre/device_sim/tensor_layout.h"
#include "spyre/device_sim/tiling.h"

namespace spyre::device_sim {

/// Loops over whole extents, outermost in the target first; strides and offsets in elements.
struct CopyNest {
  Dims sizes{}, source_strides{}, target_strides{};
  std::int64_t source_offset = 0, target_offset = 0;
  std::int64_t elements() const { return sizes.numel(); }
  friend bool operator==(const CopyNest&, const CopyNest&) = default;
};

/// Every element of the tensor once (and once per repeat of the target), nothing else: padding is
/// neither read nor written. More than one nest, and nullopt, as joint_nests() says. Precondition:
/// equal sizes.
std::optional<std::vector<CopyNest>> copy_nests(const Tiling& source, const Tiling& target);

/// A tensor on both sides. The strides of `base` are those that the layout's stride map speaks of;
/// `strides` are where the host's elements are now. Dimensions that lie one after the other on both
/// sides count as one where the layout folds them. Throw InvalidArgument if the layout does not
/// hold the tensor.
std::vector<CopyNest> host_to_device(const TensorLayout& layout, const HostShape& base,
                                     const Dims& strides);
std::vector<CopyNest> device_to_host(const TensorLayout& layout, const HostShape& base,
                                     const Dims& strides);
/// From one layout to another of the same tensor. nullopt as copy_nests.
std::optional<std::vector<CopyNest>> device_to_device(const TensorLayout& source,
                                                      const TensorLayout& target,
                                                      const HostShape& base);

/// Carries the nest out on elements of `element_size` bytes: 1, 2, 4, 8 or 16.
void copy_elements(const CopyNest& nest, std::size_t element_size, const std::byte* source,
                   std::byte* target);
/// The same with a conversion. Formats below a byte need runs that begin at whole bytes; throws
/// Unsupported otherwise, and if the pair is not convertible.
void convert_elements(const CopyNest& nest, DataFormat from, const std::byte* source, DataFormat to,
                      std::byte* target);

}  // namespace spyre::device_sim
