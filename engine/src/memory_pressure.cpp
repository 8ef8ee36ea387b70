// spyre/engine/memory_pressure.cpp — one function per process, set once when the module loads.
#include "spyre/engine/memory_pressure.h"

namespace spyre::engine {
namespace {

LetGo& registered() {
  static LetGo instance = nullptr;
  return instance;
}

}  // namespace

void set_let_go(LetGo let_go) { registered() = let_go; }

void let_go_of_tensors() {
  if (registered() != nullptr) registered()();
}

}  // namespace spyre::engine
