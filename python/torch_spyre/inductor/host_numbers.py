"""Numbers of the host that outlive a graph of the device, such as an optimizer's counts of steps.

Inductor would have a C++ compiler make a loop over one element. PyTorch's operators change them instead, in place where
the graph would copy the result back. What only the device reads of them is part of its loops.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch

aten = torch.ops.aten


def kept_on_host(gm: torch.fx.GraphModule) -> list[torch.fx.Node]:
    """The operators that stay calls, once they write where they can."""
    if not any(t.device.type == "spyre" for node in gm.graph.nodes for t in tensors(node.meta.get("val"))):
        return []
    order = {node: place for place, node in enumerate(gm.graph.nodes)}
    return [_in_place(node, order) or node for node in _calls(gm)]


def tensors(value: object) -> list[torch.Tensor]:
    """Those of a node's value, or of a list of them."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for entry in value for tensor in tensors(entry)]
    return []


def is_view(target: torch._ops.OpOverload) -> bool:
    """Whether results share memory with arguments, which the loops' indices express."""
    return any(r.alias_info is not None and not r.alias_info.is_write for r in target._schema.returns)


def _calls(gm: torch.fx.GraphModule) -> list[torch.fx.Node]:
    """What the graph's results and its writes need, in the graph's order."""
    calls: list[torch.fx.Node] = []
    needed = {node for output in gm.graph.find_nodes(op="output") for node in output.all_input_nodes}
    for node in reversed(gm.graph.nodes):
        if node in needed or node.target is aten.copy_.default:
            if node.target is operator.getitem or _sees(node):
                needed |= {*node.all_input_nodes}
            elif _is_of_numbers(node):
                calls.append(node)
                needed |= {*node.all_input_nodes}
    return calls[::-1]


def _sees(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and is_view(node.target)


def _is_of_numbers(node: torch.fx.Node) -> bool:
    """Of lists of them, too: an optimizer counts the steps of all its parameters in one call."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target.namespace not in ("aten", "prims"):
        return False
    inputs = [tensor for argument in node.all_input_nodes for tensor in tensors(argument.meta.get("val"))]
    numbers = (*tensors(node.meta.get("val")), *inputs)
    return bool(numbers) and all(tensor.device.type == "cpu" and tensor.dim() == 0 for tensor in numbers)


def _in_place(node: torch.fx.Node, order: dict[torch.fx.Node, int]) -> torch.fx.Node | None:
    """The call that writes into its first argument, which stands for the call and the copies of its results; None if
    there is none, or somebody still wants what the argument held."""
    target = _writing(node.target)
    if target is None or not node.args:
        return None
    changed = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
    results = _results(node, len(changed))
    copies = [_copy_back(result, into, order) for result, into in zip(results, changed, strict=True)]
    if len({*changed}) < len(changed) or any(copy is None for copy in copies):
        return None
    with node.graph.inserting_before(node):
        call = node.graph.call_function(target, node.args, node.kwargs)
    call.meta = dict(node.meta)
    for result, into, copy in zip(results, changed, copies, strict=True):
        assert result is not None
        assert copy is not None
        node.graph.erase_node(copy)
        result.replace_all_uses_with(into)
        if result is not node:
            node.graph.erase_node(result)
    node.graph.erase_node(node)
    return call


def _writing(target: object) -> torch._ops.OpOverload | None:
    """The same operator's form that writes."""
    if not isinstance(target, torch._ops.OpOverload) or target.namespace != "aten":
        return None
    packet = getattr(aten, f"{target._schema.name.partition('::')[2]}_", None)
    return getattr(packet, target._overloadname, None)


def _results(node: torch.fx.Node, count: int) -> Sequence[torch.fx.Node | None]:
    """The nodes that stand for each result."""
    if not isinstance(node.meta.get("val"), (list, tuple)):
        return [node] * count
    by_place = {user.args[1]: user for user in node.users if user.target is operator.getitem}
    return [by_place.get(place) for place in range(count)]


def _copy_back(result: torch.fx.Node | None, into: object, order: dict[torch.fx.Node, int]) -> torch.fx.Node | None:
    """The copy of a result into the argument, if nobody reads the argument after the call and the result stays in the
    graph: outside, it would be the argument itself, which its owner goes on changing."""
    if result is None or not isinstance(into, torch.fx.Node):
        return None
    copy = next((user for user in result.users if user.args == (into, result)), None)
    if copy is None or copy.target is not aten.copy_.default or copy.users:
        return None
    call = result.args[0] if result.target is operator.getitem else result
    assert isinstance(call, torch.fx.Node)
    late = any(user is not copy and order.get(user, -1) > order[call] for user in _readers(into))
    leaves = any(user.op == "output" for user in _readers(result))
    same = result.meta["val"].dtype == into.meta["val"].dtype
    return copy if same and not late and not leaves else None


def _readers(node: torch.fx.Node) -> list[torch.fx.Node]:
    """Of the node's memory, by whatever name."""
    return [user for shared in _sharing(node) for user in shared.users]


def _sharing(node: torch.fx.Node) -> list[torch.fx.Node]:
    """The node, and what may share its memory: views, and copies, which Inductor drops if nobody seems to write."""
    found = [node]
    for known in found:  # grows
        found += [user for user in known.users if _sees(user) or user.target in (aten.clone.default, operator.getitem)]
    return found
