// spyre/engine/hooks.cpp — answers from the runtime; only what needs memory starts it.
#include "spyre/engine/hooks.h"

#include "spyre/engine/error_boundary.h"
#include "spyre/engine/generator.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/pinned_memory.h"
#include "spyre/engine/runtime.h"
#include "spyre/engine/storage.h"

namespace spyre::engine {
namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return device_count_or_none() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return Runtime::running() != nullptr; }
  void init() const override {}  // the runtime starts at first use

  c10::DeviceIndex deviceCount() const override { return device_count_or_none(); }
  c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
  void setCurrentDevice(c10::DeviceIndex device) const override { exchange_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return exchange_device(device);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return device < 0 ? current_device() : exchange_device(device);
  }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return new_generator(device);
  }

  bool isPinnedPtr(const void* data) const override { return pinned_block(data) != nullptr; }
  at::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
  at::Device getDeviceFromPtr(void* data) const override {
    return bounded([&] {
      const auto& entry = Runtime::get().entry_holding(reinterpret_cast<std::uintptr_t>(data));
      return at::Device(at::DeviceType::PrivateUse1, entry.index);
    });
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    bounded([&] { resize_storage(*storage.unsafeGetStorageImpl(), {bytes}); });
  }
};

}  // namespace

at::PrivateUse1HooksInterface& hooks() {
  static auto* instance = new Hooks;  // PyTorch never lets go of it
  return *instance;
}

}  // namespace spyre::engine
