// python/csrc/awake.h — what the heavy module hands to the light one when it is loaded.
#pragma once
#include <ATen/core/GraphImplInterface.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>

#include "spyre/engine/device_count.h"

namespace libkineto {
class IActivityProfiler;
}

namespace spyre::python {

/// All null but the first until _C is loaded; then set once. Written and first read under the GIL.
struct Awake {
  /// The other way round: what the light module has read, or will.
  const VisibleCards& (*visible_cards)() = &engine::visible_cards;
  const at::PrivateUse1HooksInterface* hooks = nullptr;
  const c10::impl::DeviceGuardImplInterface* guard = nullptr;
  c10::DeviceAllocator* allocator = nullptr;
  libkineto::IActivityProfiler* profiler = nullptr;
  std::unique_ptr<at::GraphImplInterface> (*make_graph)(const at::GraphImplArgs&) = nullptr;
};

inline constexpr const char* kAwakeCapsule = "torch_spyre._hooks.awake";

}  // namespace spyre::python
