// spyre/lazy/stream_faults.h — what failed on a stream, until it is raised once.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "spyre/base/mutex.h"

namespace spyre::lazy {

/// Turns an interned Python line into text: "model.py:12".
using SourceText = std::function<std::string(std::uint32_t)>;

/// An exception of a step, and where it came from.
struct Fault {
  std::exception_ptr exception;
  std::string operation;
  std::uint32_t source = 0;
};

/// The first fault since the last take. Internally synchronized: the cores' threads write it,
/// whoever waits reads it.
class StreamFaults {
 public:
  void note(Fault fault);
  std::optional<Fault> take();
  bool any() const;

 private:
  mutable Mutex mutex_;
  std::optional<Fault> first_ SPYRE_GUARDED_BY(mutex_);
};

/// Throws the same exception type with a message that names operation and Python line. Foreign
/// types pass unchanged.
[[noreturn]] void raise(const Fault& fault, const SourceText& text);

}  // namespace spyre::lazy
