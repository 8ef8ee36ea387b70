// spyre/lazy/transfers.cpp — bytes between host and buffers, and buffers for code that runs on the
// host.
#include <algorithm>
#include <cstring>
#include <vector>

#include "buffer_access.h"
#include "device_state.h"
#include "images.h"
#include "spyre/base/text.h"
#include "tiled_content.h"

namespace spyre::lazy {

using device_sim::Operation;
using device_sim::TimelinePoint;
using device_sim::Urgency;

namespace {

/// A blocking upload up to this size is copied aside if its stream is busy, so that the caller need
/// not wait.
constexpr Bytes kStaged = 64_KiB;

/// What an upload or a download needs beside its two ends: its buffer, while it is in flight, and
/// somebody to tell if it fails. Owned by the operation; streams outlive what is in flight on them.
/// Immutable; what it tells is internally synchronized.
class TransferGuard final : public device_sim::LossListener {
 public:
  TransferGuard(std::string_view name, Buffer& buffer, StreamFaults& faults, bool makes)
      : name_(name), buffer_(buffer), faults_(faults), makes_(makes) {
    buffer.add_reference();
  }
  ~TransferGuard() { buffer_.drop_reference(); }
  TransferGuard(const TransferGuard&) = delete;
  TransferGuard& operator=(const TransferGuard&) = delete;

  void lost(std::uint32_t, const std::exception_ptr& fault) noexcept override {
    if (fault != nullptr) faults_.note({fault, std::string(name_), 0});
    if (makes_) BufferAccess::set_spoiled(buffer_, Spoiled::ByFault);
  }
  bool calls_off(std::uint32_t) const noexcept override { return false; }

 private:
  std::string_view name_;
  Buffer& buffer_;
  StreamFaults& faults_;
  bool makes_;  // all of the buffer's content
};

template <class What>
Operation transfer(std::string_view name, What what, Buffer& buffer, StreamState& s,
                   bool makes = false) {
  Operation operation;
  operation.what = std::move(what);
  operation.name = name;
  auto guard = std::make_shared<TransferGuard>(name, buffer, s.faults, makes);
  operation.listener = guard.get();
  operation.keep_alive = std::move(guard);
  return operation;
}

void check_range(std::string_view what, const Buffer& buffer, Bytes offset, Bytes length) {
  if (offset + length <= buffer.size()) return;
  throw InvalidArgument(str(what, ": bytes ", offset.count, " to ", (offset + length).count,
                            " of a buffer of ", buffer.size()));
}

}  // namespace

device_sim::Allocation Device::State::allocate(Lock& lock,
                                               const device_sim::AllocationRequest& request) {
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    try {
      return card.allocate(request);
    } catch (const OutOfDeviceMemory&) {
      if (attempt == kAttempts) throw;
    }
    if (attempt + 1 == kAttempts) flush_all(lock, FlushReason::MemoryPressure, Urgency::Background);
    relieve_memory(lock);
  }
}

void Device::State::give_memory(Lock& lock, StreamState& s, Buffer& buffer, bool all_written,
                                Urgency urgency) {
  if (BufferAccess::has_memory(buffer)) return;
  device_sim::Allocation memory =
      allocate(lock, {.size = std::max(buffer.size(), Bytes{1}),
                      .directive = directives[BufferAccess::directive(buffer)]});
  if (BufferAccess::has_memory(buffer)) return card.free(memory);  // by another thread meanwhile
  BufferAccess::memory(buffer) = std::move(memory);
  if (all_written) return;
  const device_sim::Piece piece = BufferAccess::piece(buffer, {}, buffer.size());
  device_sim::HostCallback zero{
      .function = [this, piece] { std::memset(card.address(piece), 0, piece.length.count); },
      .fills = true};
  Operation operation = transfer("zero_fill", std::move(zero), buffer, s, true);
  operation.footprint.writes.push_back(piece);
  card.enqueue(s.id(), std::move(operation), urgency);
}

TimelinePoint Device::State::enqueue_transfer(Lock& lock, StreamState& s, Operation operation,
                                              Urgency urgency) {
  while (!s.has_awaited(s.oldest_transfer())) await_unless_awaited(lock, s, s.oldest_transfer());
  const TimelinePoint point = card.enqueue(s.id(), std::move(operation), urgency);
  s.add_transfer(point);
  return point;
}

