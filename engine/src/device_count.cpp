// spyre/engine/device_count.cpp — read once; a wrong environment is read, and refused, again.
#include "spyre/engine/device_count.h"

#include <exception>

namespace spyre::engine {
namespace {

using Provider = const VisibleCards& (*)();

const VisibleCards& from_environment() {
  static const VisibleCards cards = visible_cards_from_environment();
  return cards;
}

Provider& provider() {
  static Provider instance = &from_environment;
  return instance;
}

}  // namespace

const VisibleCards& visible_cards() { return provider()(); }

void set_visible_cards(const VisibleCards& (*replacement)()) { provider() = replacement; }

c10::DeviceIndex device_count() { return static_cast<c10::DeviceIndex>(visible_cards().count()); }

c10::DeviceIndex device_count_or_none() noexcept {
  try {
    return device_count();
  } catch (const std::exception&) { return 0; }
}

c10::DeviceIndex first_device() noexcept {
  try {
    return static_cast<c10::DeviceIndex>(visible_cards().first);
  } catch (const std::exception&) { return 0; }
}

}  // namespace spyre::engine
