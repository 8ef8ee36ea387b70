"""What the compiled path cannot do, said so that a reader knows where and what next."""

from __future__ import annotations

from typing import Any


class UnsupportedError(NotImplementedError):
    """A loop that has no program over the op table. Raised while a graph is compiled."""


def unsupported(what: str, node: Any) -> UnsupportedError:
    """The error for a scheduler node: what it is, where it comes from, what to do."""
    return UnsupportedError(
        f"torch.compile on spyre: {what}, in {node.get_name()} ({_origins(node)}); line:\n{_source(node)}\n"
        "run this part eagerly: put it behind torch._dynamo.disable, or use torch.compile(backend='aot_eager')"
    )


def _origins(node: Any) -> str:
    return ", ".join(sorted(str(origin.target) for origin in node.node.get_origins())) or "no operator"


def _source(node: Any) -> str:
    for origin in node.node.get_origins():
        if trace := origin.meta.get("stack_trace"):
            return str(trace).rstrip()
    return "  (unknown)"
