"""Every row of the table, in its order. A row stands in one place: program, cost and, if there is one, JAX form."""

from __future__ import annotations

import re

from ..row import Row
from . import attention, dispatch, pointwise, products, rowwise, training

CHAPTERS: dict[str, tuple[Row, ...]] = {
    "what an operation costs": dispatch.ROWS,
    "pointwise chains": pointwise.ROWS,
    "softmax, norms, losses": rowwise.ROWS,
    "attention": attention.ROWS,
    "networks": products.ROWS,
    "training and optimizers": training.ROWS,
}
ROWS: tuple[Row, ...] = tuple(row for chapter in CHAPTERS.values() for row in chapter)


def find(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def select(pattern: str | None) -> list[Row]:
    """Rows whose name or family matches the regular expression; all without one."""
    if pattern is None:
        return list(ROWS)
    wanted = re.compile(pattern, re.IGNORECASE)
    return [row for row in ROWS if wanted.search(row.name) or wanted.search(row.family)]
