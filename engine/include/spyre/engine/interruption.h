// spyre/engine/interruption.h — a wait for the card that was given up leaves as what it was given up for.
#pragma once

namespace spyre::engine {

/// Throws what the last wait of this thread was given up for (patience.h).
using InterruptionThrower = void (*)();
void set_interruption_thrower(InterruptionThrower thrower);

}  // namespace spyre::engine
