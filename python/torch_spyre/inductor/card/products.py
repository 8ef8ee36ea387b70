"""Products of matrices, which stay calls of their operators, for the passes over descriptions."""

from __future__ import annotations

from typing import Any

import torch

from ..._hooks import SpyreTensorLayout
from ..input_layouts import chosen_layout
from .program import PRODUCT, Access, Buffer, CardOp, CardProgram, FixedTiledLayout, Number

#: Places of the left and the right operand; a summand before them is an operation of its own.
_OPERANDS = {"aten::mm": (0, 1), "aten::bmm": (0, 1), "aten::addmm": (1, 2), "aten::baddbmm": (1, 2)}


def product_program(node: torch.fx.Node) -> CardProgram | None:
    """One product over batch, m, n and k; None for other operators."""
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target._schema.name not in _OPERANDS:
        return None
    operands = [node.args[place] for place in _OPERANDS[target._schema.name]]
    values = [operand.meta["val"] for operand in operands if isinstance(operand, torch.fx.Node)]
    values.append(node.meta["val"])
    shapes = [_shape(value) for value in values]
    names = [*(str(operand) for operand in operands), node.name]
    dtype = str(values[-1].dtype).removeprefix("torch.")
    buffers = [
        Buffer(name, FixedTiledLayout.of_input(dtype, *shape, _layout(dtype, place)), False)
        for name, shape, place in zip(names, shapes, [*operands, None], strict=True)
    ]
    (*batch, rows, inner), (*_, columns) = shapes[0][0], shapes[1][0]
    left, right, result = (strides if batch else [0, *strides] for _, strides in shapes)
    inputs: list[Access | Number] = [
        Access(0, 0, (left[0], left[1], 0, left[2])),
        Access(1, 0, (right[0], 0, right[2], right[1])),
    ]
    output = Access(2, 0, (result[0], result[1], result[2], 0))
    product = CardOp(PRODUCT, dtype, (*(batch or [1]), rows, columns, inner), (3,), inputs, output, (1,) * 4)
    return CardProgram(node.name, {}, buffers, [product])


def _layout(dtype: str, node: Any) -> SpyreTensorLayout | None:
    """How the memory lies that an operand is a view of: as was chosen for an input, or as the card chooses."""
    while isinstance(node, torch.fx.Node) and getattr(node.target, "is_view", False):
        node = node.args[0]
    if not isinstance(node, torch.fx.Node):
        return None
    return chosen_layout(node) or FixedTiledLayout.own_choice(dtype, *_shape(node.meta["val"])).device_layout


def _shape(value: torch.Tensor) -> tuple[list[int], list[int]]:
    return [_hint(extent) for extent in value.shape], [_hint(stride) for stride in value.stride()]


def _hint(extent: Any) -> int:
    """What a size was when the graph was traced."""
    return int(extent.node.hint) if isinstance(extent, torch.SymInt) else int(extent)
