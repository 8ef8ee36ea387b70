// python/csrc/errors.cpp — the dispatcher translates its own errors; bindings need the same table here.
#include <torch/csrc/Exceptions.h>

#include "bindings.h"
#include "spyre/engine/error_boundary.h"

namespace spyre::python {
namespace {

void translate_c10(const std::exception_ptr& pending) {
  torch::translate_exception_to_python(pending);
}

void translate(std::exception_ptr pending) {
  if (!pending) return;
  try {
    std::rethrow_exception(pending);
  } catch (const Error& error) {
    try {
      engine::rethrow_as_c10(error);
    } catch (...) { translate_c10(std::current_exception()); }
  } catch (const c10::Error&) { translate_c10(std::current_exception()); }
}

}  // namespace

void raise_in_python(const std::exception_ptr& pending) {
  try {
    translate(pending);
  } catch (pybind11::error_already_set& raised) { raised.restore(); } catch (...) {
    translate_c10(std::current_exception());
  }
}

void register_error_types() { pybind11::register_local_exception_translator(&translate); }

}  // namespace spyre::python
