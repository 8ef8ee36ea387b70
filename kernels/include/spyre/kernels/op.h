// spyre/kernels/op.h — what every operator states once, and what everything else is derived from.
//
// An op is a small struct in ops/<family>.h with three members:
//   static constexpr OpInfo info{…};                                    names, rules, bounds, meaning
//   static double ref(Doubles x);                                       independent double oracle
//   static Value body(Builder& b, Values x);                            written once over the vocabulary
// From them come: dispatcher registration (engine), shape and dtype rule, interpreter, AVX2 and AVX-512
// code, price, docs row, tests. There is no second list of ops anywhere.
#pragma once
#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include "spyre/base/dtype.h"
#include "spyre/base/ids.h"
#include "spyre/kernels/builder.h"

namespace spyre::kernels {

/// The dispatcher signature, which fixes the engine's adapter. Scalars and tensors are both inputs of
/// the body, in the order given here.
enum class Signature : std::uint8_t {
  Internal,     // no dispatcher entry: recorded by other ops (casts, row decompositions, random)
  Unary,        // f(self)
  Binary,       // f(self, other)
  BinaryAlpha,  // f(self, other, *, alpha): body gets (self, other, alpha)
  // Everything below goes through one boxed adapter that walks the schema: every Tensor argument and
  // every Scalar / float / int argument listed becomes an input in schema order.
  FromSchema,
};

/// How the compute type and the result type follow from the inputs (PyTorch's TensorIterator rules).
///
/// Tensors and Scalars of the schema take part (a Scalar as a wrapped number); `float`, `int` and `bool`
/// arguments never do.
enum class TypeRule : std::uint8_t {
  Promote,  // common type of all inputs; result the same
  PromoteTensors,  // common type of the tensor inputs; Scalars are converted to it (addcmul, threshold, where)
  OfFirst,  // the first tensor's type; the others are converted to it, and numbers must be values of it
  PromoteToFloat,  // integers compute in the default float type; result the same
  Compare,         // computed in the common type, result Bool
  ToBool,          // result Bool, computed in the input's type (logical_not, isnan, …)
};

/// What one element costs on the card's vector units.
enum class Cost : std::uint8_t { Simple, Transcendental };

struct OpInfo {
  std::string_view name;  // printed in traces, dumps, docs: "add"
  std::string_view aten;  // dispatcher overloads, ';'-separated: "add.Tensor"; functional form.
  // The in-place form ("add_.Tensor") and the out form ("add.out") are found
  // by the engine from the dispatcher's own schemas.
  Signature signature = Signature::Internal;
  std::uint8_t arity = 1;  // inputs of the body, scalars included
  TypeRule types = TypeRule::Promote;
  DTypeSet computes = kAllTypes;  // compute types with a native body; others take the host path
  Cost cost = Cost::Simple;
  double max_ulp = 0.5;  // float32/float64 bound against `ref`; 0.5 = correctly rounded
  /// Several rows may implement one overload; the engine takes the first whose `computes` has the compute
  /// type and whose `select` holds. Comma-separated terms on schema arguments:
  ///   "min" is given; "!max" is None; "approximate=tanh" or "exponent=2": the argument equals that text or
  ///   number. A term on an argument that the overload does not have is ignored.
  /// Arguments that are None or fixed by "=" are not inputs of the body, nor are strings; an optional number
  /// that no term mentions is an input with the value NaN when it is None.
  std::string_view select = {};
  /// float16/bfloat16: scalar arguments keep float32 precision (PyTorch's "opmath") instead of being rounded
  /// to the compute type: the engine then makes their Param float32.
  bool wide_scalars = false;
  /// The result may be much smaller than what it is computed from (x - y): max_ulp then counts units in the
  /// last place of the largest input or 1, whichever is greater.
  bool cancels = false;
  /// Random numbers: inputs 1 and 2 are a generator's seed and offset (see ops/random.h). A program that runs again
  /// gets others.
  bool random = false;
  std::string_view doc;  // one line
};

using Values = std::span<const Value>;
using Doubles = std::span<const double>;

/// The input values have the lanes of the compute type, b.compute() tells which one it is. The result may have
/// any lane (a Mask, a wider one); apply() converts it to the step's result type.
using BodyFunction = Value (*)(Builder&, Values);
using RefFunction = double (*)(Doubles);

struct Op {
  OpInfo info;
  BodyFunction body = nullptr;
  RefFunction ref = nullptr;
};

/// All pointwise ops, indexed by OpId. Immutable.
std::span<const Op> op_table();
const Op& op(OpId id);
/// The id of the op with that name; throws InvalidArgument with the nearest names if there is none.
OpId op_named(std::string_view name);

/// What an op struct must have; static_assert(Operator<X>) follows each.
template <class X>
concept Operator = requires(Builder& b, Values v, Doubles x) {
  { X::info } -> std::convertible_to<const OpInfo&>;
  { X::ref(x) } -> std::same_as<double>;
  { X::body(b, v) } -> std::same_as<Value>;
};

/// The ops of one family, in table order.
template <Operator... Ops> struct OpList {
  static constexpr std::size_t size = sizeof...(Ops);
  static constexpr std::array<Op, size> table{Op{Ops::info, &Ops::body, &Ops::ref}...};
};

/// Reductions are few and closed; each has its own identity, combine and finish rule.
/// The input is converted to the step's `compute` type first (sum(x, dtype=…)), the outcome to its `result`.
/// Floats accumulate in float64, integers in int64, so the order below decides the bits, and it depends on
/// the shape alone: 16 interleaved lanes along a row (lane = index mod 16), lanes folded pairwise (8, 4, 2, 1);
/// down a column in index order. A lane's sum of float32 takes its elements in runs of four, added in float32
/// first (kRun in reduction_rule.h). Sum starts from +0, Prod from 1. Max and Min: NaN wins. ArgMax and ArgMin:
/// the first NaN, else the first extreme. Any and All: NaN counts as true.
enum class Reduction : std::uint8_t { Sum, Prod, Max, Min, ArgMax, ArgMin, Any, All };
std::string_view name_of(Reduction r);

}  // namespace spyre::kernels
