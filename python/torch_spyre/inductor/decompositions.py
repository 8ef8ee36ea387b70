"""Operators that stay whole on the device, because eager code has a formula of its own for them.

PyTorch's decompositions would give other operations: other bits than eager code's, and slower ones. Kept whole, such an
operator stays a call (library_steps.py), which records what eager code records, into the trace that the loops around it
are in, too: a softmax still fuses with its neighbours. What is one operation in eager code is one in a loop, too
(one_operation.py).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._inductor import decomposition, lowering
from torch.utils import _pytree as pytree

from .one_operation import ACTIVATIONS, COMBINATIONS, INTERPOLATIONS, LISTS_OF_INTERPOLATIONS, PIECEWISE

aten = torch.ops.aten

#: Composed by eager code, or one call of a library: they stay calls.
WHOLE = (
    aten._softmax.default,
    aten._softmax_backward_data.default,
    aten._log_softmax.default,
    aten._log_softmax_backward_data.default,
    aten.native_layer_norm.default,
    aten.native_layer_norm_backward.default,
    aten.native_group_norm.default,
    aten.native_group_norm_backward.default,
    aten.nll_loss_forward.default,
    aten.nll_loss_backward.default,
    aten.nll_loss2d_forward.default,
    aten.nll_loss2d_backward.default,
)
_KEPT = (*WHOLE, *ACTIVATIONS, *PIECEWISE, *COMBINATIONS, *INTERPOLATIONS, *LISTS_OF_INTERPOLATIONS)


def _celu(x: torch.Tensor, alpha: float = 1.0) -> torch.Tensor:
    """As eager code calls it."""
    return aten.elu.default(x, alpha, 1.0, 1.0 / alpha)


#: Eager code has these as calls of other operators.
_IN_OTHER_WORDS: dict[Any, Callable[..., Any]] = {aten.celu.default: _celu}


def keep_whole() -> None:
    """Tells Inductor; for tensors of other devices its decompositions stay as they are."""
    for table in (decomposition.decompositions, decomposition.fast_random_decomps()):
        for op in _KEPT:
            if op in table:
                table[op] = _unless_on_device(table[op])
        for op, words in _IN_OTHER_WORDS.items():
            table[op] = _on_device(words, table[op])
    for op in _KEPT:
        if op not in lowering.lowerings:
            lowering.make_fallback(op, warn=False, override_decomp=True)


def _unless_on_device(decompose: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(decompose)
    def choose(*args: Any, **kwargs: Any) -> Any:
        return NotImplemented if _is_on_device(pytree.tree_leaves((args, kwargs))) else decompose(*args, **kwargs)

    return choose


def _on_device(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def choose(*args: Any, **kwargs: Any) -> Any:
        return (ours if _is_on_device(pytree.tree_leaves((args, kwargs))) else theirs)(*args, **kwargs)

    return choose


def _is_on_device(arguments: Iterable[Any]) -> bool:
    return any(isinstance(one, torch.Tensor) and one.device.type == "spyre" for one in arguments)
