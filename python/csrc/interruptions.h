// python/csrc/interruptions.h — Ctrl-C and waits for the card.
#pragma once

namespace spyre::python {

/// From here on what Python's signals raise ends this thread's waits for the card.
void provide_interruptions();

}  // namespace spyre::python
