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
  spyre::lazy::results();
}
