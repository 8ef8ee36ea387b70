// spyre/lazy/panel_program.cpp — a resident buffer is addressed as if all of its rows were there.
#include "panel_program.h"

#include "programs.h"

namespace spyre::lazy {

/// What one call of run() works with; its vectors are filled again for each stage and panel.
struct PanelProgram::Launch {
  const std::uint64_t* words = nullptr;
  std::span<std::byte> residents, scratch;
  std::vector<std::uint64_t> bases;
  std::vector<std::int64_t> extents;
  std::vector<kernels::DeviceView> views;
  std::vector<std::int64_t> batches;  // per stage: the one that its kept bytes are of, or -1
};

PanelProgram::PanelProgram(std::shared_ptr<const Chain> chain, std::vector<StageCode> stages,
                           std::uint32_t step)
    : chain_(std::move(chain)), stages_(std::move(stages)), step_(step) {
  words_ = kHeaderWords;
  for (const StageCode& stage : stages_) {
    first_words_.push_back(words_);
    words_ += stage.buffers.size();
    if (stage.kernel) words_ += stage.kernel->spec().params;
    std::vector<std::size_t>& slots = residents_.emplace_back();
    for (const std::uint32_t buffer : stage.buffers) slots.push_back(chain_->resident(buffer));
  }
}

std::int64_t PanelProgram::work_items(std::span<const std::byte> /*arguments*/) const {
  return chain_->panels();
}

PanelProgram::Panel PanelProgram::panel(std::int64_t item) const {
  const std::int64_t run = item / chain_->panels_per_run(), part = item % chain_->panels_per_run(),
                     length = chain_->rows.back();
  const std::int64_t first = length * part / chain_->panels_per_run(),
                     last = length * (part + 1) / chain_->panels_per_run();
  Panel panel{.first_row = run * length + first,
              .rows = last - first,
              .at = Dims::filled(chain_->rows.size(), first)};
  std::int64_t left = run;
  for (std::size_t d = chain_->rows.size() - 1; d-- > 0; left /= chain_->rows[d])
    panel.at[d] = left % chain_->rows[d];
  return panel;
}

void PanelProgram::run_kernel(std::size_t stage, const Panel& panel, Launch& launch) const {
  const Stage& plan = chain_->stages[stage];
  const std::size_t arguments = stages_[stage].buffers.size();
  launch.bases.assign(launch.words + base_word(stage, 0),
                      launch.words + base_word(stage, arguments));
  for (std::size_t a = 0; a < arguments; ++a) {
    if (const std::size_t slot = residents_[stage][a]; slot != Chain::kNone) {
      launch.bases[a] +=
          reinterpret_cast<std::uint64_t>(launch.residents.data()) + chain_->residents[slot].offset;
      continue;
    }
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < panel.at.size(); ++d)
      offset += panel.at[d] * plan.row_strides[a][d];
    launch.bases[a] += static_cast<std::uint64_t>(offset);
  }
  launch.extents.assign(plan.group.extents.begin(), plan.group.extents.end());
  launch.extents[0] = panel.rows * plan.points_per_row;
  const kernels::Kernel& kernel = *stages_[stage].kernel;
  kernel.run({launch.bases.data(), launch.extents.data(), plan.group.strides.data(),
              launch.words + param_word(stage, 0)},
             0, kernel.work_items(launch.extents.data()), launch.scratch.data());
}

void PanelProgram::run_call(std::size_t stage, const Panel& panel, Launch& launch) const {
  const StageCode& code = stages_[stage];
  launch.views = code.views;
  for (std::size_t i = 0; i < launch.views.size(); ++i) {
    std::uint64_t base = launch.words[base_word(stage, i)];
    if (const std::size_t slot = residents_[stage][i]; slot != Chain::kNone) {
      const Chain::Resident& resident = chain_->residents[slot];
      base += reinterpret_cast<std::uint64_t>(launch.residents.data()) + resident.offset -
              static_cast<std::uint64_t>(panel.first_row * resident.row_bytes);
    }
    launch.views[i].data = reinterpret_cast<void*>(base);
  }
  const std::int64_t rows = code.call->row_space()->rows, batch = panel.first_row / rows,
                     first = panel.first_row % rows;
  const Stage& plan = chain_->stages[stage];
  const auto room = plan.keeps ? launch.residents : launch.scratch;
  const auto prepared = room.subspan(plan.batch_offset, plan.batch_bytes.count);
  if (!plan.keeps || launch.batches[stage] != batch)
    code.call->prepare_batch(launch.views, batch, prepared);
  launch.batches[stage] = batch;
  const auto scratch = plan.keeps ? launch.scratch : launch.scratch.subspan(prepared.size());
  code.call->run_rows(launch.views, {batch, first, first + panel.rows}, prepared, scratch);
}

Hash128 PanelProgram::identity() const {
  std::string stages;
  for (const StageCode& stage : stages_)
    stages += stage.kernel ? stage.kernel->spec().key() : std::string(stage.call->name());
  return hash(std::as_bytes(std::span(stages)));
}

void PanelProgram::run(std::span<const std::byte> arguments, std::int64_t first, std::int64_t last,
                       device_sim::Core& core) const {
  run_monitored(arguments, step_, [&] {
    Launch launch{.words = reinterpret_cast<const std::uint64_t*>(arguments.data()),
                  .residents = core.scratchpad.first(chain_->resident_bytes.count),
                  .scratch = core.scratchpad.subspan(chain_->resident_bytes.count),
                  .bases = {},
                  .extents = {},
                  .views = {},
                  .batches = std::vector<std::int64_t>(stages_.size(), -1)};
    for (std::int64_t item = first; item < last; ++item) {
      const Panel rows = panel(item);
      for (std::size_t s = 0; s < stages_.size(); ++s)
        if (stages_[s].kernel) run_kernel(s, rows, launch);
        else run_call(s, rows, launch);
    }
  });
}

}  // namespace spyre::lazy
