// spyre/engine/ruling.h — what the shape and type rules said about a call, remembered for the next one of its kind.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "spyre/engine/call_key.h"
#include "spyre/engine/number_rule.h"
#include "spyre/engine/recorder.h"
#include "spyre/engine/source.h"
#include "spyre/engine/tensor.h"
#include "spyre/lazy/prepared_pointwise.h"

namespace spyre::engine {

/// Where among a call's arguments the inputs of a body stand.
using Places = std::array<std::uint8_t, kMaxOperands>;

/// A call as the rules judged it. Borrows the inputs' tensors.
struct Judged {
  PointwiseOp op;
  Operands inputs;     // of the body
  Places places{};     // theirs
  NumberRules values;  // by argument
};

/// The outcome for all calls with one key: which op, in which types, over which geometry, and what
/// its numbers must keep to. Confined to one thread.
class Ruling {
 public:
  /// From a call that was recorded. `out`: its result; `fresh`: every call makes a new one.
  Ruling(Judged call, const at::Tensor& out, bool fresh);

  /// Records the call into a new tensor. Raises CPU's error for a number that it refuses, as the
  /// next one does.
  at::Tensor record(Arguments arguments);
  /// Records it into `out`. False, and nothing recorded, if an argument shares memory with `out`
  /// in another way than being `out`: that is for the rules to judge.
  bool record(Arguments arguments, const at::Tensor& out);

 private:
  using Inputs = std::array<lazy::PreparedOperand, kMaxOperands>;
  void check(Arguments arguments) const;
  void resolve(Arguments arguments, Inputs& inputs) const;
  std::span<const lazy::PreparedOperand> used(const Inputs& inputs) const {
    return std::span(inputs).first(count_);
  }
  std::uint32_t source() const { return recorded_source(op_.may_fault); }

  PointwiseOp op_;
  const kernels::OpInfo* info_;
  std::size_t count_;  // inputs of the body
  Places places_;
  NumberRules values_;
  DeviceEntry* entry_;  // which lives as long as the process
  lazy::PreparedPointwise prepared_;
  std::optional<TensorMold> mold_;  // of a new result
};

/// The rulings of one thread by key: a bounded table of small sets, where a newcomer takes the place of the one of its
/// set that has not been asked for longest. Confined to its thread.
class RulingMemo {
 public:
  static constexpr unsigned kSetBits = 11;
  static constexpr std::size_t kWays = 4;

  /// The calling thread's.
  static RulingMemo& of_thread();

  Ruling* find(const CallKey& key);
  /// What a call that was recorded into `out` tells of the next one; `fresh`: each makes a new one.
  /// Nothing without a key, or of an empty result.
  void remember(const CallKey& key, Judged call, const at::Tensor& out, bool fresh);

 private:
  struct Entry {
    std::vector<std::uint64_t> key;
    Ruling ruling;
  };
  using Set =
      std::array<std::unique_ptr<Entry>, kWays>;  // asked for last first; null: not used yet
  Set& set_of(const CallKey& key) { return sets_[key.hash() >> (64 - kSetBits)]; }
  std::array<Set, 1U << kSetBits> sets_;
};

/// Calls that the rules judged because no ruling was remembered, in all threads since the start.
std::uint64_t rulings_made();

}  // namespace spyre::engine
