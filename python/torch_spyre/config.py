"""Settings for a scope: with torch.spyre.config(mode="eager", exec="scalar"): …"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ._engine import engine

__all__ = ["config"]


@contextlib.contextmanager
def config(
    *,
    mode: str | None = None,
    exec: str | None = None,
    isa: str | None = None,
    numerics: str | None = None,
    fallback: str | None = None,
    passes: str | None = None,
    verify: bool | None = None,
    sync: bool | None = None,
    dump: str | None = None,
    max_nodes: int | None = None,
    max_pending: int | None = None,
) -> Iterator[None]:
    """Changes settings of the whole process inside; options and values are those of the environment variables."""
    given = {
        "mode": mode,
        "exec": exec,
        "isa": isa,
        "numerics": numerics,
        "fallback": fallback,
        "passes": passes,
        "verify": verify,
        "sync": sync,
        "dump": dump,
        "max_nodes": max_nodes,
        "max_pending": max_pending,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    before = engine().settings()
    engine().configure(changes)
    try:
        yield
    finally:
        engine().configure({name: before[name] for name in changes})
