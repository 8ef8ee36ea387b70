// spyre/engine/source.cpp — one provider per process, set once when the module loads.
#include "spyre/engine/source.h"

#include <map>

#include "spyre/base/mutex.h"

namespace spyre::engine {
namespace {

constexpr std::uint32_t kProfiled = 1U << 31;  // the rest of the number is an operator's

SourceProvider& provider() {
  static SourceProvider instance;
  return instance;
}

/// Lines of operators that a profiler saw and that can fault. Full, it forgets the oldest. Internally synchronized.
class ProfiledLines {
 public:
  void note(std::uint32_t op, std::uint32_t line) SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    lines_[op] = line;
    if (lines_.size() > kMost) lines_.erase(lines_.begin());
  }
  std::uint32_t of(std::uint32_t op) const SPYRE_EXCLUDES(mutex_) {
    const Lock lock(mutex_);
    const auto found = lines_.find(op);
    return found != lines_.end() ? found->second : 0;
  }

 private:
  static constexpr std::size_t kMost = 65536;
  mutable Mutex mutex_;
  std::map<std::uint32_t, std::uint32_t> lines_ SPYRE_GUARDED_BY(mutex_);
};

ProfiledLines& profiled_lines() {
  static auto* instance = new ProfiledLines;  // faults are described until the process ends
  return *instance;
}

}  // namespace

void set_source_provider(SourceProvider replacement) { provider() = replacement; }

std::uint32_t found_source(bool may_fault) {
  const std::uint32_t line = may_fault && provider().current != nullptr ? provider().current() : 0;
  const std::uint32_t op = profiled_op();
  if (op == 0) return line;
  if (line != 0) profiled_lines().note(op, line);
  return kProfiled | op;
}

std::uint32_t profiled_op_of(std::uint32_t source) {
  return (source & kProfiled) != 0 ? source & ~kProfiled : 0;
}

std::string describe_source(std::uint32_t source) {
  const std::uint32_t op = profiled_op_of(source);
  const std::uint32_t line = op != 0 ? profiled_lines().of(op) : source;
  return line != 0 && provider().describe != nullptr ? provider().describe(line) : std::string();
}

}  // namespace spyre::engine
