// spyre/engine/card_numbers.h — numbers that kernels did not make, with SPYRE_NUMERICS=card.
#pragma once
#include <ATen/core/Tensor.h>

namespace spyre::engine {

/// True if kernels round values of that type further than its own storage does.
bool is_kept_as_another(c10::ScalarType type);

/// Rounds what an upload, a library or the host has put into the tensor's memory to what the card
/// would hold of it. Nothing with ordinary numerics. The tensor does not overlap itself.
void round_to_card(const at::Tensor& tensor);

/// TORCH_SPYRE_DOWNCAST_WARN: whether the first int64 that the card keeps as int32 is told of.
bool warns_of_downcast();
void set_downcast_warning(bool warns);

}  // namespace spyre::engine
