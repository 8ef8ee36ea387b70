// spyre/lazy/panel_program.h — the card's view of a chain.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "spyre/device_sim/operation.h"
#include "spyre/kernels/kernel.h"
#include "spyre/kernels/library.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// Code of one stage: a kernel, or a library call with its operands' windows.
struct StageCode {
  std::shared_ptr<const kernels::Kernel> kernel = nullptr;
  std::shared_ptr<const kernels::LibraryCall> call = nullptr;
  std::vector<kernels::DeviceView> views = {};
  std::vector<std::uint32_t> buffers = {};  // per argument or operand
};

/// Each work item takes one panel of rows through all stages. Arguments: per stage, one base per
/// argument or operand (of residents: bytes into a row), then its scalars. Immutable.
class PanelProgram final : public device_sim::Program {
 public:
  PanelProgram(std::shared_ptr<const Chain> chain, std::vector<StageCode> stages,
               std::uint32_t step);
  std::int64_t work_items(std::span<const std::byte> arguments) const override;
  void run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
           device_sim::Core& core) const override;
  Hash128 identity() const override;

  std::size_t base_word(std::size_t stage, std::size_t argument) const {
    return first_words_[stage] + argument;
  }
  std::size_t param_word(std::size_t stage, std::size_t param) const {
    return first_words_[stage] + stages_[stage].buffers.size() + param;
  }
  std::size_t words() const { return words_; }

 private:
  /// Rows of one panel: their number, and where the first one lies.
  struct Panel {
    std::int64_t first_row = 0, rows = 0;
    Dims at;  // coordinates of the first row
  };
  struct Launch;
  Panel panel(std::int64_t item) const;
  void run_kernel(std::size_t stage, const Panel& panel, Launch& launch) const;
  void run_call(std::size_t stage, const Panel& panel, Launch& launch) const;

  std::shared_ptr<const Chain> chain_;
  std::vector<StageCode> stages_;
  std::vector<std::vector<std::size_t>> residents_;  // per stage and argument
  std::vector<std::size_t> first_words_;
  std::size_t words_ = 0;
  std::uint32_t step_;
};

}  // namespace spyre::lazy
