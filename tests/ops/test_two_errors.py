"""Of two things that are wrong with a call, CPU and the device tell the same one; what CPU refuses is not computed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .compare import compare_with_cpu, same_error, sample

X = sample((5, 7), torch.float32)

OUT_OF_RANGE_AND_OF_ANOTHER_TYPE = {
    "any": (lambda x, out: torch.any(x, 4, out=out), torch.int32),
    "all": (lambda x, out: torch.all(x, 4, out=out), torch.int32),
    "amax": (lambda x, out: torch.amax(x, 4, out=out), torch.int64),
    "norm": (lambda x, out: torch.norm(x.long(), 2, 4, out=out), torch.float32),
    "cat": (lambda x, out: torch.cat([x, x[0]], out=out), torch.int64),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE_AND_OF_ANOTHER_TYPE)
def test_the_result_is_looked_at_first(name: str) -> None:
    call, dtype = OUT_OF_RANGE_AND_OF_ANOTHER_TYPE[name]
    same_error(call, X, torch.empty(0, dtype=dtype))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.ops.aten.sum.out(x, out=torch.empty((), dtype=torch.int64, device=x.device)),
        lambda x: torch.ops.aten.prod.out(x, out=torch.empty((), dtype=torch.int64, device=x.device)),
        lambda x: torch.linalg.vector_norm(x, out=torch.empty((), dtype=torch.float64, device=x.device)),
        lambda x: torch.norm(x, 1, dim=0, dtype=torch.bfloat16),
        lambda x: torch.ops.aten.norm.ScalarOpt_dim(x.long(), 1, [4]),
        lambda x: torch.ops.aten.norm.ScalarOpt_dim_dtype(x, 1, [4], dtype=torch.int64),
        lambda x: torch.addcdiv(x, x.long(), x.bool()),
        lambda x: x.addcdiv_(x.long(), x.long()),
    ],
)
def test_refused(call: Callable) -> None:
    same_error(call, X.clone())


def test_what_is_not_refused() -> None:
    empty = torch.empty((), dtype=torch.float64)
    compare_with_cpu(lambda x, out: torch.sum(x, (0, 1), out=out), X, empty.clone(), rtol=1e-6)
    compare_with_cpu(lambda x, out: torch.mean(x, 1, out=out), X, torch.empty(0, dtype=torch.float64), rtol=1e-6)
    compare_with_cpu(lambda x: torch.norm(x, 1, dim=0, dtype=torch.float64), X, rtol=1e-6)
    compare_with_cpu(lambda x: torch.addcdiv(x, x.long(), x + 9), X, rtol=1e-6)
