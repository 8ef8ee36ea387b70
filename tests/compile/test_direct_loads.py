"""What reads an argument reads it there, unless it changes before, or elsewhere than it is read."""

from __future__ import annotations

import dataclasses

import torch
from torch_spyre.inductor.direct_loads import with_direct_loads
from torch_spyre.inductor.kernel_spec import TensorArg

from .compare import assert_same_bits
from .test_common_operations import OUT, OWN, A, B, X, Y, at, op
from .test_direct_stores import copy
from .test_ops import numbers


def test_a_copy_that_nobody_needs_is_left_out() -> None:
    assert with_direct_loads([copy(A, X), op(B, A, 2.0), op(X, A, B)], OWN) == [op(B, X, 2.0), op(X, X, B)]


def test_other_copies_stay() -> None:
    elsewhere = TensorArg(X, "float32", 1, (1,))
    spread = dataclasses.replace(copy(A, X), args=(TensorArg(X, "float32", 0, (0,)),))
    for kept in (
        [copy(A, X), op(X, Y, 3.0), op(OUT, A, 2.0)],  # the argument changes before
        [copy(A, X), dataclasses.replace(op(X, A, 2.0), output=elsewhere)],  # or at another point
        [spread, dataclasses.replace(op(X, A, 2.0), output=TensorArg(X, "float32", 0, (0,)))],  # or for several
        [copy(A, X), dataclasses.replace(op(OUT, A, 2.0), args=(at(A, 1),))],  # read otherwise than written
        [copy(A, X), dataclasses.replace(op(OUT, A, 2.0), iteration_space=(4,))],
        [copy(A, X), op(A, A, 3.0), op(OUT, A, 2.0)],  # changed
        [copy(Y, X), op(OUT, Y, 2.0)],  # an argument's own
    ):
        assert with_direct_loads(kept, OWN) == kept


def test_updates_in_place_have_eagers_bits() -> None:
    def update(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        torch._foreach_mul_([x, y], 0.5)
        torch._foreach_add_([x, y], [y * 2, x * 2], alpha=0.1)
        x.add_(x.flip(0))
        y.t().add_(y * 1, alpha=3)
        return x, y

    assert_same_bits(update, numbers(8, 8), numbers(8, 8))
