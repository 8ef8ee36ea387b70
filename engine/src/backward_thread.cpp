// spyre/engine/backward_thread.cpp — a backward pass records; handing that to another thread only costs two wake-ups.
#include "spyre/engine/backward_thread.h"

#include <c10/core/AutogradState.h>
#include <c10/core/InferenceMode.h>

namespace spyre::engine {

bool keep_backward_here() noexcept {
  if (c10::InferenceMode::is_enabled()) return false;
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  return true;
}

}  // namespace spyre::engine
