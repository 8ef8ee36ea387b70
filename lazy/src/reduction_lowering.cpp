// spyre/lazy/reduction_lowering.cpp — runs of reduced dimensions are taken from the innermost
// outwards.
//
// A run is a maximal sequence of neighbouring reduced dimensions (extents of 1 belong to whatever
// stands next to them). While there are several, the innermost run is reduced into a dense
// intermediate of the accumulator's type, so nothing is rounded in between. The last run is the Row
// or the Column that writes the output.
#include "spyre/lazy/reduction_lowering.h"

#include <array>
#include <initializer_list>

#include "spyre/base/dims.h"
#include "spyre/base/error.h"

namespace spyre::lazy {
namespace {

using kernels::Reduction;

/// A reduction that is still to be done; owns its shape.
struct Problem {
  Reduction reduction{};
  DType compute{}, result{};
  Dims sizes, input_strides, output_strides;
  std::uint32_t reduced = 0;
  View input, output;
  BufferRef keep_input;  // set if the input is an intermediate
  std::uint32_t source = 0;

  bool reduces(std::size_t dim) const { return (reduced >> dim & 1U) != 0; }
};

/// Neighbouring reduced dimensions [first, last).
struct Run {
  std::size_t first = 0, last = 0;
};

bool is_arg(Reduction r) { return r == Reduction::ArgMax || r == Reduction::ArgMin; }

/// The type that partial results have: nothing may be lost between the stages.
DType accumulator_of(Reduction reduction, DType compute) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Prod: return is_float(compute) ? DType::F64 : DType::I64;
    case Reduction::Any:
    case Reduction::All: return DType::Bool;
    default: return compute;
  }
}

Problem problem_of(const Reduce& op) {
  Problem p{op.reduction,
            op.compute,
            op.result,
            Dims(op.sizes),
            Dims(op.input.strides),
            Dims(op.output.strides),
            op.reduced,
            op.input,
            op.output,
            {},
            op.source};
  if (p.reduced == 0) {  // over nothing: one element per point
    p.reduced = 1U << p.sizes.size();
    p.sizes.push_back(1);
    p.input_strides.push_back(0);
    p.output_strides.push_back(0);
  }
  return p;
}

/// Gives extents of 1 the class of their inner neighbour (at the inner end: of the outer one), as
/// far as one reduced dimension remains. Reducing over an extent of 1, or keeping it, is the same.
void absorb_unit_dimensions(Problem& p) {
  std::uint32_t wide = 0;
  for (std::size_t i = 0; i < p.sizes.size(); ++i)
    wide |= static_cast<std::uint32_t>(p.sizes[i] != 1) << i;
  if ((p.reduced & wide) == 0) {  // one unit dimension must stay reduced: the innermost
    std::size_t last = p.sizes.size() - 1;
    while (!p.reduces(last)) --last;
    p.reduced = 1U << last;
    wide |= 1U << last;
  }
  bool have_class = false, inner_class = false;
  std::uint32_t result = p.reduced & wide;
  for (std::size_t i = p.sizes.size(); i-- > 0;) {
    if ((wide >> i & 1U) != 0) {
      inner_class = p.reduces(i);
      if (!have_class)
        for (std::size_t j = i + 1; j < p.sizes.size(); ++j)
          result |= static_cast<std::uint32_t>(inner_class) << j;
      have_class = true;
    } else if (have_class) {
      result |= static_cast<std::uint32_t>(inner_class) << i;
    }
  }
  p.reduced = result;
  for (std::size_t i = 0; i < p.sizes.size(); ++i)
    if (p.reduces(i)) p.output_strides[i] = 0;
}

Run innermost_run(const Problem& p) {
  std::size_t last = p.sizes.size();
  while (!p.reduces(last - 1)) --last;
  std::size_t first = last;
  while (first > 0 && p.reduces(first - 1)) --first;
  return {first, last};
}

std::int64_t extent_of(const Problem& p, Run run) {
  std::int64_t n = 1;
  for (std::size_t i = run.first; i < run.last; ++i) n *= p.sizes[i];
  return n;
}

