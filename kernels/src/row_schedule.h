// spyre/kernels/row_schedule.h — in which pass over a row (or over everything) each step is computed, and what is kept between passes.
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

/// Element steps whose work belongs to pass `p`: what it reduces, keeps and stores.
std::vector<std::uint16_t> sinks_of(const KernelSpec& spec, const RowSchedule& plan,
                                    std::uint16_t p);

/// What pass `p` may use without computing it: everything that is not per element, and kept values of
/// earlier passes.
std::vector<bool> available_in(const KernelSpec& spec, const RowSchedule& plan, std::uint16_t p);

/// The steps that must be computed or loaded to give `roots`, not looking behind `available` ones.
std::vector<bool> needed_steps(const KernelSpec& spec, const std::vector<std::uint16_t>& roots,
                               const std::vector<bool>& available);

}  // namespace spyre::kernels
