// spyre/lazy/loop_order.cpp — see loop_order.h.
#include "loop_order.h"

#include <algorithm>
#include <cstdlib>

#include "spyre/lazy/iteration_space.h"

namespace spyre::lazy {
namespace {

using kernels::ArgumentSpec;
using kernels::Form;
using kernels::InnerStride;

std::int64_t unit_of(const ArgumentSpec& spec) {
  return spec.kind == ArgumentSpec::Kind::Iota ? 1 : static_cast<std::int64_t>(size_of(spec.dtype));
}

/// Loops in a chosen order, with the strides of every argument in parallel.
struct Loops {
  Dims extents;
  std::vector<Dims> strides;  // per argument

  void append(std::int64_t extent, const std::vector<NestArgument>& arguments,
              std::size_t dimension) {
    extents.push_back(extent);
    for (std::size_t a = 0; a < arguments.size(); ++a)
      strides[a].push_back(arguments[a].strides[dimension]);
  }
  void append_single() {
    extents.push_back(1);
    for (Dims& s : strides) s.push_back(0);
  }
};

/// Writes should stream: the first store's strides fall from the outermost loop to the innermost.
void sort_by_store(const std::vector<NestArgument>& arguments,
                   std::vector<std::size_t>& dimensions) {
  const auto store = std::ranges::find(arguments, ArgumentSpec::Kind::Store,
                                       [](const auto& a) { return a.spec.kind; });
  if (store == arguments.end()) return;
  std::ranges::sort(dimensions, [&](std::size_t x, std::size_t y) {
    const std::int64_t a = std::abs(store->strides[x]), b = std::abs(store->strides[y]);
    return a != b ? a > b : x < y;
  });
}

/// The kept dimension of a column kernel that most arguments walk with unit stride; the last of
/// equals.
std::size_t column_dimension(const std::vector<NestArgument>& arguments,
                             const std::vector<std::size_t>& kept) {
  std::size_t best = kept.back();
  std::ptrdiff_t best_count = -1;
  for (const std::size_t d : kept) {
    const auto count = std::ranges::count_if(
        arguments, [&](const auto& a) { return a.strides[d] == unit_of(a.spec); });
    if (count >= best_count) best = d, best_count = count;
  }
  return best;
}

Loops choose_order(const Nest& nest, const std::vector<NestArgument>& arguments) {
  const Dims extents = nest.extents();
  const std::size_t reduced = nest.outer.size();
  std::vector<std::size_t> kept;
  for (std::size_t d = 0; d < extents.size(); ++d)
    if (!nest.reduces() || d != reduced) kept.push_back(d);

  Loops loops{.extents = {}, .strides = std::vector<Dims>(arguments.size())};
  std::size_t column = extents.size();
  if (nest.form == Form::Column && !kept.empty()) {
    column = column_dimension(arguments, kept);
    std::erase(kept, column);
  }
  sort_by_store(arguments, kept);
  for (const std::size_t d : kept) loops.append(extents[d], arguments, d);
  coalesce(loops.extents, loops.strides);
  if (nest.reduces()) loops.append(nest.reduced, arguments, reduced);
  if (nest.form == Form::Column && column < extents.size())
    loops.append(extents[column], arguments, column);
  else if (nest.form == Form::Column || loops.extents.empty()) loops.append_single();
  return loops;
}

/// Along an innermost loop of extent 1 every stride is right; unit strides make for the most code
/// sharing.
void normalize_single_inner(Form form, const std::vector<NestArgument>& arguments, Loops& loops) {
  const std::size_t inner = loops.extents.size() - 1;
  if (loops.extents[inner] != 1) return;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    const bool row_result =
        form == Form::Row && arguments[a].spec.kind == ArgumentSpec::Kind::Store;
    loops.strides[a][inner] = row_result ? 0 : unit_of(arguments[a].spec);
  }
}

}  // namespace

void order_loops(const Nest& nest, std::vector<NestArgument>& arguments, Group& group) {
  Loops loops = choose_order(nest, arguments);
  normalize_single_inner(nest.form, arguments, loops);
  const std::size_t inner = loops.extents.size() - 1;
  group.spec.form = nest.form;
  group.spec.rank = static_cast<std::uint8_t>(loops.extents.size());
  group.extents = loops.extents;
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    ArgumentSpec spec = arguments[a].spec;
    const std::int64_t stride = loops.strides[a][inner];
    spec.inner = stride == 0               ? InnerStride::Zero
                 : stride == unit_of(spec) ? InnerStride::Unit
                                           : InnerStride::Any;
    group.spec.arguments.push_back(spec);
    group.bindings.push_back(arguments[a].binding);
    group.strides.insert(group.strides.end(), loops.strides[a].begin(), loops.strides[a].end());
  }
}

}  // namespace spyre::lazy
