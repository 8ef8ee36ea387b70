// spyre/lazy/pipeline_fuzz_test.cpp — random plans give the bits of node by node.
//
// Programs mix views, in-place writes, overlaps, broadcasts, reshapes, reductions and dead values.
// Each runs on host memory through all passes (interpreted and as machine code), one kernel per
// node, and, if it has only int32 values, through a plain evaluator that shares nothing with the
// compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <random>

#include "access.h"
#include "graph_fixture.h"
#include "host_machine.h"
#include "spyre/lazy/graph_printer.h"

namespace spyre::lazy {
namespace {

using kernels::Reduction;

constexpr std::string_view kNoPasses =
    "-constants,-duplicates,-dead_code,-fuse_rows,-fuse_columns,-fuse_pointwise";

/// Writes one random program. Confined to one thread.
class RandomProgram {
 public:
  RandomProgram(unsigned seed, bool integers) : random_(seed), integers_(integers) {
    const std::int64_t a = pick({2, 3, 4}), b = pick({2, 3, 5}), c = pick({1, 2, 4, 16, 33, 70});
    shapes_ = {{a, b, c}, {a * b, c}, {a, b * c}, {a * b * c}, {b, c}, {c},
               {a, b, 1}, {a * b, 1}, {c, b, a},  {a, 1, c},   {1}};
    for (int i = 0; i < 5; ++i) pool_.push_back(w.input(shapes_[below(shapes_.size())], type()));
    const std::size_t steps = 1 + below(30);
    for (std::size_t i = 0; i < steps; ++i) step();
    for (const TestTensor& t : pool_)
      if (below(4) == 0) w.observe(t);
    for (const TestTensor& t : pool_)
      if (below(8) == 0) w.forget(t);
  }

  GraphWriter w;

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::int64_t pick(std::initializer_list<std::int64_t> values) {
    return values.begin()[below(values.size())];
  }
  const TestTensor& any() {
    return pool_[pool_.size() - 1 - std::min(below(pool_.size()), below(pool_.size()))];
  }
  DType type() {
    if (integers_) return DType::I32;
    constexpr DType kTypes[] = {DType::F32, DType::F32,  DType::F32,
                                DType::F16, DType::BF16, DType::I32};
    return kTypes[below(std::size(kTypes))];
  }

  void step() {
    switch (below(12)) {
      case 0:
      case 1: add_view(); break;
      case 2:
      case 3: reduce(); break;
      case 4:
      case 5:
      case 6: in_place(); break;
      case 7:
        if (below(3) == 0) library();
        break;
      default: into_new(); break;
    }
  }

  void add_view() {
    TestTensor t = any();
    const std::size_t d = below(t.sizes.size());
    switch (below(3)) {
      case 0: t = t.transposed(d, below(2) ? 0 : below(t.sizes.size())); break;
      case 1:
        if (t.sizes[d] > 1) t = t.slice(d, static_cast<std::int64_t>(below(2)), t.sizes[d] - 1);
        break;
      default:
        if (t.sizes[d] > 3) t = t.slice(d, static_cast<std::int64_t>(below(2)), t.sizes[d] / 2, 2);
        break;
    }
    pool_.push_back(t);
  }

  /// `t` as an operand of an operation over `shape`, if views allow.
  static std::optional<TestTensor> fitted(const TestTensor& t, const Dims& shape) {
    if (t.sizes == shape) return t;
    if (t.sizes.numel() == shape.numel() && t.strides == contiguous_strides(t.sizes))
      return t.viewed(shape);
    if (t.sizes.size() > shape.size()) return std::nullopt;
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
      const std::int64_t extent = t.sizes[t.sizes.size() - 1 - d];
      if (extent != 1 && extent != shape[shape.size() - 1 - d]) return std::nullopt;
    }
    return t.expanded(shape);
  }

  TestInput operand(const Dims& shape) {
    for (int attempt = 0; attempt < 10; ++attempt)
      if (const auto t = fitted(any(), shape)) return *t;
    return static_cast<double>(below(3)) + (integers_ ? 0 : 0.5);
  }

  void fill(const TestTensor& out) {
    w.apply_into(out, "cast", {static_cast<double>(below(3))});
    written_.push_back(out.buffer);
  }

