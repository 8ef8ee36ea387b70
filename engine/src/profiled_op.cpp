// spyre/engine/profiled_op.cpp — a stack per thread, valid for one session.
#include "spyre/engine/profiled_op.h"

#include <atomic>
#include <vector>

namespace spyre::engine {
namespace {

std::atomic<std::uint64_t> sessions = 0;  // odd while one is open

/// Operators that this thread is in.
struct Open {
  std::uint64_t session = 0;
  std::vector<std::uint32_t> ops;
};
thread_local Open open;

}  // namespace

bool profiling() noexcept { return (sessions.load(std::memory_order_relaxed) & 1) != 0; }

void set_profiling(bool on) noexcept {
  if (profiling() != on) sessions.fetch_add(1, std::memory_order_relaxed);
}

void enter_profiled_op(std::uint64_t number) {
  const std::uint64_t session = sessions.load(std::memory_order_relaxed);
  if (open.session != session) open = {.session = session, .ops = {}};
  open.ops.push_back(static_cast<std::uint32_t>(number & 0x7fffffff));
}

void leave_profiled_op() noexcept {
  if (open.session == sessions.load(std::memory_order_relaxed) && !open.ops.empty())
    open.ops.pop_back();
}

std::uint32_t profiled_op() noexcept {
  const bool known =
      profiling() && open.session == sessions.load(std::memory_order_relaxed) && !open.ops.empty();
  return known ? open.ops.back() : 0;
}

}  // namespace spyre::engine
