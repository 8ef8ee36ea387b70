"""Writes through views of views: one write into one copy, as in eager code.

`x[1:-1, 1:-1] = y` comes without mutation, as a scatter into a slice that is scattered into x: two copies and two
writes, of which each reads and writes nearly all of x.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor.fx_utils import is_node_realized

from .host_numbers import tensors

aten = torch.ops.aten

_VIEWS: dict[Any, Any] = {aten.slice_scatter.default: aten.slice.Tensor, aten.select_scatter.default: aten.select.int}


def write_once(gm: torch.fx.GraphModule) -> None:
    """Changes the graph."""
    for node in [node for target in _VIEWS for node in gm.graph.find_nodes(op="call_function", target=target)]:
        if not any(user.target in _VIEWS and user.args[1] is node for user in node.users):  # the outermost
            scatters = _nested(node)
            if len(scatters) > 1 and _is_copied_anyway(node):
                _write(scatters)


def _nested(outer: torch.fx.Node) -> list[torch.fx.Node]:
    """A scatter, and those into its views that end in it alone, outermost first."""
    scatters = [outer]
    while True:
        last = scatters[-1]
        inner = last.args[1]
        if not isinstance(inner, torch.fx.Node) or inner.target not in _VIEWS or len(inner.users) > 1:
            return scatters
        view = inner.args[0]
        if not isinstance(view, torch.fx.Node) or view.target is not _VIEWS[last.target]:
            return scatters
        if view.args != (last.args[0], *last.args[2:]) or inner.kwargs or view.kwargs:
            return scatters
        scatters.append(inner)


def _is_copied_anyway(node: torch.fx.Node) -> bool:
    """Whether no pass of PyTorch's would write into what the scatter changes."""
    base: Any = node.args[0]
    value: Any = node.meta.get("val")
    on_device = isinstance(value, torch.Tensor) and value.device.type == "spyre"
    back = any(user.target is aten.copy_.default for user in node.users)
    return on_device and not node.kwargs and not back and not (is_node_realized(base) and is_node_realized(node))


def _write(scatters: list[torch.fx.Node]) -> None:
    outer, graph = scatters[0], scatters[0].graph
    mode: Any = torch._guards.detect_fake_mode(tensors(outer.meta["val"]))

    def call(target: Any, *args: Any) -> torch.fx.Node:
        node = graph.call_function(target, args)
        values: Any = torch.fx.node.map_arg(args, lambda arg: arg.meta["val"])
        with mode:
            node.meta["val"] = target(*values)
        return node

    with graph.inserting_before(outer):
        copy = call(aten.clone.default, outer.args[0])
        view = copy
        for scatter in scatters:
            view = call(_VIEWS[scatter.target], view, *scatter.args[2:])
        call(aten.copy_.default, view, scatters[-1].args[1])
    outer.replace_all_uses_with(copy)
    for scatter in scatters:
        graph.erase_node(scatter)
