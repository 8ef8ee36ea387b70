// spyre/kernels/kernel_spec.h — the structure of one fused kernel: what is computed, over which form of loop.
//
// A spec holds no extents, no outer strides, no addresses and no scalar values; those are launch arguments.
// Equal specs share code. The printed form of a spec is what dumps and golden tests show.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/base/dtype.h"
#include "spyre/base/ids.h"
#include "spyre/kernels/numerics.h"
#include "spyre/kernels/op.h"

namespace spyre::kernels {

/// The shape of the loop nest. Dimensions run from outermost (0) to innermost (rank - 1).
enum class Form : std::uint8_t {
  Pointwise,  // every step at every point
  Row,  // dimension rank-1 is a row: reductions run along it; results are one per row and may feed
        // further element steps of the same row (softmax, norms)
  Column,  // dimension rank-2 is reduced, rank-1 is kept: results are one per (outer, column); only
           // steps on results may follow
};

/// The innermost stride of an argument, which decides the load and store instructions.
enum class InnerStride : std::uint8_t { Zero, Unit, Any };

/// A tensor, or a counter that needs no memory.
struct ArgumentSpec {
  enum class Kind : std::uint8_t { Load, Store, Iota };
  Kind kind{};
  DType dtype{};        // Iota: I64, its value is base + sum(coordinate * stride), strides in units
  InnerStride inner{};  // along dimension rank-1; Row results and row-constant inputs have Zero
  friend bool operator==(const ArgumentSpec&, const ArgumentSpec&) = default;
};

/// Where a value varies. Pointwise kernels use Uniform and Element only.
enum class Level : std::uint8_t {
  Uniform,  // one per launch (parameters)
  Result,   // one per row (Row) or per column (Column)
  Element,  // one per point
};

/// One step. Its value is numbered by its position in `steps`. Types:
/// `compute` is the type the body runs in: inputs are converted to it on the way in;
/// `result` is the storage type that the step's value is rounded to (the op boundary of law 2).
struct Step {
  enum class Kind : std::uint8_t {
    Load,    // argument -> value
    Param,   // launch parameter `argument`, bits in type `result`
    Apply,   // op on inputs
    Reduce,  // reduction of one Element value to one Result value (`result`: its type; ArgMax: I64)
    Store,   // value -> argument (converts to the argument's dtype)
  };
  Kind kind{};
  OpId op{};              // Apply
  Reduction reduction{};  // Reduce
  DType compute{}, result{};
  Level level{};
  std::uint16_t argument = 0;  // Load, Store: index in `arguments`; Param: parameter slot
  std::vector<std::uint16_t> inputs = {};
  friend bool operator==(const Step&, const Step&) = default;
};

/// The rules of one fused kernel, checked by verify().
struct KernelSpec {
  Form form{};
  std::uint8_t rank = 1;  // loop dimensions, >= 1 (Column: >= 2)
  std::uint16_t params = 0;
  Numerics numerics{};  // of every rounding to a storage type
  std::vector<ArgumentSpec> arguments = {};
  std::vector<Step> steps = {};
  friend bool operator==(const KernelSpec&, const KernelSpec&) = default;

  /// Canonical bytes: equal exactly if the specs are equal.
  std::string key() const;
  /// One line per step; stable, for dumps and golden tests.
  std::string print() const;
  /// Throws InternalError naming the step if any rule above is broken (forward references, levels, types).
  void verify() const;
};

/// Appends the micro-ops of Apply step `step` for the values of all earlier steps (`values[i]` belongs to step
/// i) and returns its value, already rounded to `result`: the meaning of an op boundary, for every engine.
/// Inputs are converted to `compute`; parameters keep float32 precision when it is float16 or bfloat16.
Value apply(Builder& b, const KernelSpec& spec, std::size_t step, std::span<const Value> values);

}  // namespace spyre::kernels
