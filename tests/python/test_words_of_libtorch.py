"""What the engine reads in libtorch's messages. Fails when libtorch says it otherwise.

`speaks_of_a_value` (engine/src/schema_shapes.cpp) tells a wrong index, the run's business, from a wrong dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

X, FIVE = torch.zeros(3), torch.tensor([5])
OF_A_VALUE: dict[str, tuple[str, Callable[[], Any]]] = {
    "index": ("out of bounds", lambda: X[FIVE]),
    "nothing to index": ("out of bounds", lambda: torch.zeros(0)[torch.tensor([0])]),
    "index_put_": ("out of bounds", lambda: X.clone().index_put_((FIVE,), torch.ones(1))),
    "index_select": ("out of range in self", lambda: torch.index_select(X, 0, FIVE)),
    "embedding": ("out of range in self", lambda: F.embedding(FIVE, X[:, None])),
    "take": ("tried to access index", lambda: torch.take(X, FIVE)),
    "put_": ("tried to access index", lambda: X.clone().put_(FIVE, torch.ones(1))),
}
OF_A_SHAPE: dict[str, Callable[[torch.Tensor], Any]] = {
    "sum": lambda x: x.sum(1),
    "select": lambda x: torch.stack([x, x]).select(2, 0),
    "sort": lambda x: x.sort(3),
    "cross": lambda x: torch.linalg.cross(x, x, dim=2),
}


@pytest.mark.parametrize("name", OF_A_VALUE)
def test_an_index_is_called_so(name: str) -> None:
    words, call = OF_A_VALUE[name]
    with pytest.raises(IndexError, match=words):
        call()


@pytest.mark.parametrize("name", OF_A_SHAPE)
def test_a_dimension_is_not(name: str) -> None:
    with pytest.raises(IndexError) as raised:
        OF_A_SHAPE[name](X)
    assert not any(words in str(raised.value) for words, _ in OF_A_VALUE.values())
    with pytest.raises(IndexError):  # at the call, not when the result is read
        OF_A_SHAPE[name](X.to("spyre"))
