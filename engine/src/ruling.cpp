// spyre/engine/ruling.cpp — a remembered call costs its key, its numbers and one record.
#include "spyre/engine/ruling.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "spyre/engine/guard.h"
#include "spyre/engine/runtime.h"

namespace spyre::engine {
namespace {

std::atomic<std::uint64_t> made = 0;

}  // namespace

Ruling::Ruling(Judged call, const at::Tensor& out, bool fresh)
    : op_(call.op),
      info_(&kernels::op(call.op.op).info),
      count_(call.inputs.size()),
      places_(std::move(call.places)),
      values_(std::move(call.values)),
      entry_(&Runtime::get().entry(out.device().index())),
      prepared_(prepare(call.op, call.inputs, out)) {
  if (fresh) mold_.emplace(out);
}

void Ruling::check(Arguments arguments) const {
  for (const NumberRule& rule : values_) rule.check(arguments[rule.argument].value());
}

void Ruling::resolve(Arguments arguments, Inputs& inputs) const {
  for (std::size_t i = 0; i < count_; ++i) {
    const Argument& argument = arguments[places_[i]];
    if (argument.on_device()) {
      inputs[i].buffer = &buffer_of(*argument.tensor);
      inputs[i].offset = argument.tensor->unsafeGetTensorImpl()->storage_offset();
    } else {
      inputs[i].bits = number_input(argument.value(), *info_, op_.compute).bits;
    }
  }
}

at::Tensor Ruling::record(Arguments arguments) {
  check(arguments);
  Inputs inputs;
  resolve(arguments, inputs);
  return mold_->cast(*entry_, entry_->device.record(current_stream_on(entry_->index), prepared_,
                                                    used(inputs), source()));
}

bool Ruling::record(Arguments arguments, const at::Tensor& out) {
  check(arguments);
  Inputs inputs;
  resolve(arguments, inputs);
  const lazy::PreparedOperand output{.buffer = &buffer_of(out), .offset = out.storage_offset()};
  for (std::size_t i = 0; i < count_; ++i)
    if (inputs[i].buffer == output.buffer && !arguments[places_[i]].tensor->is_same(out))
      return false;
  output.buffer->device().record(current_stream_on(entry_->index), prepared_, used(inputs), output,
                                 source());
  return true;
}

RulingMemo& RulingMemo::of_thread() {
  // A pointer without a guard or a destructor costs one look-up; the object ends with its thread.
  static thread_local RulingMemo* known = nullptr;
  if (known == nullptr) [[unlikely]] {
    static thread_local RulingMemo memo;
    known = &memo;
  }
  return *known;
}

Ruling* RulingMemo::find(const CallKey& key) {
  const std::span<const std::uint64_t> words = key.words();
  Set& set = set_of(key);
  for (auto at = set.begin(); at != set.end() && *at != nullptr; ++at) {
    Entry& entry = **at;
    if (!std::ranges::equal(entry.key, words)) continue;
    if (at != set.begin()) std::rotate(set.begin(), at, at + 1);
    return &entry.ruling;
  }
  return nullptr;
}

void RulingMemo::remember(const CallKey& key, Judged call, const at::Tensor& out, bool fresh) {
  if (!key.valid() || out.numel() == 0) return;
  made.fetch_add(1, std::memory_order_relaxed);
  const std::span<const std::uint64_t> words = key.words();
  auto entry = std::make_unique<Entry>(Entry{std::vector<std::uint64_t>(words.begin(), words.end()),
                                             Ruling(std::move(call), out, fresh)});
  Set& set = set_of(key);
  std::shift_right(set.begin(), set.end(), 1);
  set.front() = std::move(entry);
}

std::uint64_t rulings_made() { return made.load(std::memory_order_relaxed); }

}  // namespace spyre::engine
