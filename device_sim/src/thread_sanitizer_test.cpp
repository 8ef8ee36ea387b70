// spyre/device_sim/thread_sanitizer_test.cpp — what ThreadSanitizer must know about TBB.
//
// The system's TBB is not instrumented: the sanitizer cannot see it hand a task from one thread to
// another, and takes the task itself, and what it captures, for shared without order.
#if defined(__SANITIZE_THREAD__)
extern "C" const char* __tsan_default_suppressions();
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:tbb::detail\n";
}
#endif
