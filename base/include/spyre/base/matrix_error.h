// spyre/base/matrix_error.h — the failure of an operation of linear algebra.
#pragma once
#include "spyre/base/error.h"

namespace spyre {

/// A matrix has no such factors, or an iteration does not converge: torch.linalg.LinAlgError in Python.
class MatrixError : public Error {
 public:
  using Error::Error;
};

}  // namespace spyre
