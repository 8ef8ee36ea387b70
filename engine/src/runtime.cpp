// spyre/engine/runtime.cpp — start at first use, refusal after a fork, drain at the end.
#include "spyre/engine/runtime.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <mutex>

#include "spyre/base/env.h"
#include "spyre/device_sim/patience.h"
#include "spyre/engine/guard.h"
#include "spyre/engine/memory_pressure.h"
#include "spyre/engine/source.h"

namespace spyre::engine {
namespace {

std::atomic<bool> bad_fork = false;

}  // namespace

std::atomic<Runtime*> Runtime::instance_ = nullptr;

DeviceEntry::DeviceEntry(c10::DeviceIndex which, const lazy::Settings& settings,
                         std::shared_ptr<const device_sim::ModelledHost> host)
    : index(which),
      device(device_sim::device_spec_from_environment(), settings, std::move(host)),
      capacity(device.card().memory_stats().capacity),
      addresses(visible_cards().count()),
      streams(device) {
  device.set_source_text(&describe_source);
  device.set_memory_pressure(&let_go_of_tensors);
  device.set_mark_end(
      [this](std::uintptr_t address, Bytes size) { addresses.give_back(address, size); });
}

Runtime::Runtime(const lazy::Settings& settings)
    : isa_(settings.isa),
      numerics_(settings.numerics),
      fallback_policy_(fallback_policy_from_environment()) {
  const auto host = std::make_shared<const device_sim::ModelledHost>();
  for (c10::DeviceIndex i = 0; i < device_count(); ++i)
    devices_.push_back(std::make_unique<DeviceEntry>(i, settings, host));
  publish_meters();
  if (profiling()) record_activities();
}

void Runtime::publish_meters() {
  const std::string folder = env_text(Env::Metrics);
  std::vector<device_sim::DeviceSpec> specs;
  for (const auto& entry : devices_) specs.push_back(entry->device.card().spec());
  meters_ = std::make_unique<device_sim::MeterFile>(folder == "off" ? "" : folder, specs);
  for (std::size_t i = 0; i < devices_.size(); ++i)
    devices_[i]->device.card().publish(meters_->meters(i));
}

const device_sim::Meters& Runtime::meters(c10::DeviceIndex index) {
  return meters_->meters(static_cast<std::size_t>(entry(index).index));
}

bool Runtime::in_bad_fork() noexcept { return bad_fork.load(std::memory_order_relaxed); }

// In the child: the cards' threads did not come along, and locks may be held by threads that do not exist.
void Runtime::forget_after_fork() noexcept {
  if (instance_.exchange(nullptr) != nullptr) bad_fork = true;
}

Runtime& Runtime::start() {
  TORCH_CHECK(!in_bad_fork(),
              "Cannot re-initialize spyre in forked subprocess. To use spyre with multiprocessing, "
              "you must use the "
              "'spawn' start method");
  static std::mutex starting;
  const std::lock_guard lock(starting);
  if (Runtime* runtime = running()) return *runtime;
  auto runtime = std::unique_ptr<Runtime>(new Runtime(settings_from_environment()));
  static const int fork_handler = pthread_atfork(nullptr, nullptr, [] { forget_after_fork(); });
  TORCH_CHECK(fork_handler == 0, "spyre: could not install the fork handler");
  instance_.store(runtime.get(), std::memory_order_release);
  return *runtime.release();
}

DeviceEntry& Runtime::entry(c10::DeviceIndex index) {
  const c10::DeviceIndex wanted = index < 0 ? current_device() : index;
  TORCH_CHECK(static_cast<std::size_t>(wanted) < devices_.size(), "spyre: device index ",
              static_cast<int>(wanted), " is out of range; this process sees ", devices_.size(),
              " device(s)");
  return *devices_[static_cast<std::size_t>(wanted)];
}

bool Runtime::holds(std::uintptr_t address) const noexcept {
  return std::ranges::any_of(devices_,
                             [=](const auto& entry) { return entry->addresses.holds(address); });
}

DeviceEntry& Runtime::entry_holding(std::uintptr_t address) {
  for (const auto& entry : devices_) {
    if (entry->addresses.holds(address)) return *entry;
  }
  throw InternalError("a storage's address belongs to no card");
}

lazy::Settings Runtime::settings() const { return devices_.front()->device.settings(); }

void Runtime::configure(const lazy::Settings& settings) {
  for (const auto& entry : devices_) entry->device.configure(settings);
  isa_.store(settings.isa, std::memory_order_relaxed);
  numerics_.store(settings.numerics, std::memory_order_relaxed);
}

bool Runtime::models_time() const { return devices_.front()->device.card().models_time(); }

Bytes Runtime::empty_caches() {
  Bytes given_back;
  for (const auto& entry : devices_) given_back += entry->device.empty_cache();
  return given_back;
}

void Runtime::record_activities() {
  if (!models_time()) return;
  for (const auto& entry : devices_)
    entry->device.card().record_activities([] { return recorded_source(false); });
}

std::vector<device_sim::ActivityRecord> Runtime::take_activities() {
  std::vector<device_sim::ActivityRecord> records;
  for (const auto& entry : devices_) records.push_back(entry->device.card().take_activities());
  return records;
}

void Runtime::drain_at_exit() noexcept {
  const device_sim::Patience endless(nullptr);
  for (const auto& entry : devices_) {
    try {
      entry->device.synchronize_all(lazy::FlushReason::Shutdown);
    } catch (const std::exception& fault) {
      std::cerr << "spyre: a fault was never read: " << fault.what() << '\n';
    }
  }
  meters_->remove();
}

}  // namespace spyre::engine
