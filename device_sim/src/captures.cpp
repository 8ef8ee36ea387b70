// spyre/device_sim/captures.cpp — one branch per enqueued operation while nobody captures.
#include "captures.h"

#include <utility>

#include "spyre/base/error.h"
#include "spyre/base/text.h"

namespace spyre::device_sim {

void Captures::begin(StreamId stream) {
  const Lock lock(mutex_);
  if (!open_.emplace(stream, std::make_shared<CapturedSequence>()).second)
    throw InvalidArgument(str("capture: stream ", stream, " is being captured already"));
  count_.store(open_.size(), std::memory_order_release);
}

std::shared_ptr<const CapturedSequence> Captures::end(StreamId stream) {
  const Lock lock(mutex_);
  auto node = open_.extract(stream);
  if (node.empty())
    throw InvalidArgument(str("capture: stream ", stream, " is not being captured"));
  count_.store(open_.size(), std::memory_order_release);
  return std::move(node.mapped());
}

bool Captures::take(StreamId stream, std::span<Operation> operations) {
  if (!any()) return false;
  const Lock lock(mutex_);
  const auto open = open_.find(stream);
  if (open == open_.end()) return false;
  for (Operation& operation : operations) {
    if (!operation.after.empty() || awaited_peer(operation) != nullptr)
      throw InvalidArgument("capture: an operation names points to wait for; a sequence has none");
    open->second->operations.push_back(std::move(operation));
  }
  return true;
}

void Captures::refuse(StreamId stream, const char* what) const {
  if (!any()) return;
  const Lock lock(mutex_);
  if (open_.contains(stream))
    throw InvalidArgument(str("capture: ", what, " stream ", stream, " while it is being ",
                              "captured; end the capture first"));
}

}  // namespace spyre::device_sim