/// The run's stride in the input if it has just one.
bool has_one_stride(const Problem& p, Run run, std::int64_t& stride) {
  stride = 0;
  std::int64_t expected = 0;
  bool seen = false;
  for (std::size_t i = run.last; i-- > run.first;) {
    if (p.sizes[i] == 1) continue;
    if (!seen) stride = p.input_strides[i];
    else if (p.input_strides[i] != expected) return false;
    seen = true;
    expected = p.input_strides[i] * p.sizes[i];
  }
  return true;
}

Dims without_reduced(const Problem& p, std::uint32_t mask) {
  Dims kept;
  for (std::size_t i = 0; i < p.sizes.size(); ++i)
    if ((mask >> i & 1U) == 0) kept.push_back(p.sizes[i]);
  return kept;
}

Reduce record_of(const Problem& p, std::uint32_t mask) {
  Reduce op{p.reduction, p.compute, p.result, p.sizes.span(), mask, p.input, p.output, p.source};
  op.input.strides = p.input_strides.span();
  op.output.strides = p.output_strides.span();
  return op;
}

void cast_into(const Problem& p, const Input& from, const Dims& sizes, const View& to, DType type,
               PrimitiveSink& sink) {
  sink.pointwise({.op = kernels::op_named("cast"),
                  .compute = type,
                  .result = type,
                  .sizes = sizes.span(),
                  .inputs = std::span(&from, 1),
                  .output = to,
                  .source = p.source});
}

/// A dense copy of the input, so that its runs have one stride.
void make_dense(Problem& p, PrimitiveSink& sink) {
  const DType type = p.input.dtype;
  BufferRef copy = sink.temporary({static_cast<std::uint64_t>(p.sizes.numel()) * size_of(type)});
  const Dims strides = contiguous_strides(p.sizes);
  View from = p.input;
  from.strides = p.input_strides.span();
  cast_into(p, Input::of(from), p.sizes, {copy.get(), type, 0, strides.span()}, type, sink);
  p.input_strides = strides;
  p.input = {copy.get(), type, 0, {}};
  p.keep_input = std::move(copy);
}

/// What remains after the innermost run went into a dense intermediate with the extents `sizes`.
Problem second_stage(const Problem& p, const Dims& sizes, PrimitiveSink& sink) {
  Problem next;
  next.reduction = p.reduction;
  next.compute = accumulator_of(p.reduction, p.compute);
  next.result = p.result;
  next.sizes = sizes;
  next.input_strides = contiguous_strides(sizes);
  next.output = p.output;
  next.source = p.source;
  next.keep_input =
      sink.temporary({static_cast<std::uint64_t>(sizes.numel()) * size_of(next.compute)});
  next.input = {next.keep_input.get(), next.compute, 0, {}};
  return next;
}

/// Reduces `run` alone; the others are kept.
Problem reduce_innermost(const Problem& p, Run run, PrimitiveSink& sink) {
  std::uint32_t mask = 0;
  for (std::size_t i = run.first; i < run.last; ++i) mask |= 1U << i;
  Problem next = second_stage(p, without_reduced(p, mask), sink);
  Problem stage = p;
  stage.result = next.compute;
  stage.output = next.input;
  for (std::size_t i = 0, at = 0; i < p.sizes.size(); ++i) {
    const bool kept = (mask >> i & 1U) == 0;
    stage.output_strides[i] = kept ? next.input_strides[at] : 0;
    if (!kept) continue;
    next.output_strides.push_back(p.output_strides[i]);
    next.reduced |= static_cast<std::uint32_t>(p.reduces(i)) << at;
    ++at;
  }
  const bool row = run.last == p.sizes.size();
  sink.reduce(row ? TraceNode::Kind::Row : TraceNode::Kind::Column, record_of(stage, mask));
  return next;
}

/// `before`, what replaces the run, and what stands behind it.
Dims around(const Dims& dims, Run run, std::initializer_list<std::int64_t> middle) {
  Dims all = dims;
  all.resize(run.first);
  for (const std::int64_t m : middle) all.push_back(m);
  for (std::size_t i = run.last; i < dims.size(); ++i) all.push_back(dims[i]);
  return all;
}

/// A run in pieces of `chunk` elements, of which the last may be shorter.
struct Pieces {
  std::int64_t chunk = 0, whole = 0, tail = 0;

  Pieces(std::int64_t extent, std::int64_t size)
      : chunk(size), whole(extent / size), tail(extent % size) {}
  std::int64_t count() const { return whole + (tail != 0 ? 1 : 0); }
};

