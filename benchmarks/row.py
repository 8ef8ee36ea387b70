"""What a row of the table is: a program, written once, with its cost and the family whose gates it has to meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .places import Place

Step = Callable[[], Any]
Build = Callable[["Place"], Step]
EVERYONE = frozenset({"spyre", "eager", "compile", "jax", "lazy_ts", "spyre-compile", "avx2"})
MIB = 1 << 20


@dataclass(frozen=True)
class Cost:
    """What nobody can avoid in one step: bytes read and written once, products' flops, exp-like functions."""

    bytes: int = 0
    flops: int = 0
    exponentials: int = 0
    product_type: str = "float32"


@dataclass(frozen=True)
class Row:
    """`build(place)` makes the inputs there and gives a step; a step returns what it computed, so that it can be held.

    `steps_in_one` says how many units of work a step has: figures are shown per unit. `clock`, for what a whole step
    cannot show, times `count` steps itself. Rows that JAX can run have `jax`, built like `build` but from jax.numpy.
    Immutable.
    """

    name: str
    question: str
    build: Build
    jax: Build | None = None
    cost: Cost = Cost()
    family: str = ""
    kernels: int | None = None  # as many may one step launch
    peak_bytes: int | None = None  # so much memory may it need, inputs included
    parts: tuple[str, ...] = ()  # rows before it, the longest of which it is held against
    steps_in_one: int = 1
    tolerance: float = 1e-4
    only: frozenset[str] | None = None
    clock: Callable[[Place, Step, int], float] | None = None

    def builder(self, peer: str) -> Build | None:
        """How this row is built on `peer`; None if it has no such form."""
        if self.only is not None and peer not in self.only:
            return None
        return self.jax if peer == "jax" else self.build


def function(torch_form: Callable[..., Any], *shapes: tuple[int, ...], dtype: str = "float32") -> Build:
    """Builds a step that applies one function, which peers may compile, to seeded normal numbers of these shapes."""

    def build(place: Place) -> Step:
        arguments = [place.normal(*shape, dtype=dtype) for shape in shapes]
        apply = place.compiled(torch_form)
        return place.without_gradients(lambda: apply(*arguments))

    return build
