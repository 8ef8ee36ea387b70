// spyre/device_sim/operation.cpp — what an operation waits for and what it owns.
#include "spyre/device_sim/operation.h"

namespace spyre::device_sim {
namespace {

void drop(HostToDevice& copy) { copy.keep_alive.reset(); }
void drop(DeviceToHost& copy) { copy.keep_alive.reset(); }
void drop(Compute& compute) { compute.program.reset(); }
void drop(HostCallback& callback) { callback.function = nullptr; }
void drop(Send& send) { send.arrived = nullptr; }
void drop(PostReceive&) {}
void drop(Receive&) {}
void drop(AwaitPeer&) {}

}  // namespace

const PeerPoint* awaited_peer(const Operation& operation) {
  if (const auto* send = std::get_if<Send>(&operation.what)) return &send->open;
  if (const auto* receive = std::get_if<Receive>(&operation.what)) return &receive->sent;
  if (const auto* wait = std::get_if<AwaitPeer>(&operation.what)) return &wait->point;
  return nullptr;
}

void release(Operation& operation) {
  std::visit([](auto& what) { drop(what); }, operation.what);
  operation.keep_alive.reset();
}

}  // namespace spyre::device_sim
