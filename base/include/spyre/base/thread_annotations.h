// spyre/base/thread_annotations.h — lock rules that clang checks (-Wthread-safety); other compilers
// ignore them.
//
// The only macros in our headers.
#pragma once

#if defined(__clang__)
#define SPYRE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SPYRE_THREAD_ATTRIBUTE(x)
#endif

#define SPYRE_CAPABILITY(name) SPYRE_THREAD_ATTRIBUTE(capability(name))
#define SPYRE_SCOPED_CAPABILITY SPYRE_THREAD_ATTRIBUTE(scoped_lockable)
#define SPYRE_GUARDED_BY(mutex) SPYRE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define SPYRE_REQUIRES(...) SPYRE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define SPYRE_EXCLUDES(...) SPYRE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define SPYRE_ACQUIRE(...) SPYRE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define SPYRE_TRY_ACQUIRE(...) SPYRE_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define SPYRE_RELEASE(...) SPYRE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define SPYRE_NO_THREAD_SAFETY_ANALYSIS SPYRE_THREAD_ATTRIBUTE(no_thread_safety_analysis)
