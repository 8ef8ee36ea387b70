// spyre/benchmarks/record_from_cpp.cpp — nanoseconds per at::add, called from C++: what recording costs without Python.
#include <torch/extension.h>

#include <chrono>

namespace {

/// Each result is dropped at once, as the temporaries of an expression are.
double nanoseconds_per_add(const at::Tensor& x, const at::Tensor& y, int64_t count) {
  const c10::InferenceMode no_autograd;
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) at::add(x, y);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(count);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.def("nanoseconds_per_add", &nanoseconds_per_add);
}
