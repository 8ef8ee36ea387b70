// spyre/engine/library_op.cpp — operations whose code is libtorch's CPU kernels.
#include "spyre/engine/library_op.h"

#include <ATen/Functions.h>
#include <c10/core/GradMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/accumulate.h>

#include <algorithm>

#include "spyre/base/error.h"
#include "spyre/base/matrix_error.h"
#include "spyre/engine/card_numbers.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/source.h"
#include "spyre/engine/tensor.h"

// OpenMP's and MKL's own switches, from the libraries that libtorch brings along.
// at::set_num_threads would change the whole process.
extern "C" {
int omp_get_max_threads();
void omp_set_num_threads(int count);
int MKL_Set_Num_Threads_Local(int count);
}

namespace spyre::engine {
namespace {

/// While it lives, this thread calls libtorch's CPU kernels directly and serially: no autograd, no
/// modes, no dispatch to other devices, no OpenMP team beside the card's own threads.
class HostKernelScope {
 public:
  HostKernelScope();
  ~HostKernelScope();
  HostKernelScope(const HostKernelScope&) = delete;
  HostKernelScope& operator=(const HostKernelScope&) = delete;

 private:
  c10::impl::ForceDispatchKeyGuard keys_;
  c10::AutoGradMode grad_{false};
  int openmp_threads_, mkl_threads_;
};

/// Only the CPU keys of the operands, and the choice of a device for factories; everything above the kernels is
/// excluded.
c10::impl::PODLocalDispatchKeySet kernels_only() {
  c10::impl::PODLocalDispatchKeySet keys;
  keys.set_included(c10::DispatchKeySet(c10::DispatchKey::BackendSelect));
  keys.set_excluded(c10::default_excluded_set | c10::autograd_dispatch_keyset_with_ADInplaceOrView);
  return keys;
}

HostKernelScope::HostKernelScope()
    : keys_(c10::impl::LocalDispatchKeySet(kernels_only())),
      openmp_threads_(omp_get_max_threads()),
      mkl_threads_(MKL_Set_Num_Threads_Local(1)) {
  omp_set_num_threads(1);
}

HostKernelScope::~HostKernelScope() {
  omp_set_num_threads(openmp_threads_);
  MKL_Set_Num_Threads_Local(mkl_threads_);
}

std::vector<at::Tensor> tensors_over(std::span<const kernels::DeviceView> views) {
  std::vector<at::Tensor> tensors;
  tensors.reserve(views.size());
  for (const kernels::DeviceView& v : views)
    tensors.push_back(at::from_blob(v.data, {v.sizes.begin(), v.sizes.size()},
                                    {v.strides.begin(), v.strides.size()},
                                    at::TensorOptions(static_cast<c10::ScalarType>(v.type_code))));
  return tensors;
}

}  // namespace

void with_host_tensors(std::span<const kernels::DeviceView> views,
                       c10::function_ref<void(Tensors)> body) {
  const HostKernelScope scope;
  try {
    std::vector<at::Tensor> tensors = tensors_over(views);
    body(tensors);
  } catch (const c10::IndexError& error) {
    throw IndexOutOfRange(error.what_without_backtrace());
  } catch (const c10::NotImplementedError& error) {
    throw Unsupported(error.what_without_backtrace());
  } catch (const c10::ValueError& error) {
    throw InvalidArgument(error.what_without_backtrace());
  } catch (const c10::LinAlgError& error) {
    throw MatrixError(error.what_without_backtrace());
  } catch (const c10::Error& error) { throw Error(error.what_without_backtrace()); }
}

void record_library_call(lazy::Library call, TensorArguments inputs, TensorArguments outputs) {
  if (std::ranges::all_of(outputs, [](const at::Tensor* t) { return t->numel() == 0; })) return;
  const at::Tensor& first = *outputs.front();
  check_same_device(inputs, first.device());
  check_same_device(outputs, first.device());
  const auto operands = [](TensorArguments tensors) {
    c10::SmallVector<lazy::LibraryOperand, 8> list;
    for (const at::Tensor* t : tensors) list.push_back(operand_of(*t));
    return list;
  };
  const auto in = operands(inputs), out = operands(outputs);
  call.inputs = {in.data(), in.size()};
  call.outputs = {out.data(), out.size()};
  call.source = recorded_source(call.may_fault);
  lazy_device(first).record(current_stream(first.device()), call);
  for (const at::Tensor* output : outputs) round_to_card(*output);
}

Panels Panels::of(std::int64_t extent, std::int64_t limit, std::int64_t grain) {
  const std::int64_t even = (extent + limit - 1) / limit;
  return {extent, std::max<std::int64_t>(grain, (even + grain - 1) / grain * grain)};
}

Panels Panels::beside(std::int64_t dim, c10::IntArrayRef sizes) {
  constexpr std::int64_t kSmall = 1 << 15, kMaxPieces = 16;
  const std::int64_t numel = c10::multiply_integers(sizes);
  if (sizes.empty()) return {1, 1};
  return of(sizes[0], dim == 0 || numel < kSmall ? 1 : kMaxPieces, 1);
}

at::Tensor Panels::slice(const at::Tensor& tensor, std::int64_t dim, std::int64_t piece) const {
  return tensor.narrow(dim, piece * size, std::min(size, extent - piece * size));
}

}  // namespace spyre::engine
