// spyre/lazy/dependences.h — which nodes stay in order, which hold point by point.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "access.h"

namespace spyre::lazy {

inline constexpr std::uint32_t kNone = 0xffffffff;

/// `to` comes later in the trace. Orders implied by others through a covering write are left out.
struct Dependence {
  enum class Kind : std::uint8_t {
    Flow,    // `to` reads what `from` wrote
    Anti,    // `to` overwrites what `from` read
    Output,  // `to` overwrites what `from` wrote
    Share,   // no order: both read the same elements in the same order
  };
  std::uint32_t from = 0, to = 0;
  Kind kind{};
  Relation relation{};
  std::uint32_t from_operand = 0, to_operand = 0;  // in Graph::operands
};

/// Of the live nodes of one graph. Immutable once built.
class Dependences {
 public:
  explicit Dependences(const Graph& graph);

  /// Dependences that end at / start from a node.
  std::span<const Dependence> into(std::uint32_t node) const { return slice(in_, in_begin_, node); }
  std::span<const Dependence> out_of(std::uint32_t node) const {
    return slice(out_, out_begin_, node);
  }
  /// Parallel to graph.operands; default for operands that are no views or belong to dead nodes.
  const Access& access(std::size_t operand) const { return accesses_[operand]; }
  /// The node whose value a view operand reads, whole and unchanged; kNone if it is memory's.
  std::uint32_t definition(std::size_t operand) const { return definitions_[operand]; }
  /// True if a later node overwrites all that the (single) output of this one wrote.
  bool overwritten(std::uint32_t node) const { return overwritten_[node] != 0; }

 private:
  struct Touch {
    std::uint32_t node, operand;
  };
  /// In recorded order; covered ones are dropped. All lie in the bytes [begin, end).
  struct Touches {
    std::vector<Touch> list{};
    std::int64_t begin = 0, end = 0;

    void add(Touch touch, const Access& access);
    /// False if none can touch a byte of `access`: touching slices one after the other stays
    /// linear.
    bool near(const Access& access) const { return access.begin < end && begin < access.end; }
  };
  struct History {
    Touches reads{}, writes{};
  };

  static std::span<const Dependence> slice(const std::vector<Dependence>& all,
                                           const std::vector<std::uint32_t>& begin,
                                           std::uint32_t node) {
    return std::span(all).subspan(begin[node], begin[node + 1] - begin[node]);
  }
  void read(History& history, Touch touch);
  void write(History& history, Touch touch);
  void index_outgoing(std::size_t nodes);

  std::vector<Access> accesses_;
  std::vector<std::uint32_t> definitions_;
  std::vector<std::uint8_t> overwritten_;
  std::vector<Dependence> in_, out_;
  std::vector<std::uint32_t> in_begin_, out_begin_;
};

}  // namespace spyre::lazy
