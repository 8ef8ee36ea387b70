"""Every operator of upstream's compiled path, compiled and not, over types, layouts, and sizes that may change.

Upstream's own operators (exx2, layernormscale, layernormnorm, swap, …) are in test_custom_ops.py.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from .compare import compare_with_cpu
from .test_ops import numbers

POINTWISE: dict[str, Any] = {
    "abs": torch.abs,
    "add": lambda x: x + x[:1],
    "clamp": lambda x: x.clamp(-0.5, 0.75),
    "eq": lambda x: x == x[:1],
    "exp": torch.exp,
    "ge": lambda x: x >= x[:1],
    "gelu": F.gelu,
    "le": lambda x: x <= 0.25,
    "log": lambda x: x.abs().add(0.5).log(),
    "mul": lambda x: x * x[:1],
    "ne": lambda x: x != x[:1],
    "neg": torch.neg,
    "reciprocal": lambda x: x.abs().add(0.5).reciprocal(),
    "relu": torch.relu,
    "rsqrt": lambda x: x.abs().add(0.5).rsqrt(),
    "sigmoid": torch.sigmoid,
    "softplus": F.softplus,
    "sqrt": lambda x: x.abs().sqrt(),
    "square": torch.square,
    "sub": lambda x: x - x[:1],
    "tanh": torch.tanh,
    "to_dtype": lambda x: (x.to(torch.float16), x.to(torch.float32), x > 0),
    "truediv": lambda x: x / (x[:1].abs() + 0.5),
    "where": lambda x: torch.where(x > 0, x, x[:1]),
}
OTHERS: dict[str, Any] = {
    "mean": lambda x: (x.mean(-1), x.mean(0, keepdim=True)),
    "mm": lambda x: x[0] @ x[1].t(),
    "bmm of three dimensions": lambda x: x @ x.transpose(1, 2),
    "bmm of four dimensions": lambda x: x[None] @ x[None].transpose(2, 3),
    "transpose": lambda x: (x.transpose(0, 1) * 1, x.permute(2, 0, 1).contiguous()),
    "clone": torch.clone,
    "slice": lambda x: (x[1:, ::2] * 1, x[..., 2:5].clone()),
    "squeeze and unsqueeze": lambda x: (x.unsqueeze(1) * 1, x[:1].squeeze(0) * 1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "softmax": lambda x: F.softmax(x, -1),
    "nn.Linear": lambda x: F.linear(x, x[0], x[0, :, 0]),
}
TOLERANCES = {torch.float32: 1e-5, torch.float16: 4e-3}


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", [*POINTWISE, *OTHERS])
def test_operator(name: str, dtype: torch.dtype) -> None:
    program, x = {**POINTWISE, **OTHERS}[name], numbers(4, 6, 8, dtype=dtype)
    for compiled in (False, True):
        compare_with_cpu(program, x, compiled=compiled, tolerance=TOLERANCES[dtype])


@pytest.mark.parametrize("name", [*POINTWISE, *OTHERS])
def test_operator_where_sizes_and_strides_may_change(name: str) -> None:
    x = numbers(8, 6, 12).permute(2, 1, 0)[::3]
    compare_with_cpu({**POINTWISE, **OTHERS}[name], x, dynamic=True)
