// spyre/lazy/device_bench.cpp — what does recording cost, what does a hit cost, and how soon is one
// op's result there?
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/lazy/device.h"

namespace spyre::lazy {
namespace {

constexpr StreamId kStream{0};
constexpr int kRounds = 15;
constexpr int kShortTrace = 60;

/// The best of several rounds, in ns for each of `count` repetitions.
template <class Body> double best_ns(int count, Body&& body) {
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) body();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / count);
  }
  return best;
}

struct Bench {
  explicit Bench(const Settings& settings) : device(spec(), settings) {
    const std::vector<float> ones(8, 1.0F);
    for (BufferRef* buffer : {&a, &b})
      device.upload(kStream, **buffer, {}, reinterpret_cast<const std::byte*>(ones.data()), 32_B,
                    true);
  }

  static device_sim::DeviceSpec spec() {
    device_sim::DeviceSpec spec;
    spec.capacity = 256_MiB;
    return spec;
  }

  View view(const BufferRef& buffer) const { return {buffer.get(), DType::F32, 0, strides.span()}; }
  void add(const BufferRef& x, const BufferRef& y, const BufferRef& out) {
    const Input inputs[]{Input::of(view(x)), Input::of(view(y))};
    device.record(kStream,
                  Pointwise{next_op(), DType::F32, DType::F32, sizes.span(), inputs, view(out), 0});
  }
  /// A chain of `nodes` ops with temporaries in between.
  BufferRef chain(int nodes) {
    restart();
    BufferRef x = a;
    for (int i = 0; i < nodes; ++i) {
      BufferRef next = device.create_buffer(32_B);
      add(x, b, next);
      x = std::move(next);
    }
    return x;
  }

  Device device;
  /// A sequence without periods: nothing in it looks like a step that starts over.
  OpId next_op() {
    seed = seed * 1664525U + 1013904223U;
    return ops[seed >> 30];
  }
  void restart() { seed = 1; }

  std::array<OpId, 4> ops{kernels::op_named("mul"), kernels::op_named("div"),
                          kernels::op_named("maximum"), kernels::op_named("minimum")};
  std::uint32_t seed = 1;
  Dims sizes{2, 4}, strides{4, 1};
  BufferRef a = device.create_buffer(32_B), b = device.create_buffer(32_B);
};

/// The best of several rounds, in ns for one recorded op: a trace too short to be cut, not its flush.
template <class Record> double record_ns(Bench& bench, Record&& record) {
  double best = 1e18;
  for (int round = 0; round < 40 * kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    record();
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / kShortTrace);
    bench.device.synchronize(kStream);
  }
  return best;
}

void recording() {
  Bench bench({});
  const BufferRef out = bench.device.create_buffer(32_B);
  const double same = record_ns(bench, [&] {
    bench.restart();
    for (int i = 0; i < kShortTrace; ++i) bench.add(bench.a, bench.b, out);
  });
  std::printf("record, 2 inputs                    %8.0f ns/op\n", same);
  const double fresh = record_ns(bench, [&] { bench.chain(kShortTrace); });
  std::printf("record, 2 inputs, new buffer        %8.0f ns/op\n", fresh);
}

void hits() {
  Settings settings;
  settings.execution = kernels::Execution::Null;  // everything except the arithmetic
  Bench bench(settings);
  for (const int nodes : {1, 16, 256}) {
    double best = 1e18;
    for (int round = 0; round < 40 * kRounds; ++round) {
      const BufferRef y = bench.chain(nodes);
      const auto start = std::chrono::steady_clock::now();
      bench.device.synchronize(kStream);
      const std::chrono::duration<double, std::nano> time =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count());
    }
    std::printf("hit, %3d nodes: flush to done        %8.0f ns\n", nodes, best);
  }
}

/// Six operations and the sum of each row, on a number of rows that no plan is known for.
void run_program(Device& device, std::int64_t rows) {
  constexpr std::int64_t kColumns = 64;
  const Dims sizes{rows, kColumns}, strides{kColumns, 1}, sum_strides{1, 0}, row_sizes{rows},
      row_strides{1};
  const auto make = [&](std::int64_t elements) {
    return device.create_buffer({static_cast<std::uint64_t>(elements) * sizeof(float)});
  };
  const auto view = [](const BufferRef& buffer, const Dims& s) {
    return View{buffer.get(), DType::F32, 0, s.span()};
  };
  const auto apply = [&](const char* op, const Dims& space, const Dims& s,
                         std::vector<Input> inputs) {
    BufferRef out = make(space.numel());
    device.record(kStream, Pointwise{kernels::op_named(op), DType::F32, DType::F32, space.span(),
                                     inputs, view(out, s), 0});
    return out;
  };
  const auto number = [](double value) { return Input::of_double(value, DType::F32); };
  const BufferRef x = apply("add", sizes, strides, {number(0.5), number(0.5)});
  BufferRef y = apply("mul", sizes, strides, {Input::of(view(x, strides)), number(1.5)});
  y = apply("add", sizes, strides, {Input::of(view(y, strides)), number(0.5)});
  y = apply("mul", sizes, strides, {Input::of(view(y, strides)), Input::of(view(y, strides))});
  y = apply("sub", sizes, strides, {Input::of(view(y, strides)), Input::of(view(x, strides))});
  y = apply("mul", sizes, strides, {Input::of(view(y, strides)), number(0.25)});
  const BufferRef sums = make(rows);
  device.record(kStream, Reduce{kernels::Reduction::Sum, DType::F32, DType::F32, sizes.span(), 2,
                                view(y, strides), view(sums, sum_strides), 0});
  const BufferRef result =
      apply("add", row_sizes, row_strides, {Input::of(view(sums, row_strides)), number(1)});
  y = {};
  device.synchronize(kStream);
}

void new_sizes() {
  Settings settings;
  settings.execution = kernels::Execution::Null;
  constexpr int kSizes = 400;
  double best = 1e18;
  for (int round = 0; round < 5; ++round) {
    Device device(Bench::spec(), settings);
    run_program(device, 1000);
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t rows = 1; rows <= kSizes; ++rows) run_program(device, rows);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / kSizes);
  }
  std::printf("a program of 8 ops on a new size     %8.0f ns\n", best);
}

void results() {
  Settings settings;
  settings.isa = kernels::best_isa();
  Bench bench(settings);
  float value = 0;
  const double item = best_ns(2000, [&] {
    const BufferRef y = bench.chain(1);
    bench.device.download(kStream, *y, {}, reinterpret_cast<std::byte*>(&value), 4_B,
                          FlushReason::Item);
  });
  std::printf("one op on 8 elements to host value   %8.0f ns\n", item);
  const double sync = best_ns(2000, [&] {
    const BufferRef y = bench.chain(1);
    bench.device.synchronize(kStream);
  });
  std::printf("one op on 8 elements to done         %8.0f ns\n", sync);
}

}  // namespace
}  // namespace spyre::lazy

int main() {
  spyre::lazy::recording();
  spyre::lazy::hits();
  spyre::lazy::new_sizes();
  spyre::lazy::results();
}
