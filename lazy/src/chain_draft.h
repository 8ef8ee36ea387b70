// spyre/lazy/chain_draft.h — the members of a chain as it grows.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "row_loops.h"
#include "spyre/lazy/pipeline.h"

namespace spyre::lazy {

/// Over the rows of a product. Confined to the compiling thread; borrows the graph.
class ChainDraft {
 public:
  static bool has_rows(const Graph& graph, const Group& group);
  /// Without members yet.
  ChainDraft(const Graph& graph, const Group& product);

  /// True if the group reads or overwrites what a member touches: it joins, or the chain ends.
  bool concerns(const Group& group) const;
  /// False if the group cannot go with the members panel by panel. `position`: in the plan, behind
  /// the members'.
  bool join(const Group& group, std::size_t position);
  const std::vector<std::size_t>& members() const { return members_; }

  /// None if it is not worth it or does not fit.
  std::optional<Group> build(const Plan& plan, Bytes scratchpad) const;

 private:
  /// How a group touches a buffer.
  struct Touching {
    std::uint32_t buffer = 0;
    bool write = false;
    std::int64_t row_bytes = 0;  // rows are that far apart, and the group stays within its own; 0:
                                 // it touches whatever it likes
    bool fills = false;          // writes every byte
  };
  /// A buffer that members touch. Rows only if all of them keep to their own.
  struct Shared {
    std::int64_t row_bytes = 0;
    bool written = false;
    bool made = false;  // before anything else, a member wrote every byte
  };

  std::optional<Dims> rows_with(const Group& group) const;
  std::vector<Touching> touches(const Group& group, const Dims& rows) const;
  std::vector<Touching> kernel_touches(const Group& group, const Dims& rows) const;
  std::vector<Touching> product_touches(const Group& group) const;
  void add(const std::vector<Touching>& touches, std::size_t position);
  bool compatible(const Touching& touch) const;

  bool resident(const Plan& plan, std::uint32_t buffer) const;
  void place_residents(const Plan& plan, Chain& chain) const;
  Bytes place_batches(Bytes scratchpad, Chain& chain) const;
  bool fit_panel(Bytes scratchpad, Chain& chain) const;
  Group as_group(const Plan& plan, Chain chain) const;

  const Graph& graph_;
  Dims rows_;
  std::vector<std::size_t> members_;
  std::map<std::uint32_t, Shared> shared_;
};

}  // namespace spyre::lazy
