// spyre/engine/number_rule.cpp — overflow, and division of integers by zero.
#include "spyre/engine/number_rule.h"

#include "spyre/engine/operand.h"
#include "spyre/lazy/record.h"

namespace spyre::engine {

void NumberRule::check(const c10::Scalar& number) const {
  switch (condition) {
    case Condition::Representable: return check_representable(number, type);
    case Condition::NotZero:
      TORCH_CHECK(lazy::Input::of_int(wrapped_integer(number), type).bits != 0,
                  "ZeroDivisionError");
      return;
  }
}

}  // namespace spyre::engine
