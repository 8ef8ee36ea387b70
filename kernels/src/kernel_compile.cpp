// spyre/kernels/kernel_compile.cpp — compile(): lowering, emission, and the kernel that runs the code.
#include <immintrin.h>

#include <vector>

#include "cpu_features.h"
#include "emitter.h"
#include "row_schedule.h"
#include "slabs.h"
#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/lowering.h"
#include "streaming.h"

namespace spyre::kernels {
namespace {

/// Rows in the scratchpad are padded, so that whole vectors can be written at their end.
constexpr std::int64_t kRowPadding = 64;

Bytes slot_bytes(const KernelSpec& spec, std::uint16_t step, std::int64_t inner) {
  const auto elements =
      static_cast<std::uint64_t>((inner + kRowPadding - 1) / kRowPadding * kRowPadding);
  const DType type = spec.steps[step].result;
  return Bytes{elements * (lane_of(type) == Lane::F64 || lane_of(type) == Lane::I64 ? 8 : 4)};
}

/// Immutable; see Kernel.
class CompiledKernel final : public Kernel {
 public:
  CompiledKernel(const KernelSpec& spec, LoweredKernel lowered, Isa isa)
      : Kernel(spec), isa_(isa), saved_(lowered.saved), code_(emit(lowered, isa)) {}

  void run(const LaunchArguments& launch, std::int64_t first, std::int64_t last,
           std::byte* scratch) const override {
    CallFrame frame;
    std::vector<std::uint64_t> slots;
    auto at = reinterpret_cast<std::uint64_t>(scratch);
    for (const std::uint16_t step : saved_) {
      slots.push_back(at);
      at += slot_bytes(spec(), step, launch.extents[spec().rank - 1]).count;
    }
    frame.slots = slots.data();
    frame.streaming = outgrows_caches(spec(), launch, last_level_cache()) ? 1 : 0;
    for_each_slab(spec(), launch, first, last, frame, code_->function());
    if (frame.streaming != 0)
      _mm_sfence();  // streamed results must be seen by whoever is told that we are done
    if (frame.fault != 0) throw Error("ZeroDivisionError: integer division by zero");
  }

  Bytes scratch_bytes(const std::int64_t* extents) const override {
    Bytes total{};
    for (const std::uint16_t step : saved_)
      total += slot_bytes(spec(), step, extents[spec().rank - 1]);
    return total;
  }

  Bytes code_bytes() const override { return Bytes{code_->size()}; }
  std::string listing() const override {
    const LoweredKernel lowered = lower(spec());
    return lowered.print() + emit_listing(lowered, isa_);
  }

 private:
  Isa isa_;
  std::vector<std::uint16_t> saved_;
  std::unique_ptr<CodeBlock> code_;
};

}  // namespace

Bytes scratch_bytes(const KernelSpec& spec, const std::int64_t* extents) {
  Bytes total{};
  if (spec.form != Form::Row) return total;
  const std::vector<bool> saved = schedule(spec).saved;
  for (std::size_t i = 0; i < saved.size(); ++i)
    if (saved[i]) total += slot_bytes(spec, static_cast<std::uint16_t>(i), extents[spec.rank - 1]);
  return total;
}

std::unique_ptr<Kernel> compile(const KernelSpec& spec, Isa isa) {
  if (!cpu_runs(isa))
    throw Unsupported(str("kernels: this CPU does not run ", isa == Isa::Avx512
                                                                 ? "AVX-512 (F, BW, DQ, VL)"
                                                                 : "AVX2 with FMA, F16C and BMI2"));
  spec.verify();
  return std::make_unique<CompiledKernel>(spec, lower(spec), isa);
}

}  // namespace spyre::kernels
