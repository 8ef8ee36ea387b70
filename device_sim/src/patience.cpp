// spyre/device_sim/patience.cpp — the innermost scope of each thread.
#include "spyre/device_sim/patience.h"

#include <utility>

namespace spyre::device_sim {

Patience*& Patience::innermost() {
  static thread_local Patience* patience = nullptr;
  return patience;
}

Patience::Patience(Question question)
    : gives_up_(question), outer_(std::exchange(innermost(), this)) {}

Patience::~Patience() { innermost() = outer_; }

const Patience* Patience::due() {
  Patience* const patience = innermost();
  if (patience == nullptr || Clock::now() < patience->next_) return nullptr;
  patience->next_ = Clock::now() + kInterval;
  return patience;
}

}  // namespace spyre::device_sim
