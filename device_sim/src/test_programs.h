// spyre/device_sim/test_programs.h — small programs and a card for the tests of device_sim.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "spyre/device_sim/card.h"

namespace spyre::device_sim {

inline DeviceSpec small_spec(int cores = 32, int host_threads = 2) {
  DeviceSpec spec;
  spec.cores = cores;
  spec.host_threads = host_threads;
  spec.capacity = 64_MiB;
  return spec;
}

/// For wait_until_asleep.
inline pid_t this_thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// Returns when that thread of this process has slept for a while: it waits for something.
inline void wait_until_asleep(pid_t thread) {
  constexpr int kLooks = 5;
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
  for (int asleep = 0; asleep < kLooks;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::string line;
    if (!std::getline(std::ifstream(path), line)) return;  // it has ended
    const std::size_t state = line.rfind(')') + 2;
    asleep = state < line.size() && line[state] == 'S' ? asleep + 1 : 0;
  }
}

/// A program from a function of (first, last, core).
class LambdaProgram final : public Program {
 public:
  using Body = std::function<void(std::int64_t, std::int64_t, Core&)>;
  LambdaProgram(std::int64_t items, Body body) : items_(items), body_(std::move(body)) {}
  std::int64_t work_items(std::span<const std::byte>) const override { return items_; }
  void run(std::span<const std::byte>, std::int64_t first, std::int64_t last,
           Core& core) const override {
    body_(first, last, core);
  }

 private:
  std::int64_t items_;
  Body body_;
};

/// Work that is too large to run inline.
inline constexpr Work kLargeWork{.bytes_read = 1 << 24, .bytes_written = 1 << 24};

inline Operation compute(std::int64_t items, LambdaProgram::Body body, Work work = {},
                         Footprint footprint = {}) {
  return {.what = Compute{.program = std::make_shared<LambdaProgram>(items, std::move(body))},
          .name = "compute",
          .footprint = std::move(footprint),
          .work = work};
}

/// One item; the body runs once.
inline Operation compute_once(std::function<void()> body, Footprint footprint = {}) {
  return compute(
      1, [body = std::move(body)](std::int64_t, std::int64_t, Core&) { body(); }, {},
      std::move(footprint));
}

inline Operation callback(std::function<void()> function) {
  return {.what = HostCallback{std::move(function)}, .name = "callback"};
}

template <class T> Operation upload(const std::vector<T>& source, const Piece& target) {
  const Piece exact{target.region, target.offset, {source.size() * sizeof(T)}};
  return {.what = HostToDevice{reinterpret_cast<const std::byte*>(source.data()), exact},
          .name = "upload"};
}

template <class T> Operation download(const Piece& source, std::vector<T>& target) {
  const Piece exact{source.region, source.offset, {target.size() * sizeof(T)}};
  return {.what = DeviceToHost{exact, reinterpret_cast<std::byte*>(target.data())},
          .name = "download"};
}

inline constexpr StreamId kDefault{0};

/// Enqueues and waits, as item() does.
inline void run(Card& card, StreamId stream, Operation operation) {
  card.synchronize(card.enqueue(stream, std::move(operation), Urgency::Waited));
}

}  // namespace spyre::device_sim
