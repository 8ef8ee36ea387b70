// spyre/lazy/graph_fixture.h — writes graphs as one writes tensor code; for *_test.cpp.
#pragma once
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "spyre/lazy/graph.h"

namespace spyre::lazy {

/// A strided tensor over a buffer of the graph.
struct TestTensor {
  std::uint32_t buffer = 0;
  DType dtype{};
  std::int64_t offset = 0;
  Dims sizes{}, strides{};

  TestTensor transposed(std::size_t a, std::size_t b) const {
    TestTensor t = *this;
    std::swap(t.sizes[a], t.sizes[b]);
    std::swap(t.strides[a], t.strides[b]);
    return t;
  }
  TestTensor slice(std::size_t dim, std::int64_t start, std::int64_t length,
                   std::int64_t step = 1) const {
    TestTensor t = *this;
    t.offset += start * strides[dim];
    t.sizes[dim] = length;
    t.strides[dim] *= step;
    return t;
  }
  /// Contiguous tensors only.
  TestTensor viewed(const Dims& shape) const {
    return {buffer, dtype, offset, shape, contiguous_strides(shape)};
  }
  /// Leading dimensions may be new; extents of 1 repeat.
  TestTensor expanded(const Dims& shape) const {
    TestTensor t{buffer, dtype, offset, shape, Dims::filled(shape.size(), 0)};
    const std::size_t lead = shape.size() - sizes.size();
    for (std::size_t d = 0; d < sizes.size(); ++d)
      t.strides[lead + d] = sizes[d] == 1 ? 0 : strides[d];
    return t;
  }
};

/// A tensor or a scalar parameter.
struct TestInput {
  TestInput(const TestTensor& t) : tensor(t) {}
  TestInput(double number) : scalar(true), value(number) {}
  TestTensor tensor{};
  bool scalar = false;
  double value = 0;
};

/// Builds one graph. Confined to one thread.
class GraphWriter {
 public:
  Graph graph;
  std::vector<std::uint64_t> params;  // bits per slot

  TestTensor input(const Dims& sizes, DType dtype = DType::F32) {
    return allocate(sizes, dtype, true);
  }
  TestTensor empty(const Dims& sizes, DType dtype = DType::F32) {
    return allocate(sizes, dtype, false);
  }
  void observe(const TestTensor& t) { graph.buffers[t.buffer].observable = true; }
  void forget(const TestTensor& t) { graph.buffers[t.buffer].observable = false; }

  /// out = op(inputs), broadcast to out's shape; computed and rounded in `compute` / `result`.
  std::uint32_t apply_into(const TestTensor& out, std::string_view op,
                           const std::vector<TestInput>& inputs, DType compute, DType result) {
    std::vector<Operand> operands;
    for (const TestInput& in : inputs) operands.push_back(operand(in, out.sizes, compute));
    return graph.add_pointwise(kernels::op_named(op), compute, result, out.sizes, operands,
                               view(out));
  }
  std::uint32_t apply_into(const TestTensor& out, std::string_view op,
                           const std::vector<TestInput>& inputs) {
    return apply_into(out, op, inputs, out.dtype, out.dtype);
  }
  /// A new tensor, unobservable, of the broadcast shape and the first tensor's type.
  TestTensor apply(std::string_view op, const std::vector<TestInput>& inputs) {
    Dims shape;
    DType dtype = DType::F32;
    bool first = true;
    for (const TestInput& in : inputs) {
      if (in.scalar) continue;
      if (std::exchange(first, false)) dtype = in.tensor.dtype;
      shape = broadcast(shape, in.tensor.sizes);
    }
    const TestTensor out = empty(shape, dtype);
    apply_into(out, op, inputs);
    return out;
  }

  /// Reduces the dimensions [first, last); they stay with extent 1.
  TestTensor reduce(kernels::Reduction reduction, const TestTensor& in, std::size_t first,
                    std::size_t last) {
    Dims shape = in.sizes;
    std::uint32_t mask = 0;
    for (std::size_t d = first; d < last; ++d) shape[d] = 1, mask |= 1U << d;
    const TestTensor out = empty(shape, in.dtype);
    TestTensor target = out;
    for (std::size_t d = first; d < last; ++d) target.strides[d] = 0;
    const auto kind = last == in.sizes.size() ? Node::Kind::Row : Node::Kind::Column;
    graph.add_reduction(kind, reduction, in.dtype, in.dtype, in.sizes, mask, view(in),
                        view(target));
    return out;
  }

  void library(const std::vector<TestTensor>& inputs, const std::vector<TestTensor>& outputs) {
    graph.add_library(windows(inputs), windows(outputs));
  }

  /// left x right, a new tensor; [rows, k] x [k, n] or with a batch before.
  TestTensor product(const TestTensor& left, const TestTensor& right) {
    Dims sizes = left.sizes;
    sizes[sizes.size() - 1] = right.sizes.back();
    const TestTensor out = empty(sizes, left.dtype);
    library({left, right}, {out});
    const std::int64_t rows = left.sizes[left.sizes.size() - 2];
    graph.nodes.back().rows = {left.sizes.size() == 3 ? left.sizes[0] : 1, rows};
    return out;
  }

  static Operand view(const TestTensor& t) {
    return Operand::view(t.buffer, t.dtype, t.offset, t.strides);
  }

 private:
  TestTensor allocate(const Dims& sizes, DType dtype, bool input) {
    const auto bytes = static_cast<std::uint64_t>(sizes.numel()) * size_of(dtype);
    return {graph.add_buffer({bytes, input, input}), dtype, 0, sizes, contiguous_strides(sizes)};
  }

  Operand operand(const TestInput& in, const Dims& shape, DType compute) {
    if (!in.scalar) return view(in.tensor.expanded(shape));
    std::uint64_t bits = 0;
    if (compute == DType::F64) {
      std::memcpy(&bits, &in.value, sizeof(double));
    } else if (is_float(compute)) {
      const auto value = static_cast<float>(in.value);
      std::memcpy(&bits, &value, sizeof(float));
    } else {
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(in.value));
    }
    params.push_back(bits);
    graph.params = static_cast<std::uint32_t>(params.size());
    return Operand::scalar(graph.params - 1, is_reduced_float(compute) ? DType::F32 : compute);
  }

  static Dims broadcast(const Dims& a, const Dims& b) {
    const Dims &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    Dims shape = longer;
    for (std::size_t d = 0; d < shorter.size(); ++d) {
      std::int64_t& extent = shape[shape.size() - shorter.size() + d];
      extent = std::max(extent, shorter[d]);
    }
    return shape;
  }

  static std::vector<Graph::LibraryWindow> windows(const std::vector<TestTensor>& tensors) {
    std::vector<Graph::LibraryWindow> result;
    for (const TestTensor& t : tensors)
      result.push_back({t.buffer, size_of(t.dtype), t.offset, t.sizes, t.strides});
    return result;
  }
};

}  // namespace spyre::lazy
