// spyre/kernels/streaming.cpp — counts what a launch reads and writes.
#include "streaming.h"

namespace spyre::kernels {
namespace {

/// What a launch reads or writes of one argument: dimensions that it is broadcast along do not count.
Bytes touched_bytes(const KernelSpec& spec, const LaunchArguments& launch, std::size_t argument) {
  Bytes total{static_cast<std::uint64_t>(size_of(spec.arguments[argument].dtype))};
  for (std::size_t d = 0; d < spec.rank; ++d) {
    if (launch.strides[argument * spec.rank + d] != 0)
      total = total * static_cast<std::uint64_t>(launch.extents[d]);
  }
  return total;
}

}  // namespace

bool outgrows_caches(const KernelSpec& spec, const LaunchArguments& launch, Bytes cache) {
  Bytes at_most{8 * 2 *
                spec.arguments.size()};  // spares small launches the walk over their arguments
  for (std::size_t d = 0; d < spec.rank; ++d)
    at_most = at_most * static_cast<std::uint64_t>(launch.extents[d]);
  if (at_most < cache) return false;
  Bytes read{}, written{};
  for (std::size_t a = 0; a < spec.arguments.size(); ++a) {
    const ArgumentSpec::Kind kind = spec.arguments[a].kind;
    if (kind == ArgumentSpec::Kind::Load) read += touched_bytes(spec, launch, a);
    if (kind != ArgumentSpec::Kind::Store) continue;
    written += touched_bytes(spec, launch, a);
    for (std::size_t other = 0; other < a; ++other)
      if (launch.bases[other] == launch.bases[a]) return false;  // in place: the lines are at hand
  }
  return written * 2 >= cache && (read * 2 >= written || written >= cache * 2);
}

}  // namespace spyre::kernels