  /// A counter, converted to the type of `out`.
  void count(const TestTensor& out) {
    Dims strides;
    for (std::size_t d = 0; d < out.sizes.size(); ++d) strides.push_back(pick({0, 1, 1, 2, -1, 5}));
    w.params.push_back(below(100));
    w.graph.params = static_cast<std::uint32_t>(w.params.size());
    const Operand iota = Operand::iota(w.graph.params - 1, strides);
    w.graph.add_pointwise(kernels::op_named("cast"), DType::I64, DType::I64, out.sizes, {&iota, 1},
                          GraphWriter::view(out));
    written_.push_back(out.buffer);
  }

  void into_new() {
    const Dims shape = below(2) ? any().sizes : shapes_[below(shapes_.size())];
    const TestTensor out = w.empty(shape, type());
    const std::size_t kind = below(10);
    if (kind == 0) count(out);
    else if (kind == 1) fill(out);
    else if (!write(out)) return;
    pool_.push_back(out);
  }

  void in_place() {
    TestTensor out = any();
    if (below(3) == 0) out = pool_[below(5)];
    write(out);
  }

  bool write(const TestTensor& out) {
    constexpr std::string_view kOps[] = {"add", "add_scaled", "sub_scaled", "mul",  "maximum",
                                         "neg", "abs",        "relu",       "cast", "where"};
    const std::string_view op = kOps[below(std::size(kOps))];
    std::vector<TestInput> inputs;
    const std::size_t arity = kernels::op(kernels::op_named(op)).info.arity;
    const bool scaled = op.ends_with("_scaled");
    inputs.reserve(arity);
    for (std::size_t i = 0; i < arity - scaled; ++i)
      inputs.push_back(i == 0 && below(2) ? TestInput(out) : operand(out.sizes));
    if (scaled) inputs.emplace_back(2.0);
    for (const TestInput& in : inputs)
      if (!in.scalar && in.tensor.buffer == out.buffer &&
          !legal_overlap(in.tensor.expanded(out.sizes), out))
        return false;
    if (!is_written(out) && std::ranges::any_of(inputs, [&](const TestInput& in) {
          return !in.scalar && in.tensor.buffer == out.buffer;
        }))
      return false;
    const DType compute = integers_ ? DType::I32 : below(3) ? DType::F32 : out.dtype;
    w.apply_into(out, op, inputs, compute, below(2) ? compute : out.dtype);
    written_.push_back(out.buffer);
    return true;
  }

  bool is_written(const TestTensor& t) const {
    return w.graph.buffers[t.buffer].written_before ||
           std::ranges::find(written_, t.buffer) != written_.end();
  }

  bool legal_overlap(const TestTensor& in, const TestTensor& out) const {
    if (in.sizes == out.sizes && in.strides == out.strides && in.offset == out.offset) return true;
    GraphWriter probe;
    probe.graph.buffers.resize(out.buffer + 1);
    const Operand operands[] = {GraphWriter::view(in)};
    probe.graph.add_pointwise(OpId{}, in.dtype, in.dtype, out.sizes, operands,
                              GraphWriter::view(out));
    const Node& node = probe.graph.nodes[0];
    const Relation relation =
        relate(access_of(probe.graph, node, 0), access_of(probe.graph, node, 1));
    return relation == Relation::Disjoint || relation == Relation::Same;
  }

  void reduce() {
    const TestTensor& t = any();
    const std::size_t first = below(t.sizes.size()),
                      last = first + 1 + below(t.sizes.size() - first);
    for (std::size_t d = first; d + 1 < last; ++d)
      if (t.strides[d] != t.strides[d + 1] * t.sizes[d + 1] || t.sizes[d] == 1 ||
          t.sizes[d + 1] == 1)
        return;
    constexpr Reduction kReductions[] = {Reduction::Sum, Reduction::Sum, Reduction::Max,
                                         Reduction::Min, Reduction::Any};
    const TestTensor out = w.reduce(kReductions[below(std::size(kReductions))], t, first, last);
    written_.push_back(out.buffer);
    pool_.push_back(out);
  }

