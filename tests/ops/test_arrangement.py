"""Flips, rolls, gated halves, comparisons of whole tensors, and sampling by weight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

from .compare import compare_gradients, compare_with_cpu, fallbacks_of, same_error, sample


@pytest.mark.parametrize("dims", [(), (0,), (1,), (-1,), (0, 2), (0, 1, 2)], ids=str)
def test_flip(dims: tuple[int, ...]) -> None:
    x = sample((3, 5, 7), torch.float32)
    compare_with_cpu(lambda t: torch.flip(t, dims), x)
    compare_with_cpu(lambda t: torch.flip(t.transpose(0, 2), dims), x)
    compare_with_cpu(lambda t: torch.flip(t[:, ::2] * 2, dims) + 1, x)
    compare_with_cpu(lambda t: torch.flip(t, dims), sample((3, 1, 7), torch.int64).expand(3, 4, 7))


def test_flip_refusals() -> None:
    x = sample((3, 5), torch.float32)
    same_error(lambda t: torch.flip(t, (0, 0)), x)
    same_error(lambda t: torch.flip(t, (2,)), x)


@pytest.mark.parametrize(("shifts", "dims"), [(2, 0), (-3, 1), ((1, 2), (0, 1)), (4, ()), (0, 0), (5, 0)], ids=str)
def test_roll(shifts: object, dims: object) -> None:
    compare_with_cpu(lambda t: torch.roll(t, shifts, dims), sample((5, 7), torch.float32))
    compare_with_cpu(lambda t: torch.roll(t, shifts, dims), sample((7, 5), torch.int32).t())


def test_gated_halves() -> None:
    x = sample((4, 6, 8), torch.float32)
    for dim in (0, 1, -1):
        compare_with_cpu(lambda t, d=dim: F.glu(t, d), x, ulp=4)
        compare_gradients(lambda t, d=dim: F.glu(t, d), x, rtol=1e-5, atol=1e-6)
    same_error(lambda t: F.glu(t, 1), sample((4, 5), torch.float32))


def test_pixel_shuffle() -> None:
    x = sample((2, 8, 3, 4), torch.float32)
    compare_with_cpu(lambda t: F.pixel_shuffle(t, 2), x)
    compare_with_cpu(lambda t: F.pixel_unshuffle(F.pixel_shuffle(t, 2), 2), x)


def test_whole_tensors() -> None:
    x = sample((4, 5), torch.float32).to("spyre")
    answers, on_host = fallbacks_of(
        lambda: [torch.equal(x, x.clone()), torch.equal(x, x + 1), x.is_set_to(x), x.is_set_to(x[:2])]
    )
    assert answers == [True, False, True, False]
    assert on_host == {}
    assert not torch.equal(x, x[:2])


def test_sampling_by_weight() -> None:
    weights = torch.tensor([0.1, 0.0, 0.6, 0.3], device="spyre")
    drawn, on_host = fallbacks_of(
        lambda: torch.stack([torch.multinomial(weights, 1) for _ in range(2000)]).cpu().flatten()
    )
    assert on_host == {}
    shares = torch.bincount(drawn, minlength=4) / 2000
    assert torch.allclose(shares, weights.cpu(), atol=0.05)
    kept, on_host = fallbacks_of(lambda: torch.multinomial(weights.expand(2, 4), 4000, replacement=True).cpu())
    assert on_host == {}
    for row in kept:
        assert torch.allclose(torch.bincount(row, minlength=4) / 4000, weights.cpu(), atol=0.05)
        assert not (row == 1).any()
    rows = torch.multinomial(torch.ones(5, 9, device="spyre"), 9).cpu()
    assert torch.equal(rows.sort(1).values, torch.arange(9).expand(5, 9))
    same_error(lambda t: torch.multinomial(t, 1), torch.tensor([-1.0, 2.0]))
    same_error(lambda t: torch.multinomial(t, 1), torch.zeros(3))


def test_complex_numbers_are_drawn_from_the_device_s_generator() -> None:
    seeded = lambda: torch.Generator("spyre").manual_seed(7)  # noqa: E731
    draw = lambda: torch.randn(20000, dtype=torch.complex64, device="spyre", generator=seeded())  # noqa: E731
    first, on_host = fallbacks_of(draw)
    assert on_host == {}
    assert torch.equal(first, draw())
    assert abs(first.abs().square().mean().item() - 1) < 0.05
    assert abs(first.real.var().item() - 0.5) < 0.05
    flat = torch.empty(20000, dtype=torch.complex128, device="spyre").uniform_(-1, 3, generator=seeded())
    assert abs(flat.imag.mean().item() - 1) < 0.05
    assert -1 <= flat.real.min().item() <= flat.real.max().item() < 3


@pytest.mark.parametrize("in_place", [False, True])
def test_rrelu(in_place: bool) -> None:
    x = sample((50, 60), torch.float32).to("spyre").requires_grad_()
    y, on_host = fallbacks_of(lambda: F.rrelu(x * 1, 0.1, 0.4, training=True, inplace=in_place))
    assert on_host == {}
    y.sum().backward()
    slopes = (y / x).detach().cpu()
    torch.testing.assert_close(x.grad.cpu(), slopes)
    below = x.detach().cpu() < 0
    assert torch.equal(slopes[~below], torch.ones_like(slopes[~below]))
    assert 0.1 <= slopes[below].min() < 0.12
    assert 0.38 < slopes[below].max() <= 0.4001
    compare_with_cpu(lambda t: F.rrelu(t, 0.1, 0.4, training=False), x.detach().cpu())
    same_error(lambda t: F.rrelu(t, 0.4, 0.1, training=True), x.detach().cpu(), text=False)


def test_slopes_of_activations_in_place_are_known() -> None:
    """From the result alone, only if they keep the sign: the same error as on CPU, and only then."""

    def gradient(call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        leaf = x.clone().requires_grad_()
        return torch.autograd.grad(call(leaf * 1).sum(), leaf)[0]

    x = sample((6,), torch.float32)
    for slope in (0.5, -0.5):
        compare_with_cpu(lambda t, s=slope: gradient(lambda u: F.leaky_relu(u, s), t), x, ulp=1)
        compare_with_cpu(lambda t, s=slope: gradient(lambda u: F.elu(u, s), t), x, ulp=4)
    for refused in (lambda u: F.leaky_relu_(u, -0.5), lambda u: F.elu_(u, -0.5)):
        same_error(lambda t, f=refused: gradient(f, t), x, text=False)
    compare_with_cpu(lambda t: gradient(lambda u: F.leaky_relu_(u, 0.5), t), x, ulp=1)
    compare_with_cpu(lambda t: gradient(lambda u: F.elu_(u, 0.5), t), x, ulp=4)
