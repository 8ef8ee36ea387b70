// spyre/base/error.h — the kinds of failure, and the check for what always holds.
#pragma once
#include <source_location>
#include <stdexcept>
#include <string>

namespace spyre {

/// Message form: "op: what was wrong; got …; expected …; try …", lower case, with shapes and
/// dtypes.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A value the caller passed is wrong: ValueError or RuntimeError in Python, as CPU raises.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};
/// An index is outside its extent: IndexError in Python.
class IndexOutOfRange : public Error {
 public:
  using Error::Error;
};
/// A dtype or device does not fit: TypeError in Python.
class TypeMismatch : public Error {
 public:
  using Error::Error;
};
/// Meaningful, but not built: NotImplementedError in Python.
class Unsupported : public Error {
 public:
  using Error::Error;
};
/// The card is full: torch.OutOfMemoryError in Python.
class OutOfDeviceMemory : public Error {
 public:
  using Error::Error;
};
/// An operation failed on the card after it was enqueued: torch.AcceleratorError in Python.
class DeviceFault : public Error {
 public:
  using Error::Error;
};
/// A graph is being captured, or was and did not run yet, and the caller wants what needs values now: RuntimeError in
/// Python.
class CaptureError : public Error {
 public:
  using Error::Error;
};
/// A bug of ours: RuntimeError in Python, with the place.
class InternalError : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail_ensure(const char* what_always_holds, std::source_location where);

/// States an invariant. Never for user input.
constexpr void ensure(bool holds, const char* what_always_holds,
                      std::source_location where = std::source_location::current()) {
  if (!holds) [[unlikely]]
    fail_ensure(what_always_holds, where);
}

}  // namespace spyre