  void library() {
    const TestTensor &from = any(), &to = any();
    const auto whole = [&](const TestTensor& t) {
      const auto n = static_cast<std::int64_t>(w.graph.buffers[t.buffer].bytes / size_of(t.dtype));
      return TestTensor{t.buffer, t.dtype, 0, {n}, {1}};
    };
    if (from.dtype != to.dtype || from.buffer == to.buffer ||
        w.graph.buffers[from.buffer].bytes < w.graph.buffers[to.buffer].bytes)
      return;
    w.library({whole(from)}, {whole(to)});
  }

  std::mt19937 random_;
  bool integers_;
  std::vector<Dims> shapes_;
  std::vector<TestTensor> pool_;
  std::vector<std::uint32_t> written_;
};

/// Evaluates int32 graphs by the definition of each node. Confined to one thread.
struct PlainEvaluator {
  const GraphWriter& w;
  std::vector<std::vector<std::byte>>& memory;

  std::int32_t& at(const Operand& o, const Dims& point) {
    std::int64_t element = o.offset;
    for (std::size_t d = 0; d < point.size(); ++d) element += point[d] * o.strides[d];
    return reinterpret_cast<std::int32_t*>(memory[o.index].data())[element];
  }

  std::int64_t value(const Operand& o, const Dims& point) {
    if (o.is_view()) return at(o, point);
    if (o.kind == Operand::Kind::Scalar) return static_cast<std::int32_t>(w.params[o.index]);
    auto number = static_cast<std::int64_t>(w.params[o.index]);
    for (std::size_t d = 0; d < point.size(); ++d) number += point[d] * o.strides[d];
    return number;
  }

  static std::int64_t apply(std::string_view op, std::span<const std::int64_t> x) {
    if (op == "add") return x[0] + x[1];
    if (op == "add_scaled") return x[0] + x[1] * x[2];
    if (op == "sub_scaled") return x[0] - x[1] * x[2];
    if (op == "mul") return x[0] * x[1];
    if (op == "maximum") return std::max(x[0], x[1]);
    if (op == "neg") return -x[0];
    if (op == "abs") return static_cast<std::int32_t>(std::abs(x[0]));
    if (op == "relu") return std::max<std::int64_t>(x[0], 0);
    if (op == "where") return x[0] != 0 ? x[1] : x[2];
    return x[0];
  }

  template <class Visit> static void for_each_point(const Dims& sizes, Visit visit) {
    Dims point = Dims::filled(sizes.size(), 0);
    for (std::int64_t i = 0; i < sizes.numel(); ++i) {
      visit(point);
      for (std::size_t d = sizes.size(); d-- > 0;) {
        if (++point[d] < sizes[d]) break;
        point[d] = 0;
      }
    }
  }

  void pointwise(const Node& node) {
    const std::string_view op = kernels::op(node.op).info.name;
    for_each_point(node.sizes, [&](const Dims& point) {
      std::vector<std::int64_t> x;
      for (const Operand& o : w.graph.inputs(node)) x.push_back(value(o, point));
      at(w.graph.output(node), point) = static_cast<std::int32_t>(apply(op, x));
    });
  }

  void reduce(const Node& node) {
    const Operand &in = w.graph.inputs(node)[0], &out = w.graph.output(node);
    const auto combine = [&](std::int64_t x, std::int64_t y) -> std::int64_t {
      switch (node.reduction) {
        case Reduction::Sum: return x + y;
        case Reduction::Max: return std::max(x, y);
        case Reduction::Min: return std::min(x, y);
        default: return x != 0 || y != 0;
      }
    };
    const std::int32_t first = node.reduction == Reduction::Max   ? INT32_MIN
                               : node.reduction == Reduction::Min ? INT32_MAX
                                                                  : 0;
    for_each_point(node.sizes, [&](const Dims& p) { at(out, p) = first; });
    for_each_point(node.sizes, [&](const Dims& p) {
      at(out, p) = static_cast<std::int32_t>(combine(at(out, p), at(in, p)));
    });
  }

