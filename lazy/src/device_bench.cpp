// spyre/lazy/device_bench.cpp — what does recording cost, what does a hit cost, and how soon is one
// op's result there?
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "spyre/base/dims.h"
#include "spyre/lazy/device.h"

namespace spyre::lazy {
namespace {

constexpr StreamId kStream{0};
constexpr int kRounds = 15;

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
                  Pointwise{mul, DType::F32, DType::F32, sizes.span(), inputs, view(out), 0});
  }
  /// A chain of `nodes` ops with temporaries in between.
  BufferRef chain(int nodes) {
    BufferRef x = a;
    for (int i = 0; i < nodes; ++i) {
      BufferRef next = device.create_buffer(32_B);
      add(x, b, next);
      x = std::move(next);
    }
    return x;
  }

  Device device;
  OpId mul = kernels::op_named("mul");
  Dims sizes{2, 4}, strides{4, 1};
  BufferRef a = device.create_buffer(32_B), b = device.create_buffer(32_B);
};

void recording() {
  Bench bench({});
  constexpr int kOps = 4000;
  const BufferRef out = bench.device.create_buffer(32_B);
  double best = 1e18;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kOps; ++i) bench.add(bench.a, bench.b, out);
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    best = std::min(best, time.count() / kOps);
    bench.device.synchronize(kStream);
  }
  std::printf("record, 2 inputs                    %8.0f ns/op\n", best);
  std::printf("record, 2 inputs, new buffer        %8.0f ns/op\n",
              best_ns(200, [&] { bench.chain(16); }) / 16);
}

void hits() {
  Settings settings;
  settings.execution = kernels::Execution::Null;  // everything except the arithmetic
  Bench bench(settings);
  for (const int nodes : {1, 16, 256}) {
    const double record_only = best_ns(50, [&] { bench.chain(nodes); });
    const double all = best_ns(50, [&] {
      const BufferRef y = bench.chain(nodes);
      bench.device.synchronize(kStream);
    });
    std::printf("hit, %3d nodes: flush to done        %8.0f ns (recording %.0f ns)\n", nodes,
                all - record_only, record_only);
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
