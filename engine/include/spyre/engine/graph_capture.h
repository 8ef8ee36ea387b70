// spyre/engine/graph_capture.h — torch.accelerator.Graph on this device.
#pragma once
#include <ATen/core/GraphImplInterface.h>

#include <memory>

namespace spyre::engine {

/// What a torch.accelerator.Graph stands on: from capture_begin() to capture_end(), what the calling thread records on
/// its current device becomes part of the graph, whichever of its streams it asks for: program order keeps what streams
/// and events would. Nothing runs meanwhile, and what would have to (a value that is read, an operator on the host)
/// raises. Random numbers come from a copy of the default generator, which stays where it was, and goes on for other
/// threads: the first replay draws what a run would have drawn. Not synchronized: one thread at a time.
std::unique_ptr<at::GraphImplInterface> make_graph(const at::GraphImplArgs& arguments);

}  // namespace spyre::engine