void Device::upload(StreamId stream, Buffer& target, Bytes offset, const std::byte* source,
                    Bytes length, bool blocking, std::shared_ptr<const void> keep_alive) {
  check_range("upload", target, offset, length);
  if (length.count == 0) return;
  if (target.is_tiled())
    return Images(*this, stream)
        .upload(target, offset, source, length, blocking, std::move(keep_alive));
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.upload_stream(stream, target);
  d.flush_uses(lock, s, target, FlushReason::HostToDevice, Urgency::Background);
  const bool whole = length == target.size();
  const bool busy = !s.has_awaited(d.card.last_point(s.id()));
  if (blocking && busy && length <= kStaged) {
    auto staged = std::make_shared<std::vector<std::byte>>(source, source + length.count);
    source = staged->data();
    keep_alive = std::move(staged);
    blocking = false;
  }
  const Urgency urgency = blocking ? Urgency::Waited : Urgency::Background;
  d.give_memory(lock, s, target, whole, urgency);
  if (whole) BufferAccess::set_spoiled(target, Spoiled::No);
  const device_sim::Piece piece = BufferAccess::piece(target, offset, length);
  const TimelinePoint point = d.enqueue_transfer(
      lock, s,
      transfer("upload", device_sim::HostToDevice{source, piece, std::move(keep_alive)}, target, s,
               whole),
      urgency);
  lock.unlock();
  if (!blocking) return;
  d.wait_for_transfer(s, point);
  d.raise_fault(s);
}

void Device::download(StreamId stream, Buffer& source, Bytes offset, std::byte* target,
                      Bytes length, FlushReason reason, bool blocking,
                      std::shared_ptr<const void> keep_alive) {
  check_range("download", source, offset, length);
  if (length.count == 0) return;
  if (source.is_tiled())
    return Images(*this, stream)
        .download(source, offset, target, length, reason, blocking, std::move(keep_alive));
  State& d = *state_;
  const Urgency urgency = blocking ? Urgency::Waited : Urgency::Background;
  Lock lock(d.mutex);
  StreamState& s = d.card_stream(stream);
  if (d.pending_writes(source)) d.flush_uses(lock, s, source, reason, urgency);
  d.give_memory(lock, s, source, false, urgency);
  const device_sim::Piece piece = BufferAccess::piece(source, offset, length);
  const TimelinePoint point = d.enqueue_transfer(
      lock, s,
      transfer("download", device_sim::DeviceToHost{piece, target, std::move(keep_alive)}, source,
               s),
      urgency);
  lock.unlock();
  if (!blocking) return;
  d.wait_for_transfer(s, point);
  d.raise_fault(s);
  BufferAccess::raise_if_spoiled(source);
}

std::byte* Device::host_address(StreamId stream, Buffer& buffer, FlushReason reason) {
  if (buffer.is_tiled()) return Images(*this, stream).host_address(buffer, reason);
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.card_stream(stream);
  d.flush_uses(lock, s, buffer, reason, urgency_of(reason));
  d.give_memory(lock, s, buffer, false, Urgency::Waited);
  const device_sim::Piece piece = BufferAccess::piece(buffer, {}, buffer.size());
  d.await_all(lock);  // other streams may still read it
  lock.unlock();
  d.raise_fault(s);
  BufferAccess::raise_if_spoiled(buffer);
  return d.card.address(piece);
}

std::vector<device_sim::Piece> Device::pieces_of(StreamId stream, Buffer& buffer) {
  State& d = *state_;
  Lock lock(d.mutex);
  Buffer& real = buffer.is_tiled() ? *BufferAccess::tiled(buffer)->sticks : buffer;
  StreamState& s = d.card_stream(stream);
  d.flush_uses(lock, s, real, FlushReason::Synchronize, Urgency::Background);
  d.give_memory(lock, s, real, false, Urgency::Background);
  const std::span<const device_sim::Piece> pieces = BufferAccess::memory(real).pieces();
  return {pieces.begin(), pieces.end()};
}

void Device::price_host_work(StreamId stream, Bytes to_host, Bytes to_device) {
  State& d = *state_;
  Lock lock(d.mutex);
  StreamState& s = d.card_stream(stream);
  const auto pass = [&](std::string_view name, auto what) SPYRE_NO_THREAD_SAFETY_ANALYSIS {
    Operation operation;
    operation.what = std::move(what);
    operation.name = name;
    const TimelinePoint point = d.enqueue_transfer(lock, s, std::move(operation), Urgency::Waited);
    lock.unlock();
    d.wait(s, point);
    lock.lock();
  };
  const auto piece = [](Bytes length) { return device_sim::Piece{.length = length}; };
  if (to_host.count != 0)
    pass("host_arguments", device_sim::DeviceToHost{piece(to_host), nullptr, nullptr});
  if (to_device.count != 0)
    pass("host_results", device_sim::HostToDevice{nullptr, piece(to_device), nullptr});
}

}  // namespace spyre::lazy
