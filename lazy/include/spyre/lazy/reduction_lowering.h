// spyre/lazy/reduction_lowering.h — a reduction over any dimensions becomes Row and Column
// reductions when recorded.
//
// The decision looks at the logical shape and the reduced dimensions only, never at strides, so
// that the order of accumulation (and with it every bit of the result) does not depend on how the
// input lies in memory.
#pragma once
#include <cstdint>

#include "spyre/lazy/buffer.h"
#include "spyre/lazy/record.h"
#include "spyre/lazy/trace.h"

namespace spyre::lazy {

/// Rows up to this long are reduced in one go; longer ones in chunks of kRowChunk, whose partial
/// results are reduced again.
inline constexpr std::int64_t kLongestRow = 131072;
inline constexpr std::int64_t kRowChunk = 65536;
/// The same for columns, where there are few of them (bias gradients): many would occupy all cores whole.
inline constexpr std::int64_t kLongestColumn = 4096;
inline constexpr std::int64_t kColumnChunk = 2048;
inline constexpr std::int64_t kFewColumns = 1024;

/// Where the primitive records go.
class PrimitiveSink {
 public:
  virtual void pointwise(const Pointwise& op) = 0;
  /// Row: the reduced dimensions are the trailing ones. Column: one run of reduced dimensions with
  /// kept ones behind it. Either way the reduced run has one stride in the input, and no extent is
  /// 0.
  virtual void reduce(TraceNode::Kind kind, const Reduce& op) = 0;
  /// A buffer for values that only the records here see.
  virtual BufferRef temporary(Bytes size) = 0;

 protected:
  ~PrimitiveSink() = default;
};

void lower_reduction(const Reduce& op, PrimitiveSink& sink);

}  // namespace spyre::lazy
