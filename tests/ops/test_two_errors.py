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
        lambda x: torch.mean(x.int(), 0, out=torch.empty(7, device=x.device)),
        lambda x: torch.nansum(x, 0, out=torch.empty(7, dtype=torch.int32, device=x.device)),
        lambda x: torch.nansum(x, 0, out=torch.empty(7, dtype=torch.bool, device=x.device)),
        lambda x: torch.nansum(x, 0, dtype=torch.complex64),
        lambda x: torch.nansum(x.to(torch.complex64), 0),
        lambda x: torch.ops.aten.mse_loss(x, x, 4),
        lambda x: torch.ops.aten.smooth_l1_loss(x, x, 4, 1.0),
        lambda x: torch.ops.aten.log_sigmoid_backward(x, x, x.long()),
        lambda x: torch.ops.aten.log_sigmoid_backward(x, x, x[:2]),
        lambda x: torch.ops.aten.glu_backward(x[:4], x[:4], 0),
        lambda x: torch.linalg.vector_norm(x.long(), 2, 4),
        lambda x: torch.linalg.norm(x.long(), 2, 4),
        lambda x: torch.ldexp(x, x.bool()),
        lambda x: torch.narrow_copy(x, 4, 0, 1),
        lambda x: torch.narrow_copy(x, 0, 9, -1),
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
    compare_with_cpu(lambda x, out: torch.nansum(x.int(), out=out, dim=0), X, torch.empty(0, dtype=torch.int32))
    compare_with_cpu(lambda x: torch.nansum(x, dtype=torch.int32), X)
    compare_with_cpu(lambda x: torch.mean(x.int(), dtype=torch.float32), X, rtol=1e-6)
    compare_with_cpu(lambda x: torch.narrow_copy(x.T, -1, 1, 3), X)


@pytest.mark.parametrize("reduction", [-1, 3])
def test_reductions_that_nobody_knows(reduction: int) -> None:
    """Whatever CPU makes of them."""
    y = X.clone() + 1
    compare_with_cpu(lambda x, y: torch.ops.aten.huber_loss(x, y, reduction, 1.0), X, y, host=["aten::huber_loss"])
    host, entropy = ["aten::binary_cross_entropy"], torch.ops.aten.binary_cross_entropy
    compare_with_cpu(lambda x, y: entropy(x, y, None, reduction), X.sigmoid(), y.sigmoid(), host=host)


def test_a_gradient_has_the_shape_of_its_input() -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten.binary_cross_entropy_backward(y, x, y, None, 0)

    host = ["aten::binary_cross_entropy_backward"]
    compare_with_cpu(call, torch.tensor([0.5]), sample((3,), torch.float32), host=host)
