// python/csrc/awake.h — what the heavy module hands to the light one when it is loaded.
#pragma once
#include <ATen/core/GraphImplInterface.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>

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
  std::unique_ptr<at::GraphImplInterface> (*make_graph)(const at::GraphImplArgs&) = nullptr;
};

inline constexpr const char* kAwakeCapsule = "torch_spyre._hooks.awake";

}  // namespace spyre::python
