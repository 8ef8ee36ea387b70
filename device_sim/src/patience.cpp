// spyre/device_sim/patience.cpp — the innermost scope of each thread.
#include "spyre/device_sim/patience.h"

#include <ctime>
#include <utility>

namespace spyre::device_sim {
namespace {

/// It is asked for before every operation, many of which take less than reading an exact clock; this
/// one is as old as the kernel's last tick.
std::chrono::nanoseconds time_at_last_tick() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace

Patience*& Patience::innermost() {
  static thread_local Patience* patience = nullptr;
  return patience;
}

Patience::Patience(Question question)
    : gives_up_(question), outer_(std::exchange(innermost(), this)) {}

Patience::~Patience() { innermost() = outer_; }

void Patience::start_interval() { next_ = time_at_last_tick() + kInterval; }

bool Patience::is_due() const { return gives_up_ != nullptr && time_at_last_tick() >= next_; }

void Patience::begin_wait() {
  Patience* const patience = innermost();
  if (patience != nullptr && patience->gives_up_ != nullptr) patience->start_interval();
}

const Patience* Patience::due() {
  Patience* const patience = innermost();
  if (patience == nullptr || !patience->is_due()) return nullptr;
  patience->start_interval();
  return patience;
}

}  // namespace spyre::device_sim
