// spyre/engine/activity_profiler.h — the cards as torch.profiler sees them.
#pragma once
namespace libkineto {
class IActivityProfiler;
}

namespace spyre::engine {

/// PyTorch's profiler asks it for a session, in which the cards' operations and the calls that submitted them become
/// rows. Lives as long as the process. One session at a time, as PyTorch has it.
libkineto::IActivityProfiler& activity_profiler();

}  // namespace spyre::engine
