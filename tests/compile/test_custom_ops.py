"""Graphs hold upstream's operators: one graph, eager code's results, also where a tensor is written."""

from __future__ import annotations

import pytest
import torch

spyre = torch.ops.spyre


def block(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    hidden = spyre.silu(spyre.layer_norm(x, [x.shape[-1]], weight)) + spyre.softplus(x)
    return spyre.batched_matmul(spyre.clamp(hidden, -1, 1), spyre.restickify(x).t())


def writes(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    spyre.overwrite(x[:2] * 2, y, [0], [1])
    spyre.copy_forced(x[0], y[0])
    return spyre.overwrite_f(x[:1], y, [0], [3]) + 1


@pytest.mark.parametrize("function", [block, writes])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_code_gives_what_eager_code_gives(function, dynamic) -> None:
    x, other = torch.randn(4, 8, device="spyre"), torch.randn(4, 8, device="spyre")
    y = torch.randn(8, device="spyre") if function is block else other
    eager, compiled = y.clone(), y.clone()
    expected = function(x, eager)
    got = torch.compile(function, fullgraph=True, dynamic=dynamic)(x, compiled)
    torch.testing.assert_close(got.cpu(), expected.cpu())
    assert torch.equal(compiled.cpu(), eager.cpu())


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("layer_norm", lambda x: (x, [8])),
        ("gelu", lambda x: (x,)),
        ("exx2", lambda x: (x, 0.125, False)),
        ("topkindex", lambda x: (x, 2, -1)),
        ("overwrite", lambda x: (x[:2], x.clone(), [0], [1])),
        ("quantize_fp8_with_scale", lambda x: (x, x[:, :1].abs())),
    ],
)
def test_schemas_tell_the_truth(op, arguments) -> None:
    tests = ("test_schema", "test_faketensor")
    torch.library.opcheck(getattr(spyre, op).default, arguments(torch.randn(4, 8, device="spyre")), test_utils=tests)
