"""No row of the library tier is without a call that reaches it."""

from __future__ import annotations

import contextlib

import pytest
import torch
import torch_spyre

from . import test_library as library
from . import test_linear_algebra as algebra
from . import test_mathematics as mathematics

TABLES = (
    (library.READING, library.X),
    (library.IMAGES, library.IMAGE),
    (library.VOLUMES, library.VOLUME),
    (library.OTHERS, library.X),
    (algebra.SQUARES, algebra.SQUARE),
    (mathematics.RARE, mathematics.BETWEEN),
    ({"distances": torch.pdist}, mathematics.BETWEEN.flatten(1)),
)


def operators_run(call: library.Call) -> set[str]:
    """The library operations that ran on the card for `call`, without namespace and underscore."""
    torch.spyre.synchronize()
    with torch.spyre.timeline() as events:
        call()
        torch.spyre.synchronize()
    return {event["name"].removeprefix("aten::").rstrip("_") for event in events if "name" in event}


def differentiable(result: torch.Tensor) -> bool:
    return result.requires_grad and not result.grad_fn.name().endswith("::NotImplemented")


def every_call() -> None:
    """All calls of the tables, with the gradients of their first results."""
    for calls, x in TABLES:
        for call in calls.values():
            leaf = x.to("spyre").requires_grad_()
            results = call(leaf)
            first = results[0] if isinstance(results, tuple) else results
            with contextlib.suppress(NotImplementedError):  # PyTorch has no derivative of some
                differentiable(first) and first.abs().sum().backward()
            first.cpu()  # nobody runs what nobody reads
            leaf.grad is None or leaf.grad.cpu()
    torch.linalg.eigvals(algebra.SQUARE.to("spyre")).cpu()  # another operator where no gradient is wanted
    for call in library.WRITING.values():
        call(library.X.to("spyre"))


@pytest.mark.filterwarnings("ignore:.*deprecated", "ignore:index_reduce")
def test_every_row_of_the_table_is_tried() -> None:
    rows = {row["aten"].partition(".")[0].rstrip("_") for row in torch_spyre._C.library_table()}
    assert rows - operators_run(every_call) == set()
