// python/csrc/awake.h — what the heavy module hands to the light one when it is loaded.
#pragma once
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace libkineto {
class IActivityProfiler;
}

namespace spyre::python {

/// All null until _C is loaded; then set once. Written and first read under the GIL.
struct Awake {
  const at::PrivateUse1HooksInterface* hooks = nullptr;
  const c10::impl::DeviceGuardImplInterface* guard = nullptr;
  c10::DeviceAllocator* allocator = nullptr;
  libkineto::IActivityProfiler* profiler = nullptr;
};

inline constexpr const char* kAwakeCapsule = "torch_spyre._hooks.awake";

}  // namespace spyre::python
