// spyre/engine/operators.h — the operators that are not plain table rows, one function a family.
#pragma once
#include "spyre/engine/registration.h"

namespace spyre::engine {

void register_products(Registrations& registrations);  // mm, bmm, addmm, …
void register_convolutions(Registrations& registrations);
void register_reductions(Registrations& registrations);
void register_spreads(Registrations& registrations);  // var, std, norms
void register_softmax(Registrations& registrations);
void register_norms(Registrations& registrations);  // layer, group and batch norm
void register_losses(Registrations& registrations);
void register_factories(Registrations& registrations);  // fill, arange, eye, …
void register_random(Registrations& registrations);
void register_assembly(Registrations& registrations);     // cat
void register_arrangement(Registrations& registrations);  // flip, roll, glu, equal
void register_unique(Registrations& registrations);
void register_repeats(Registrations& registrations);
void register_schema_library(Registrations& registrations);

}  // namespace spyre::engine
