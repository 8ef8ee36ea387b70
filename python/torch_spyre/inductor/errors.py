"""What the compiled path cannot do, said so that a reader knows where and what next."""

from __future__ import annotations

import warnings
from typing import Any

from torch._dynamo.exc import SkipFrame
from torch._dynamo.utils import counters

from .. import _C
from ..diagnostics import report_failure


class UnsupportedError(NotImplementedError):
    """A loop that has no program over the op table. Raised while a graph is compiled."""


def unsupported(what: str, node: Any) -> Exception:
    """The error for a scheduler node: what it is, where it comes from, what to do. With SPYRE_COMPILE_FALLBACK=1, what
    makes Dynamo run the function eagerly, with a warning and counted in torch._dynamo.utils.counters["spyre"]."""
    message = f"torch.compile on spyre: {what}, in {node.get_name()} ({_origins(node)}); line:\n{_source(node)}\n"
    if not _C.environment_value("SPYRE_COMPILE_FALLBACK"):
        message += (
            "run this part eagerly: put it behind torch._dynamo.disable, or use "
            "torch.compile(backend='aot_eager'), or set SPYRE_COMPILE_FALLBACK=1"
        )
        if _C.environment_value("TORCH_SPYRE_FFDC"):
            report_failure("compile_frontend", UnsupportedError.__name__, message)
        return UnsupportedError(message)
    warnings.warn(f"{message}the function that it is in runs eagerly", stacklevel=2)
    counters["spyre"]["compile_fallbacks"] += 1
    return SkipFrame(message)


def _origins(node: Any) -> str:
    return ", ".join(sorted(str(origin.target) for origin in node.node.get_origins())) or "no operator"


def _source(node: Any) -> str:
    for origin in node.node.get_origins():
        if trace := origin.meta.get("stack_trace"):
            return str(trace).rstrip()
    return "  (unknown)"
