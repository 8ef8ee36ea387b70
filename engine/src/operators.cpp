// spyre/engine/operators.cpp — registers every operator when the library is loaded.
#include "spyre/engine/operators.h"

#include "spyre/engine/pointwise.h"

namespace spyre::engine {
namespace {

/// The dispatcher outlives this library's registrations, which go when it is unloaded.
const Registrations kOperators = [] {
  Registrations registrations;
  register_pointwise(registrations);
  register_products(registrations);
  register_convolutions(registrations);
  register_reductions(registrations);
  register_spreads(registrations);
  register_softmax(registrations);
  register_norms(registrations);
  register_losses(registrations);
  register_factories(registrations);
  register_random(registrations);
  register_assembly(registrations);
  register_arrangement(registrations);
  register_unique(registrations);
  register_repeats(registrations);
  register_schema_library(registrations);
  return registrations;
}();

}  // namespace
}  // namespace spyre::engine
