// spyre/kernels/op_table.cpp — the families in table order; an op's id is its position.
#include <algorithm>
#include <array>
#include <vector>

#include "spyre/base/error.h"
#include "spyre/base/text.h"
#include "spyre/kernels/op.h"
#include "spyre/kernels/ops/activation.h"
#include "spyre/kernels/ops/arithmetic.h"
#include "spyre/kernels/ops/backward.h"
#include "spyre/kernels/ops/bitwise.h"
#include "spyre/kernels/ops/combine.h"
#include "spyre/kernels/ops/compare.h"
#include "spyre/kernels/ops/exponential.h"
#include "spyre/kernels/ops/loss.h"
#include "spyre/kernels/ops/piecewise_backward.h"
#include "spyre/kernels/ops/power.h"
#include "spyre/kernels/ops/random.h"
#include "spyre/kernels/ops/rounding.h"
#include "spyre/kernels/ops/trigonometric.h"

namespace spyre::kernels {
namespace {

template <class... Families> constexpr auto concatenated() {
  std::array<Op, (Families::size + ...)> table{};
  std::size_t next = 0;
  const auto append = [&](const auto& family) {
    for (const Op& row : family) table[next++] = row;
  };
  (append(Families::table), ...);
  return table;
}

constexpr auto kTable =
    concatenated<ops::Arithmetic, ops::Combine, ops::Compare, ops::Bitwise, ops::Rounding,
                 ops::Exponential, ops::Power, ops::Trigonometric, ops::Activation,
                 ops::PiecewiseBackward, ops::Backward, ops::Loss, ops::Random>();

constexpr bool names_are_unique() {
  for (std::size_t i = 0; i < kTable.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (kTable[i].info.name == kTable[j].info.name) return false;
  return true;
}
static_assert(names_are_unique());

/// Levenshtein distance, for suggestions.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string nearest_names(std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(kTable.size());
  for (const Op& row : kTable) names.push_back(row.info.name);
  const auto nearer = [&](auto a, auto b) {
    return edit_distance(a, name) < edit_distance(b, name);
  };
  std::ranges::partial_sort(names, names.begin() + 3, nearer);
  return str(names[0], ", ", names[1], ", ", names[2]);
}

}  // namespace

std::span<const Op> op_table() { return kTable; }

const Op& op(OpId id) {
  ensure(id.value < kTable.size(), "an op id is a position in the table");
  return kTable[id.value];
}

OpId op_named(std::string_view name) {
  const auto found = std::ranges::find(kTable, name, [](const Op& row) { return row.info.name; });
  if (found == kTable.end())
    throw InvalidArgument(
        str("no op is named ", name, "; the nearest names are ", nearest_names(name)));
  return OpId{static_cast<std::uint16_t>(found - kTable.begin())};
}

std::string_view name_of(Reduction r) {
  constexpr std::array<std::string_view, 8> kNames{"sum",    "prod",   "max", "min",
                                                   "argmax", "argmin", "any", "all"};
  return kNames[static_cast<std::size_t>(r)];
}

}  // namespace spyre::kernels
