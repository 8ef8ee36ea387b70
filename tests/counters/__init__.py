"""Engine gates that do not depend on the machine's noise: kernels, launches, flushes, hits, faults."""
