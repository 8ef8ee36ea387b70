// spyre/device_sim/hazard.cpp — range overlap over footprints.
#include "hazard.h"

#include <algorithm>

namespace spyre::device_sim {
namespace {

/// The piece that an operation reads (or writes) by its nature; of length 0 if none.
Piece own_read(const Operation& operation) {
  if (const auto* download = std::get_if<DeviceToHost>(&operation.what))
    return download->target != nullptr ? download->source : Piece{};
  if (const auto* send = std::get_if<Send>(&operation.what)) return send->source;
  if (const auto* compute = std::get_if<Compute>(&operation.what)) return compute->arguments;
  return {};
}

Piece own_write(const Operation& operation) {
  if (const auto* post = std::get_if<PostReceive>(&operation.what)) return post->target;
  if (const auto* receive = std::get_if<Receive>(&operation.what)) return receive->target;
  const auto* upload = std::get_if<HostToDevice>(&operation.what);
  return upload != nullptr && upload->source != nullptr ? upload->target : Piece{};
}

bool overlap(const Piece& a, const Piece& b) {
  return a.region == b.region && a.length != 0_B && b.length != 0_B &&
         a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

bool reads(const Operation& operation, const Piece& piece) {
  return overlap(own_read(operation), piece) ||
         std::ranges::any_of(operation.footprint.reads,
                             [&](const Piece& p) { return overlap(p, piece); });
}

bool writes(const Operation& operation, const Piece& piece) {
  return overlap(own_write(operation), piece) ||
         std::ranges::any_of(operation.footprint.writes,
                             [&](const Piece& p) { return overlap(p, piece); });
}

template <class Predicate> bool any_write(const Operation& operation, const Predicate& predicate) {
  return predicate(own_write(operation)) ||
         std::ranges::any_of(operation.footprint.writes, predicate);
}

}  // namespace

bool conflict(const Operation& a, const Operation& b) {
  return any_write(a, [&](const Piece& piece) { return reads(b, piece) || writes(b, piece); }) ||
         any_write(b, [&](const Piece& piece) { return reads(a, piece); });
}

}  // namespace spyre::device_sim
