// spyre/lazy/loop_order.h — which loop runs innermost, and which loops are one.
#pragma once
#include <vector>

#include "nest.h"
#include "spyre/lazy/group.h"

namespace spyre::lazy {

/// A kernel argument over the dimensions of its group's nest.
struct NestArgument {
  kernels::ArgumentSpec spec;  // `inner` is decided by order_loops()
  Binding binding{};
  Dims strides{};  // bytes, Iota: units

  friend bool operator==(const NestArgument& a, const NestArgument& b) {
    return a.spec == b.spec && a.binding.index == b.binding.index &&
           a.binding.offset == b.binding.offset && a.strides == b.strides;
  }
};

/// Fills group.spec (form, rank, arguments), bindings, extents and strides.
void order_loops(const Nest& nest, std::vector<NestArgument>& arguments, Group& group);

}  // namespace spyre::lazy
