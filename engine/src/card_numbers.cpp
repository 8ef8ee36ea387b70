// spyre/engine/card_numbers.cpp — a copy of a tensor onto itself: kernels round what they store.
#include "spyre/engine/card_numbers.h"

#include <array>
#include <atomic>

#include "spyre/base/env.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

std::atomic<bool>& downcast_warning() {
  static std::atomic<bool> warns = env_switch(Env::DowncastWarn);
  return warns;
}

}  // namespace

bool warns_of_downcast() { return downcast_warning().load(std::memory_order_relaxed); }

void set_downcast_warning(bool warns) {
  downcast_warning().store(warns, std::memory_order_relaxed);
}

bool is_kept_as_another(c10::ScalarType type) {
  return kernels::is_card(Runtime::get().numerics()) &&
         (type == c10::kHalf || type == c10::kBFloat16 || type == c10::kLong);
}

void round_to_card(const at::Tensor& tensor) {
  if (!is_kept_as_another(tensor.scalar_type())) return;
  if (tensor.scalar_type() == c10::kLong && warns_of_downcast()) {
    TORCH_WARN_ONCE(
        "spyre: the card keeps int64 as int32; values beyond 32 bits wrap "
        "(TORCH_SPYRE_DOWNCAST_WARN=0 silences this)");
  }
  const DType type = *native_type(tensor.scalar_type());
  const std::array<Operand, 1> operands{tensor};
  record_pointwise({.op = words().copy, .compute = type, .result = type}, operands, tensor);
}

}  // namespace spyre::engine
