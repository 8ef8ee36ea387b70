// spyre/lazy/stream_faults.cpp — the first fault wins; raising keeps its type.
#include "stream_faults.h"

#include <utility>

#include "spyre/base/error.h"
#include "spyre/base/matrix_error.h"
#include "spyre/base/text.h"

namespace spyre::lazy {
namespace {

/// Rethrows as the first of `Kinds` that fits, with the message built by `message`.
template <class Kind, class... Kinds, class Message>
void rethrow_as(const std::exception_ptr& exception, const Message& message) {
  try {
    std::rethrow_exception(exception);
  } catch (const Kind& e) { throw Kind(message(e)); } catch (...) {
    if constexpr (sizeof...(Kinds) != 0) rethrow_as<Kinds...>(exception, message);
    throw;
  }
}

}  // namespace

void StreamFaults::note(Fault fault) {
  const Lock lock(mutex_);
  if (!first_) first_ = std::move(fault);
}

std::optional<Fault> StreamFaults::take() {
  const Lock lock(mutex_);
  return std::exchange(first_, std::nullopt);
}

bool StreamFaults::any() const {
  const Lock lock(mutex_);
  return first_.has_value();
}

void raise(const Fault& fault, const SourceText& text) {
  const auto message = [&](const std::exception& e) {
    const std::string place = fault.source != 0 && text ? text(fault.source) : std::string();
    return str(fault.operation, ": ", e.what(), place.empty() ? "" : "; recorded at ", place);
  };
  rethrow_as<InvalidArgument, IndexOutOfRange, TypeMismatch, Unsupported, OutOfDeviceMemory,
             MatrixError, InternalError, DeviceFault, Error>(fault.exception, message);
  std::rethrow_exception(fault.exception);
}

}  // namespace spyre::lazy
