"""Functions of mathematics that the op table does not have, and rare operators: library operations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from .compare import compare_with_cpu, sample

Call = Callable[[torch.Tensor], object]

BETWEEN = sample((3, 4, 2, 2), torch.float32).sigmoid()  # in the domain of all
FUNCTIONS = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]
POLYNOMIALS = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
]


def polynomial(name: str) -> Call:
    return lambda x: getattr(torch.special, name)(x, torch.full_like(x, 3))


def unpooled(x: torch.Tensor) -> torch.Tensor:
    return functional.max_unpool3d(*functional.max_pool3d(x, (1, 2, 2), return_indices=True), (1, 2, 2))


RARE: dict[str, Call] = {
    **{name: getattr(torch.special, name) for name in FUNCTIONS},
    **{name: polynomial(name) for name in POLYNOMIALS},
    "mvlgamma": lambda x: torch.mvlgamma(x + 2, 2),
    "glu_jvp": lambda x: torch.ops.aten.glu_jvp(functional.glu(x, 1), x, x * 2, 1),
    "hash_tensor": torch.hash_tensor,
    "channel_shuffle": lambda x: functional.channel_shuffle(x, 2),
    "histogram": lambda x: torch.histogram(x, 4),
    "nonzero_static": lambda x: torch.nonzero_static(x > 0.5, size=8),
    "max_unpool3d": unpooled,
    "ldexp": lambda x: torch.ldexp(x, (9 * x).int()),
}


@pytest.mark.parametrize("name", RARE)
def test_nothing_is_waited_for(name: str, stats: Callable[[], dict]) -> None:
    kept = RARE[name](BETWEEN.to("spyre"))
    counted = stats()
    assert kept is not None
    assert not counted["fallbacks"]
    assert not {why: n for why, n in counted["flushes"].items() if n}
    compare_with_cpu(RARE[name], BETWEEN, strides=False)


def test_the_gradient_of_distances() -> None:
    grads = []
    for device in ("cpu", "spyre"):
        x = BETWEEN.flatten(1).to(device).requires_grad_()
        functional.pdist(x).sum().backward()
        grads.append(x.grad.cpu())
    torch.testing.assert_close(*grads)


EXPONENTS = torch.tensor([130, 3, 140, 120, 130, 2000, -140, -150, 7])
MANTISSAS = torch.tensor([1e-40, 1.5, 3e-20, -1e30, float("inf"), 0.0, 3.7, -5.1, float("nan")], dtype=torch.float64)


@pytest.mark.filterwarnings("ignore:An output with")  # CPU's kernel makes its result as large as one operand first
@pytest.mark.parametrize("exponent", [torch.int32, torch.int64, torch.int16, torch.float32], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_ldexp_of_what_a_power_of_two_cannot_be(dtype: torch.dtype, exponent: torch.dtype) -> None:
    """2**130 is no float32, but 1e-40 * 2**130 is one."""
    x, n = MANTISSAS.to(dtype), EXPONENTS.to(exponent)
    compare_with_cpu(torch.ldexp, x, n)
    compare_with_cpu(torch.ldexp, x[:, None], n)
    if exponent != torch.float32:  # its power of two is a float32
        compare_with_cpu(lambda x, n: x.ldexp_(n), x.clone(), n)
        compare_with_cpu(lambda x, n: torch.ldexp(x, n, out=torch.empty_like(x)), x, n)
