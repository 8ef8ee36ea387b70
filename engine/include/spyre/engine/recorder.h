// spyre/engine/recorder.h — records primitives over torch tensors: the words of composite operators.
#pragma once
#include <ATen/core/Tensor.h>

#include <initializer_list>

#include "spyre/base/dims.h"
#include "spyre/engine/operand.h"
#include "spyre/kernels/op.h"
#include "spyre/lazy/prepared_pointwise.h"

namespace spyre::engine {

/// The most inputs that a pointwise operation has.
inline constexpr std::size_t kMaxOperands = 8;

/// One pointwise operation: which op, and the types of Types.
struct PointwiseOp {
  OpId op;
  DType compute{}, result{};
  bool may_fault = false;  // its Python line is kept, and it runs even if nobody reads the result
};

/// out = op(operands), over out's sizes, to which the operands broadcast. `out` must not overlap
/// itself; an operand that overlaps it in another way than being the same view is copied first.
/// Records nothing if out is empty.
void record_pointwise(const PointwiseOp& op, Operands operands, const at::Tensor& out);

/// The same into a new tensor of op.result, with the strides that TensorIterator would give it.
at::Tensor pointwise(const PointwiseOp& op, Operands operands);

/// The same into a contiguous tensor.
at::Tensor pointwise_contiguous(const PointwiseOp& op, Operands operands);

enum class ResultLayout : std::uint8_t { OfOperands, Contiguous };
/// What both do if no ruling is known: for callers that remember their own.
at::Tensor pointwise_by_rules(const PointwiseOp& op, Operands operands, ResultLayout layout);
/// The same operation on operands and a result of the same types, extents and strides, to be
/// recorded again and again. `out` is not empty.
lazy::PreparedPointwise prepare(const PointwiseOp& op, Operands operands, const at::Tensor& out);

/// A number in the type that the body computes in. Ops whose CPU kernels keep scalars of reduced
/// floats in float32 say so in the table.
lazy::Input number_input(const c10::Scalar& number, const kernels::OpInfo& info, DType compute);

/// A new tensor: op on operands, computed in and rounded to `type`.
at::Tensor apply(OpId op, DType type, std::initializer_list<Operand> operands);
/// The same, computed in another type than the result's.
at::Tensor apply(OpId op, DType compute, DType result, std::initializer_list<Operand> operands);
/// The same into a contiguous tensor, for operators whose CPU kernels do not keep the layout.
at::Tensor apply_contiguous(OpId op, DType compute, DType result,
                            std::initializer_list<Operand> operands);
/// The value converted to `type`; the tensor itself if it has that type.
at::Tensor converted(const at::Tensor& tensor, DType type);
/// A dense copy with the same values.
at::Tensor materialized(const at::Tensor& tensor);

/// A reduction over the dimensions whose bits are set in `dims`.
struct Reducing {
  kernels::Reduction reduction{};
  DType compute{}, result{};
  std::uint32_t dims = 0;
  bool reduces(std::size_t dim) const { return ((dims >> dim) & 1U) != 0; }
};
/// The result is dense; with `keep`, reduced dimensions stay with extent 1.
at::Tensor reduce(const Reducing& how, const at::Tensor& input, bool keep);

/// Ids of the table's ops that composite operators use.
struct Vocabulary {
  OpId abs, add, add_scaled, affine, copy, div, exp, isnan, log, lt, mul, ne, pow, reciprocal,
      rsqrt, sqrt, square, sub, where;
};
const Vocabulary& words();

}  // namespace spyre::engine
