"""Operators that Dynamo takes apart before Inductor sees them, put together again.

`x.addcmul_(a, b, value=v)` comes as fma(a * b, v, x), and addcdiv_ with a quotient: more operations than eager code
records for what the program calls, and other bits.
"""

from __future__ import annotations

import torch
from torch._inductor import inductor_prims

from .host_numbers import tensors

aten = torch.ops.aten

_WHOLE = {aten.mul.Tensor: aten.addcmul.default, aten.div.Tensor: aten.addcdiv.default}


def put_together(gm: torch.fx.GraphModule) -> None:
    """Changes the graph."""
    for node in gm.graph.find_nodes(op="call_function", target=inductor_prims.fma):
        term, factor, base = node.args
        if _is_part(term) and isinstance(factor, (int, float)) and _types(node, term, base, *term.args) is not None:
            with gm.graph.inserting_before(node):
                whole = gm.graph.call_function(_WHOLE[term.target], (base, *term.args), {"value": factor})
            whole.meta = dict(node.meta)
            node.replace_all_uses_with(whole)
            gm.graph.erase_node(node)
            if not term.users:  # the base may be the same product
                gm.graph.erase_node(term)


def _is_part(term: object) -> bool:
    """A product or a quotient of two tensors that only the sum reads."""
    if not isinstance(term, torch.fx.Node) or term.target not in _WHOLE or term.kwargs or len(term.users) > 1:
        return False
    return len(term.args) == 2 and all(isinstance(arg, torch.fx.Node) for arg in term.args)


def _types(*nodes: object) -> torch.dtype | None:
    """The one type of all of them, a float, on the device; None if there are others."""
    found = {(t.dtype, t.device.type) for node in nodes if isinstance(node, torch.fx.Node)
             for t in tensors(node.meta.get("val"))}  # fmt: skip
    if len(found) != 1 or not all(isinstance(node, torch.fx.Node) for node in nodes):
        return None
    ((dtype, device),) = found
    return dtype if device == "spyre" and dtype.is_floating_point else None