/// Reduces `count` pieces of `length` elements, the first of which is `piece`, into their partial results.
void reduce_pieces(const Problem& p, Run run, const Problem& partials, const Pieces& pieces,
                   std::int64_t piece, std::int64_t count, std::int64_t length,
                   PrimitiveSink& sink) {
  std::int64_t stride = 0;
  has_one_stride(p, run, stride);
  const std::int64_t slot = partials.input_strides[run.first];
  const Run slots{run.first, run.first + 1};
  Problem stage = p;
  stage.result = partials.compute;
  stage.output = partials.input;
  stage.output.offset += piece * slot;
  stage.input.offset += piece * pieces.chunk * stride;
  stage.sizes = around(p.sizes, run, {count, length});
  stage.input_strides = around(p.input_strides, run, {pieces.chunk * stride, stride});
  stage.output_strides = around(partials.input_strides, slots, {slot, 0});
  const bool row = run.last == p.sizes.size();
  sink.reduce(row ? TraceNode::Kind::Row : TraceNode::Kind::Column,
              record_of(stage, 1U << (run.first + 1)));
}

/// Splits a long run; returns the reduction of its partial results.
Problem split_run(const Problem& p, Run run, std::int64_t chunk, PrimitiveSink& sink) {
  const Pieces pieces(extent_of(p, run), chunk);
  Problem partials = second_stage(p, around(p.sizes, run, {pieces.count()}), sink);
  partials.output_strides = around(p.output_strides, run, {0});
  partials.reduced = (p.reduced & ((1U << run.first) - 1)) | 1U << run.first;
  reduce_pieces(p, run, partials, pieces, 0, pieces.whole, pieces.chunk, sink);
  if (pieces.tail != 0) reduce_pieces(p, run, partials, pieces, pieces.whole, 1, pieces.tail, sink);
  return partials;
}

/// The length of the pieces that a run is cut into; 0: it stays whole. Few columns occupy few cores, so those are
/// cut earlier.
std::int64_t chunk_of(const Problem& p, Run run) {
  const std::int64_t extent = extent_of(p, run);
  if (is_arg(p.reduction)) return 0;
  if (run.last == p.sizes.size()) return extent > kLongestRow ? kRowChunk : 0;
  if (extent <= kLongestColumn || p.sizes.numel() / extent > kFewColumns) return 0;
  // Pieces without a remainder are one reduction, which whatever makes the elements may join.
  for (std::int64_t chunk = kColumnChunk; chunk > kColumnChunk / 4; --chunk)
    if (extent % chunk == 0) return chunk;
  return kColumnChunk;
}

/// No point is reduced: the output is the reduction's identity.
void fill_identity(const Problem& p, PrimitiveSink& sink) {
  const bool one = p.reduction == Reduction::Prod || p.reduction == Reduction::All;
  const Dims sizes = without_reduced(p, p.reduced);
  Dims strides;
  for (std::size_t i = 0; i < p.sizes.size(); ++i)
    if (!p.reduces(i)) strides.push_back(p.output_strides[i]);
  View to = p.output;
  to.strides = strides.span();
  cast_into(p, Input::of_int(one ? 1 : 0, p.result), sizes, to, p.result, sink);
}

}  // namespace

void lower_reduction(const Reduce& op, PrimitiveSink& sink) {
  Problem p = problem_of(op);
  if (without_reduced(p, p.reduced).numel() == 0) return;
  if (p.sizes.numel() == 0) return fill_identity(p, sink);
  absorb_unit_dimensions(p);
  for (;;) {
    const Run run = innermost_run(p);
    std::int64_t stride = 0;
    if (!has_one_stride(p, run, stride)) make_dense(p, sink);
    const bool row = run.last == p.sizes.size();
    if (const std::int64_t chunk = chunk_of(p, run); chunk != 0) {
      p = split_run(p, run, chunk, sink);
      continue;
    }
    std::uint32_t others = p.reduced;
    for (std::size_t i = run.first; i < run.last; ++i) others &= ~(1U << i);
    if (others == 0)
      return sink.reduce(row ? TraceNode::Kind::Row : TraceNode::Kind::Column,
                         record_of(p, p.reduced));
    ensure(!is_arg(p.reduction), "an index reduction has one reduced dimension");
    p = reduce_innermost(p, run, sink);
  }
}

}  // namespace spyre::lazy
