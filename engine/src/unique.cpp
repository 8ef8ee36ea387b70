// spyre/engine/unique.cpp — the different elements of a tensor: found on the device, which then tells how many there are.
#include <ATen/Functions.h>
#include <ATen/Operators.h>
#include <ATen/WrapDimUtils.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "spyre/engine/copy.h"
#include "spyre/engine/fallback.h"
#include "spyre/engine/library_op.h"
#include "spyre/engine/operators.h"
#include "spyre/engine/shape_rules.h"
#include "spyre/engine/tensor.h"

namespace spyre::engine {
namespace {

using at::Tensor;
using Three = std::tuple<Tensor, Tensor, Tensor>;

/// The operators of this family.
enum class Way : std::uint8_t { Elements, Slices, Runs };

/// A library operation. Writes what it finds into the beginnings of results that are long enough, and how much it found into the last.
/// Immutable when recorded.
struct Unique {
  Way way{};
  bool sorted = true, places = false, counts = false;
  std::optional<std::int64_t> dim = {};  // of slices; all elements in a row without
  std::uint64_t elements = 0;

  std::string_view name() const;
  void describe(KeyWriter& key) const { key(way, sorted, places, counts, dim); }
  std::int64_t work_items() const { return 1; }
  kernels::LibraryCost cost() const { return {.macs = 0, .lane_ops = elements}; }
  bool may_fault() const { return false; }
  void run(Tensors operands, std::int64_t first, std::int64_t last) const;
  Three call(const Tensor& self) const;
};

std::string_view Unique::name() const {
  switch (way) {
    case Way::Elements: return "aten::_unique2";
    case Way::Slices: return "aten::unique_dim";
    case Way::Runs: return "aten::unique_consecutive";
  }
  return {};
}

Three Unique::call(const Tensor& self) const {
  switch (way) {
    case Way::Elements: return at::_unique2(self, sorted, places, counts);
    case Way::Slices: return at::unique_dim(self, *dim, sorted, places, counts);
    case Way::Runs: return at::unique_consecutive(self, places, counts, dim);
  }
  return {};
}

void Unique::run(Tensors operands, std::int64_t /*first*/, std::int64_t /*last*/) const {
  const auto [values, where, how_often] = call(operands[0]);
  const std::int64_t along = dim.value_or(0), found = values.size(along);
  operands[1].narrow(along, 0, found).copy_(values);
  if (where.numel() != 0) operands[2].copy_(where);
  if (how_often.numel() != 0) operands[3].narrow(0, 0, found).copy_(how_often);
  operands[4].fill_(found);
}

/// The call on CPU with a single element: raises CPU's errors, and shows which results there will be.
Three of_one_element(const Unique& op, const Tensor& self) {
  const c10::DimVector ones(self.sizes().size(), 1);
  return op.call(at::zeros(ones, self.options().device(at::kCPU)));
}

bool serves(const Tensor& self, std::optional<std::int64_t> dim) {
  return self.is_privateuseone() && self.layout() == at::kStrided && self.numel() != 0 &&
         self.dim() <= static_cast<std::int64_t>(kMaxRank) && !(dim && self.dim() == 0);
}

/// As long as they could be along `dim`, which is the outermost in memory, as it is in CPU's results.
Tensor room_for_slices(const Tensor& self, std::int64_t dim) {
  c10::DimVector sizes(self.sizes());
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin(), self.size(dim));
  return at::empty(sizes, self.options()).movedim(0, dim);
}

Three find(Unique op, const Tensor& self) {
  const auto [value, place, count] = of_one_element(op, self);
  if (op.dim) op.dim = at::maybe_wrap_dim(*op.dim, self.dim());
  op.elements = static_cast<std::uint64_t>(self.numel());
  const c10::TensorOptions integers = self.options().dtype(at::kLong);
  const std::int64_t most = op.dim ? self.size(*op.dim) : self.numel();
  const Tensor values = op.dim ? room_for_slices(self, *op.dim) : at::empty({most}, self.options());
  Tensor places = at::empty({0}, integers), counts = at::empty({0}, integers);
  if (place.numel() != 0)
    places = op.dim ? at::empty({most}, integers) : at::empty(self.sizes(), integers);
  if (count.numel() != 0) counts = at::empty({most}, integers);
  const Tensor found = at::empty({1}, integers), plain = self.resolve_conj().resolve_neg();
  record_library(op, {&plain}, {&values, &places, &counts, &found});
  const std::int64_t length = read_count(found).value_or(most);
  if (counts.numel() != 0) counts = counts.narrow(0, 0, length).clone();
  return {values.narrow(op.dim.value_or(0), 0, length).clone(), places, counts};
}

Three elements(const Tensor& self, bool sorted, bool places, bool counts) {
  if (!serves(self, std::nullopt))
    return on_host<ATEN_OP(_unique2)>::call(self, sorted, places, counts);
  return find({Way::Elements, sorted, places, counts}, self);
}

std::tuple<Tensor, Tensor> elements_and_places(const Tensor& self, bool sorted, bool places) {
  if (!serves(self, std::nullopt)) return on_host<ATEN_OP(_unique)>::call(self, sorted, places);
  auto [values, where, how_often] = elements(self, sorted, places, false);
  return {std::move(values), std::move(where)};
}

Three slices(const Tensor& self, std::int64_t dim, bool sorted, bool places, bool counts) {
  if (!serves(self, dim))
    return on_host<ATEN_OP(unique_dim)>::call(self, dim, sorted, places, counts);
  return find({Way::Slices, sorted, places, counts, dim}, self);
}

Three runs(const Tensor& self, bool places, bool counts, std::optional<std::int64_t> dim) {
  if (!serves(self, dim))
    return on_host<ATEN_OP(unique_consecutive)>::call(self, places, counts, dim);
  return find({Way::Runs, true, places, counts, dim}, self);
}

}  // namespace

void register_unique(Registrations& registrations) {
  registrations.add_overload<&elements>("_unique2");
  registrations.add_overload<&elements_and_places>("_unique");
  registrations.add_overload<&slices>("unique_dim");
  registrations.add_overload<&runs>("unique_consecutive");
}

}  // namespace spyre::engine
