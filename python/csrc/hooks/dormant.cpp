// python/csrc/hooks/dormant.cpp — answers what is known without the device; everything else loads _C and asks again.
//
// PyTorch wants hooks, guard and allocator from the moment the backend is registered: the autograd engine sizes its
// thread pool from the guards, torch.accelerator asks for the allocator. None of that may start anything.
#include "hooks/dormant.h"

#include <c10/util/Exception.h>
#include <pybind11/pybind11.h>

#include "spyre/engine/device_count.h"

namespace spyre::python {
namespace {

constexpr c10::DeviceType kSpyre = c10::DeviceType::PrivateUse1;

c10::Device first_device() { return {kSpyre, engine::first_device()}; }
bool is_first(c10::Device device) {
  return !device.has_index() || device.index() == first_device().index();
}

class DormantHooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return engine::device_count_or_none() > 0; }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    return awake().hooks != nullptr && awake().hooks->hasPrimaryContext(device);
  }
  void init() const override { wake(); }
  c10::DeviceIndex deviceCount() const override { return engine::device_count_or_none(); }
  c10::DeviceIndex getCurrentDevice() const override { return wake().hooks->getCurrentDevice(); }
  void setCurrentDevice(c10::DeviceIndex device) const override {
    wake().hooks->setCurrentDevice(device);
  }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    return wake().hooks->exchangeDevice(device);
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
    return wake().hooks->maybeExchangeDevice(device);
  }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return wake().hooks->getDefaultGenerator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return wake().hooks->getNewGenerator(device);
  }
  bool isPinnedPtr(const void* data) const override {
    return awake().hooks != nullptr && awake().hooks->isPinnedPtr(data);
  }
  at::Allocator* getPinnedMemoryAllocator() const override {
    return wake().hooks->getPinnedMemoryAllocator();
  }
  at::Device getDeviceFromPtr(void* data) const override {
    return wake().hooks->getDeviceFromPtr(data);
  }
  void resizePrivateUse1Bytes(const c10::Storage& storage, std::size_t bytes) const override {
    wake().hooks->resizePrivateUse1Bytes(storage, bytes);
  }
};

/// Replaced in PyTorch's registry by the real one; pointers taken before keep working.
class DormantGuard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kSpyre; }
  c10::DeviceIndex deviceCount() const noexcept override { return engine::device_count_or_none(); }
  c10::Device getDevice() const override {
    return is_awake() ? awake().guard->getDevice() : first_device();
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    return !is_awake() && is_first(device) ? first_device() : wake().guard->exchangeDevice(device);
  }
  void setDevice(c10::Device device) const override { exchangeDevice(device); }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (is_awake()) awake().guard->uncheckedSetDevice(device);
  }
  c10::Stream getStream(c10::Device device) const override {
    return !is_awake() && is_first(device) ? c10::Stream(c10::Stream::DEFAULT, first_device())
                                           : wake().guard->getStream(device);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return wake().guard->getDefaultStream(device);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool high_priority) const override {
    return wake().guard->getStreamFromGlobalPool(device, high_priority);
  }
  c10::Stream getNewStream(c10::Device device, int priority) const override {
    return wake().guard->getNewStream(device, priority);
  }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return wake().guard->exchangeStream(stream);
  }
  bool queryStream(const c10::Stream& stream) const override {
    return wake().guard->queryStream(stream);
  }
  void synchronizeStream(const c10::Stream& stream) const override {
    wake().guard->synchronizeStream(stream);
  }
  void synchronizeDevice(const c10::DeviceIndex device) const override {
    wake().guard->synchronizeDevice(device);
  }
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override {
    return wake().guard->getDeviceCapability(device);
  }
  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex device,
              const c10::EventFlag flag) const override {
    wake().guard->record(event, stream, device, flag);
  }
  void block(void* event, const c10::Stream& stream) const override {
    wake().guard->block(event, stream);
  }
  bool queryEvent(void* event) const override { return wake().guard->queryEvent(event); }
  void synchronizeEvent(void* event) const override { wake().guard->synchronizeEvent(event); }
  void destroyEvent(void* event, const c10::DeviceIndex device) const noexcept override {
    if (is_awake()) awake().guard->destroyEvent(event, device);
  }
  double elapsedTime(void* first, void* second, const c10::DeviceIndex device) const override {
    return wake().guard->elapsedTime(first, second, device);
  }

 private:
  static bool is_awake() { return awake().guard != nullptr; }
};

/// Replaced in PyTorch's registry by the real one.
class DormantAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override { return wake().allocator->allocate(bytes); }
  void copy_data(void* target, const void* source, std::size_t count) const override {
    wake().allocator->copy_data(target, source, count);
  }
  bool initialized() override { return false; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { return {}; }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex device) override {
    return wake().allocator->getMemoryInfo(device);
  }
};

}  // namespace

Awake& awake() {
  static Awake instance;
  return instance;
}

const Awake& wake() {
  if (awake().hooks == nullptr) {
    const pybind11::gil_scoped_acquire gil;
    pybind11::module_::import("torch_spyre._C");
    TORCH_CHECK(awake().hooks != nullptr, "spyre: torch_spyre._C did not come up");
  }
  return awake();
}

void register_dormant_device() {
  at::RegisterPrivateUse1HooksInterface(
      new DormantHooks);  // PyTorch keeps all three for the life of the process
  c10::impl::DeviceGuardImplRegistrar(kSpyre, new DormantGuard);
  c10::SetAllocator(kSpyre, new DormantAllocator);
  at::GraphImplRegistry()->Register(
      "SPYRE", [](const at::GraphImplArgs& arguments) { return wake().make_graph(arguments); });
}

}  // namespace spyre::python
