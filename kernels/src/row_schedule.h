// spyre/kernels/row_schedule.h — in which pass over a row each step is computed, and what is kept between passes.
#pragma once
#include <cstdint>
#include <vector>

#include "spyre/kernels/kernel_spec.h"

namespace spyre::kernels {

/// For Element steps `pass[i]` is the first pass that can compute step i; for Result steps the pass before
/// which it is known. Element stores may be later than their value.
struct RowSchedule {
  std::vector<std::uint16_t> pass;
  std::vector<bool> saved;  // Element values that later passes read back instead of computing again
  std::uint16_t passes = 0;
};

RowSchedule schedule(const KernelSpec& spec);

/// The steps that must be computed or loaded to give `roots`, not looking behind `available` ones.
std::vector<bool> needed_steps(const KernelSpec& spec, const std::vector<std::uint16_t>& roots,
                               const std::vector<bool>& available);

}  // namespace spyre::kernels
