// spyre/kernels/kernel.h — a compiled (or interpreted) KernelSpec, and the arguments of one launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "spyre/base/bytes.h"
#include "spyre/kernels/kernel_spec.h"

namespace spyre::kernels {

/// Plain arrays, filled per launch; they live in the launch's argument slot. All strides are in bytes
/// (Iota: in units). Immutable while the kernel runs.
struct LaunchArguments {
  const std::uint64_t* bases =
      nullptr;  // per argument: address of the first element (Iota: first value)
  const std::int64_t* extents = nullptr;  // per dimension, all >= 1
  const std::int64_t* strides = nullptr;  // [argument][dimension]
  const std::uint64_t* params = nullptr;  // per parameter: its bits, low bytes first
};

/// Which engine runs specs. Null runs everything except the arithmetic.
enum class Execution : std::uint8_t { Vector, Scalar, Null };
/// Which instruction set Vector code uses.
enum class Isa : std::uint8_t { Avx2, Avx512 };

/// Executable form of one spec. Immutable; run() may be called from many threads at once.
class Kernel {
 public:
  explicit Kernel(KernelSpec spec) : spec_(std::move(spec)) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const KernelSpec& spec() const { return spec_; }

  /// Independent pieces of work for these extents; any split of [0, work_items) over cores gives the same bits.
  /// Pointwise: blocks of kPointwiseBlock inner elements; Row: one row; Column: blocks of kColumnBlock columns.
  std::int64_t work_items(const std::int64_t* extents) const;

  /// Runs items [first, last). `scratch` is the core's scratchpad, at least scratch_bytes(extents), 64-byte aligned.
  /// Throws Error (integer division by zero).
  virtual void run(const LaunchArguments& launch, std::int64_t first, std::int64_t last,
                   std::byte* scratch) const = 0;

  /// Scratchpad needed per core (Row kernels keep values that several passes need).
  virtual Bytes scratch_bytes(const std::int64_t* extents) const = 0;
  /// Machine code size; 0 if interpreted.
  virtual Bytes code_bytes() const = 0;
  /// Annotated listing (vector) or micro-op program (scalar), for SPYRE_DUMP.
  virtual std::string listing() const = 0;

  static constexpr std::int64_t kPointwiseBlock = 4096;
  static constexpr std::int64_t kColumnBlock = 64;

 private:
  KernelSpec spec_;
};

/// What any kernel of `spec` would need of a core's scratchpad (the planner asks before it fuses).
Bytes scratch_bytes(const KernelSpec& spec, const std::int64_t* extents);

/// Lowers and emits. Throws Unsupported if the CPU lacks the instruction set.
std::unique_ptr<Kernel> compile(const KernelSpec& spec, Isa isa);
std::unique_ptr<Kernel> interpret(const KernelSpec& spec);
/// Runs nothing; prices and sizes as the interpreter.
std::unique_ptr<Kernel> null_kernel(const KernelSpec& spec);
/// The best instruction set of this CPU; throws Unsupported below AVX2 + FMA + F16C.
Isa best_isa();

}  // namespace spyre::kernels