  void run() {
    for (const Node& node : w.graph.nodes) {
      if (node.kind == Node::Kind::Pointwise) pointwise(node);
      else if (node.is_reduction()) reduce(node);
      else
        std::ranges::copy_n(memory[w.graph.inputs(node)[0].index].begin(),
                            static_cast<std::ptrdiff_t>(memory[w.graph.output(node).index].size()),
                            memory[w.graph.output(node).index].begin());
    }
  }
};

/// Contents before the trace; `garbage` fills what no one may read before writing it.
std::vector<std::vector<std::byte>> initial_memory(const GraphWriter& w,
                                                   const std::vector<DType>& types, unsigned seed,
                                                   std::byte garbage) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t b = 0; b < w.graph.buffers.size(); ++b) {
    const BufferFacts& facts = w.graph.buffers[b];
    auto& bytes = memory.emplace_back(facts.bytes, facts.written_before ? std::byte{} : garbage);
    if (!facts.written_before) continue;
    for (std::size_t i = 0; i + size_of(types[b]) <= bytes.size(); i += size_of(types[b])) {
      const int number = static_cast<int>(random() % 9) - 4;
      const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(number) * 0.375F);
      const std::uint32_t bits = types[b] == DType::I32    ? static_cast<std::uint32_t>(number)
                                 : types[b] == DType::BF16 ? f32 >> 16
                                 : types[b] == DType::F16
                                     ? 0x3800U + static_cast<std::uint32_t>(number) * 77
                                     : f32;
      std::memcpy(&bytes[i], &bits, size_of(types[b]));
    }
  }
  return memory;
}

std::vector<DType> types_of(const Graph& graph) {
  std::vector<DType> types(graph.buffers.size(), DType::F32);
  for (const Node& node : graph.nodes)
    if (node.kind != Node::Kind::Library)
      for (const Operand& o : graph.all_operands(node))
        if (o.is_view()) types[o.index] = o.dtype;
  return types;
}

void expect_equal(const Graph& graph, const std::vector<std::vector<std::byte>>& a,
                  const std::vector<std::vector<std::byte>>& b, const std::string& what) {
  for (std::size_t i = 0; i < graph.buffers.size(); ++i)
    ASSERT_TRUE(!graph.buffers[i].observable || a[i] == b[i])
        << what << ": buffer b" << i << " differs";
}

void check_program(unsigned seed, bool integers, std::size_t& nodes, std::size_t& groups) {
  RandomProgram program(seed, integers);
  const GraphWriter& w = program.w;
  const std::vector<DType> types = types_of(w.graph);
  const Plan fused = run_pipeline(w.graph, {.verify = true});
  const Plan single = run_pipeline(w.graph, {.passes = kNoPasses, .verify = true});
  nodes += single.groups.size();
  groups += fused.groups.size();
  const std::string story = str("seed ", seed, "\n", print(w.graph), print(fused));

  HostMachine a{initial_memory(w, types, seed, std::byte{0x35})},
      b{initial_memory(w, types, seed, std::byte{0x2a})};
  HostMachine c{initial_memory(w, types, seed, std::byte{0x4c}), kernels::Execution::Vector};
  a.run(fused, w.params);
  b.run(single, w.params);
  c.run(fused, w.params);
  expect_equal(w.graph, a.memory, b.memory, "fused against single: " + story);
  expect_equal(w.graph, c.memory, b.memory, "machine code against single: " + story);
  if (!integers) return;
  auto memory = initial_memory(w, types, seed, std::byte{0x11});
  PlainEvaluator{w, memory}.run();
  expect_equal(w.graph, b.memory, memory, "single against plain: " + story);
}

void check_programs(bool integers, unsigned first, unsigned count) {
  std::size_t nodes = 0, groups = 0;
  for (unsigned seed = first; seed < first + count && !testing::Test::HasFatalFailure(); ++seed)
    check_program(seed, integers, nodes, groups);
  EXPECT_LT(groups * 10, nodes * 7) << "fusion hardly happens";
}

TEST(PipelineFuzz, IntegerProgramsKeepTheirMeaning) { check_programs(true, 1, 1500); }
TEST(PipelineFuzz, FloatProgramsKeepTheirBits) { check_programs(false, 10'000, 1500); }

}  // namespace
}  // namespace spyre::lazy
