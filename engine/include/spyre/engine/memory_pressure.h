// spyre/engine/memory_pressure.h — who lets go of tensors when a card is full; python/ provides it.
#pragma once

namespace spyre::engine {

/// Called on any thread, without locks of ours. Throws nothing.
using LetGo = void (*)();

/// Once, when the module loads.
void set_let_go(LetGo let_go);
void let_go_of_tensors();

}  // namespace spyre::engine
