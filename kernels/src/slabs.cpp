// spyre/kernels/slabs.cpp — the odometer over outer dimensions.
#include "slabs.h"

#include <algorithm>
#include <array>
#include <vector>

#include "spyre/base/dims.h"

namespace spyre::kernels {
namespace {

std::int64_t block_of(Form form, std::int64_t inner) {
  switch (form) {
    case Form::Pointwise: return Kernel::kPointwiseBlock;
    case Form::Column: return Kernel::kColumnBlock;
    default: return inner;
  }
}

/// One rectangle: a run of rows (Column: one group of columns) and a range of the inner dimension.
struct Slab {
  std::int64_t row, rows, first, count;
};

/// Walks items in order. Confined to one call.
class SlabWalker {
 public:
  SlabWalker(const KernelSpec& spec, const LaunchArguments& launch, CallFrame& frame)
      : spec_(spec),
        launch_(launch),
        frame_(frame),
        inner_(launch.extents[spec.rank - 1]),
        block_(block_of(spec.form, inner_)),
        blocks_((inner_ + block_ - 1) / block_),
        // Column: the second dimension is reduced inside a slab and does not number items.
        outer_dims_(spec.form == Form::Column ? spec.rank - 2 : spec.rank - 1) {
    const std::size_t arguments = spec.arguments.size();
    if (arguments > kInlineArguments) {
      many_strides_.resize(arguments * 2);
      many_pointers_.resize(arguments);
      strides_ = many_strides_.data();
      pointers_ = many_pointers_.data();
    }
    for (std::size_t a = 0; a < arguments; ++a) {
      strides_[2 * a] = spec.rank >= 2 ? stride(a, spec.rank - 2U) : 0;
      strides_[2 * a + 1] = stride(a, spec.rank - 1U);
    }
    frame_.strides = strides_;
    frame_.pointers = pointers_;
    frame_.params = launch.params;
  }

  void run(std::int64_t first, std::int64_t last, CompiledFunction function) {
    for (std::int64_t item = first; item < last;) {
      const std::int64_t left = last - item;
      const std::int64_t block = item % blocks_;
      const bool whole_rows = block == 0 && left >= blocks_;
      const std::int64_t blocks = whole_rows ? blocks_ : std::min(left, blocks_ - block);
      Slab slab{.row = item / blocks_, .rows = 1, .first = block * block_, .count = 0};
      slab.count = std::min(inner_, (block + blocks) * block_) - slab.first;
      if (whole_rows && spec_.form != Form::Column)
        slab.rows = std::min(left / blocks_, rows_from(slab.row));
      place(slab);
      function(&frame_);
      item += slab.rows * blocks;
    }
  }

 private:
  std::int64_t stride(std::size_t argument, std::size_t dim) const {
    return launch_.strides[argument * spec_.rank + dim];
  }

  /// Rows left in the second dimension, counting `row`.
  std::int64_t rows_from(std::int64_t row) const {
    if (spec_.rank < 2) return 1;
    const std::int64_t extent = launch_.extents[spec_.rank - 2];
    return extent - row % extent;
  }

  void place(const Slab& slab) {
    std::array<std::int64_t, kMaxRank> coordinate{};
    std::int64_t rest = slab.row;
    for (std::size_t d = outer_dims_; d-- > 0;) {
      coordinate[d] = rest % launch_.extents[d];
      rest /= launch_.extents[d];
    }
    for (std::size_t a = 0; a < spec_.arguments.size(); ++a) {
      std::int64_t offset = slab.first * strides_[2 * a + 1];
      for (std::size_t d = 0; d < outer_dims_; ++d) offset += coordinate[d] * stride(a, d);
      pointers_[a] = launch_.bases[a] + static_cast<std::uint64_t>(offset);
    }
    frame_.outer = spec_.form == Form::Column ? launch_.extents[spec_.rank - 2] : slab.rows;
    frame_.inner = slab.count;
  }

  const KernelSpec& spec_;
  const LaunchArguments& launch_;
  CallFrame& frame_;
  std::int64_t inner_, block_, blocks_;
  std::size_t outer_dims_;
  // Small launches are frequent: no allocation for a usual number of arguments.
  static constexpr std::size_t kInlineArguments = 16;
  std::array<std::int64_t, 2 * kInlineArguments> few_strides_;
  std::array<std::uint64_t, kInlineArguments> few_pointers_;
  std::vector<std::int64_t> many_strides_;
  std::vector<std::uint64_t> many_pointers_;
  std::int64_t* strides_ = few_strides_.data();  // [argument][2], as in CallFrame
  std::uint64_t* pointers_ = few_pointers_.data();
};

}  // namespace

void for_each_slab(const KernelSpec& spec, const LaunchArguments& launch, std::int64_t first,
                   std::int64_t last, CallFrame& frame, CompiledFunction run) {
  SlabWalker(spec, launch, frame).run(first, last, run);
}

}  // namespace spyre::kernels
