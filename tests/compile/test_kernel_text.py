"""The text of the kernels that graphs become: what is lost or gained between loops and operations shows here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch_spyre.inductor import scheduling
from torch_spyre.inductor.kernel_spec import KernelSpec
from torch_spyre.inductor.kernel_text import kernel_text

Texts = Callable[..., str]


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Texts:
    """Of all kernels of a function's first call."""
    specs: list[KernelSpec] = []
    monkeypatch.setattr(scheduling, "dump_kernel", lambda spec, _: specs.append(spec))

    def compile_it(function: Callable[..., Any], *args: Any, **how: Any) -> str:
        with torch._inductor.config.patch(force_disable_caches=True):
            torch.compile(function, **how)(*args)
        return "".join(map(kernel_text, specs))

    return compile_it


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(shape, device="spyre")


pytestmark = pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")

POINTWISE = """\
kernel spyre_fused_add_div_relu_sum_0(arg0_1, buf0)
  %0[6, 1] = div.float32(arg0_1[6, 1], 8.0) over [4, 6]
  %1[6, 1] = add.float32(%0[6, 1], 1.0) over [4, 6]
  %2[6, 1] = relu.float32(%1[6, 1]) over [4, 6]
  buf0[1, 0] = reduce.sum.float32(%2[6, 1]) over [4, 6] reducing [1]
"""


def test_pointwise_operations_and_a_reduction(texts: Texts) -> None:
    assert texts(lambda x: (x / 8 + 1).relu().sum(-1), ones(4, 6)) == POINTWISE


SYMBOLIC = """\
kernel spyre_fused_mul_t_0(arg2_1, buf0, n0, n1)
  buf0[1, n0] = mul.float32(arg2_1[1, n0], n1) over [n0, n1]
"""


def test_symbolic_sizes(texts: Texts) -> None:
    text = texts(lambda x: x.t() * x.shape[0], ones(4, 6), dynamic=True)
    for number, symbol in enumerate(dict.fromkeys(re.findall(r"\bs\d+\b", text))):
        text = re.sub(rf"\b{symbol}\b", f"n{number}", text)
    assert text == SYMBOLIC


UPDATE = """\
kernel spyre_fused_add_copy__gelu_lerp_0(arg0_1, arg1_1)
  arg0_1[1] = lerp.float32(arg0_1[1], arg1_1[1], 0.25) over [4]
  %0[1] = gelu_tanh.float32(arg0_1[1]) over [4]
  arg1_1[1] = add_scaled.float32(arg1_1[1], %0[1], -0.5) over [4]
"""


def test_one_operation_where_inductor_has_several(texts: Texts) -> None:
    def update(x: torch.Tensor, y: torch.Tensor) -> None:
        y.lerp_(x, 0.25)
        x.add_(F.gelu(y, approximate="tanh"), alpha=-0.5)

    assert texts(update, ones(4), ones(4)) == UPDATE


NORM = """\
kernel spyre_fused_add_mean_mul_pow_rsqrt_0(arg0_1, buf1)
  %0[8, 1] = mul.float32(arg0_1[8, 1], arg0_1[8, 1]) over [2, 8]
  %1[1, 0] = reduce.sum.float32->float64(%0[8, 1]) over [2, 8] reducing [1]
  %2[8, 1] = div.float64->float32(%1[1, 0], 8.0) over [2, 8]
  %3[8, 1] = add.float32(%2[8, 1], 1.0) over [2, 8]
  %4[8, 1] = rsqrt.float32(%3[8, 1]) over [2, 8]
  buf1[8, 1] = mul.float32(arg0_1[8, 1], %4[8, 1]) over [2, 8]
"""


def test_rows_that_become_one_number_each(texts: Texts) -> None:
    assert texts(lambda x: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1), ones(2, 8)) == NORM


LISTS = """\
kernel spyre_fused__foreach_add__foreach_mul_copy__mul_0(arg0_1, arg1_1)
  %0[1] = mul.float32(arg0_1[1], 0.5) over [2]
  %1[1] = mul.float32(%0[1], 3.0) over [2]
  arg0_1[1] = add_scaled.float32(%0[1], %1[1], 2.0) over [2]
  %2[1] = mul.float32(arg1_1[1], 0.5) over [3]
  %3[1] = mul.float32(%2[1], 3.0) over [3]
  arg1_1[1] = add_scaled.float32(%2[1], %3[1], 2.0) over [3]
"""


def test_lists(texts: Texts) -> None:
    def update(x: torch.Tensor, y: torch.Tensor) -> None:
        torch._foreach_mul_([x, y], 0.5)
        torch._foreach_add_([x, y], [x * 3, y * 3], alpha=2)

    assert texts(update, ones(2), ones(3)) == LISTS
