// spyre/kernels/kernel.cpp — how every kernel's work divides, and the kernel that does none.
#include "spyre/kernels/kernel.h"

namespace spyre::kernels {
namespace {

std::int64_t blocks_of(std::int64_t extent, std::int64_t block) {
  return (extent + block - 1) / block;
}

/// Planning without arithmetic. Immutable.
class NullKernel final : public Kernel {
 public:
  using Kernel::Kernel;
  void run(const LaunchArguments&, std::int64_t, std::int64_t, std::byte*) const override {}
  Bytes scratch_bytes(const std::int64_t*) const override { return {}; }
  Bytes code_bytes() const override { return {}; }
  std::string listing() const override { return spec().print(); }
};

}  // namespace

std::int64_t Kernel::work_items(const std::int64_t* extents) const {
  const std::size_t rank = spec_.rank;
  const std::size_t outer = spec_.form == Form::Column ? rank - 2 : rank - 1;
  std::int64_t items = 1;
  for (std::size_t d = 0; d < outer; ++d) items *= extents[d];
  switch (spec_.form) {
    case Form::Pointwise: return items * blocks_of(extents[rank - 1], kPointwiseBlock);
    case Form::Row: return items;
    case Form::Column: return items * blocks_of(extents[rank - 1], kColumnBlock);
  }
  return items;
}

std::unique_ptr<Kernel> null_kernel(const KernelSpec& spec) {
  spec.verify();
  return std::make_unique<NullKernel>(spec);
}

}  // namespace spyre::kernels
