// python/csrc/failures.cpp — which failures are worth a report; torch_spyre/diagnostics.py writes it.
#include <array>
#include <string>
#include <string_view>

#include "bindings.h"
#include "spyre/base/env.h"
#include "spyre/base/matrix_error.h"
#include "spyre/engine/error_boundary.h"

namespace spyre::python {
namespace {

namespace py = pybind11;

/// One row per kind; what a caller did wrong (InvalidArgument, TypeMismatch, MatrixError) has none.
struct Kind {
  std::string_view name, category;
  bool (*fits)(const Error& error);
};

template <class Wanted> bool is(const Error& error) {
  return dynamic_cast<const Wanted*>(&error) != nullptr;
}

constexpr std::array kKinds{
    Kind{"Unsupported", "unimplemented", &is<Unsupported>},
    Kind{"InternalError", "compile_backend", &is<InternalError>},
    Kind{"OutOfDeviceMemory", "runtime_launch", &is<OutOfDeviceMemory>},
    Kind{"IndexOutOfRange", "runtime_launch", &is<IndexOutOfRange>},
    Kind{"DeviceFault", "runtime_launch", &is<DeviceFault>},
};

const Kind* kind_of(const Error& error) {
  static constexpr Kind kOther{"Error", "runtime_launch", nullptr};
  if (is<InvalidArgument>(error) || is<TypeMismatch>(error) || is<MatrixError>(error))
    return nullptr;
  for (const Kind& kind : kKinds)
    if (kind.fits(error)) return &kind;
  return &kOther;
}

bool writes_reports() {
  try {
    return env_switch(Env::FailureReports);
  } catch (const Error&) { return false; }  // the runtime tells of it when it starts
}

void report(const Error& error) {
  const Kind* const kind = kind_of(error);
  if (kind == nullptr || !writes_reports()) return;
  if (Py_IsInitialized() == 0 || _Py_IsFinalizing() != 0) return;
  const py::gil_scoped_acquire gil;
  const py::error_scope pending;
  try {
    py::module_::import("torch_spyre.diagnostics")
        .attr("report_failure")(std::string(kind->category), std::string(kind->name), error.what());
  } catch (py::error_already_set& failure) { failure.discard_as_unraisable("torch_spyre"); }
}

}  // namespace

void provide_failure_reports() { engine::set_failure_observer(&report); }

}  // namespace spyre::python
