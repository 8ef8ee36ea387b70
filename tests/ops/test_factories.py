"""Tensors from numbers and positions, concatenation, and random numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .compare import ALL_TYPES, FLOATS, assert_same, compare_with_cpu, fallbacks_of, same_error, sample


def same_factory(make: Callable[[str], torch.Tensor], **tolerance: float) -> None:
    actual, on_host = fallbacks_of(lambda: make("spyre"))
    assert on_host == {}
    assert_same(actual, make("cpu"), **tolerance)


@pytest.mark.parametrize("dtype", ALL_TYPES, ids=str)
def test_fills(dtype: torch.dtype) -> None:
    same_factory(lambda d: torch.zeros(3, 5, dtype=dtype, device=d))
    same_factory(lambda d: torch.ones(3, 5, dtype=dtype, device=d))
    same_factory(lambda d: torch.full((3, 5), 1, dtype=dtype, device=d))
    same_factory(lambda d: torch.eye(3, 5, dtype=dtype, device=d))
    same_factory(
        lambda d: torch.arange(2, 40, 3, dtype=dtype, device=d) if dtype != torch.bool else torch.ones(1, device=d)
    )
    compare_with_cpu(lambda t: t.fill_(1), sample((4, 5), dtype).t())
    compare_with_cpu(lambda t: t[1:, ::2].zero_(), sample((4, 5), dtype))
    compare_with_cpu(lambda t: t.fill_(t[0, 0]), sample((4, 5), dtype))


def test_ranges() -> None:
    same_factory(lambda d: torch.arange(10, device=d))
    same_factory(lambda d: torch.arange(10, 0, -3, device=d))
    same_factory(lambda d: torch.arange(0, 1, 0.1, device=d), ulp=1)
    same_factory(lambda d: torch.arange(-5, 5, 0.25, dtype=torch.float16, device=d))
    same_factory(lambda d: torch.linspace(0, 1, 11, device=d), ulp=1)
    same_factory(lambda d: torch.linspace(-3, 7, 1, device=d))
    same_factory(lambda d: torch.linspace(5, -5, 1000, dtype=torch.float64, device=d), ulp=4)
    same_factory(lambda d: torch.linspace(0, 1, 0, device=d))
    same_factory(lambda d: torch.eye(4, device=d))
    same_factory(lambda d: torch.empty(0, device=d).sum())
    for bad in (lambda d: torch.arange(0, 10, 0, device=d), lambda d: torch.arange(0, 10, -1, device=d),
                lambda d: torch.full((2,), 300, dtype=torch.int8, device=d)):  # fmt: skip
        same_error(lambda t, b=bad: b(t.device), torch.ones(1))


@pytest.mark.parametrize("diagonal", [-2, -1, 0, 1, 3])
def test_triangles(diagonal: int) -> None:
    for x in (sample((5, 7), torch.float32), sample((2, 7, 5), torch.int64), sample((4, 4), torch.bool)):
        compare_with_cpu(lambda t: [t.tril(diagonal), t.triu(diagonal)], x)
    compare_with_cpu(lambda t: t.tril_(diagonal), sample((5, 7), torch.float32))


def test_cat() -> None:
    a, b, c = (
        sample((2, 3), torch.float32),
        sample((4, 3), torch.float32, seed=1),
        sample((2, 5), torch.float32, seed=2),
    )
    compare_with_cpu(lambda *t: torch.cat(t), a, b)
    compare_with_cpu(lambda *t: torch.cat(t, 1), a, c)
    compare_with_cpu(lambda *t: torch.cat(t, -1), a.t(), b.t())
    compare_with_cpu(lambda *t: torch.cat(t), a, torch.empty(0), b)
    compare_with_cpu(lambda *t: torch.cat(t), a, b.to(torch.int32), b.to(torch.float16))
    compare_with_cpu(lambda *t: torch.stack(t, 1), a, a)
    compare_with_cpu(lambda x, o: torch.cat((x, x), out=o), a, torch.empty(0))
    compare_with_cpu(lambda x: torch.nn.functional.pad(x, (1, 2, 0, 1), value=3.0), a)
    compare_with_cpu(lambda x: x.repeat(2, 3), a)
    compare_with_cpu(lambda x: torch.hstack((x, x)), a)
    same_error(lambda *t: torch.cat(t), a, c)
    same_error(lambda x: torch.cat((x, x), 2), a)
    with pytest.raises(RuntimeError, match="same device"):
        torch.cat((a, a.to("spyre")))


RANDOM: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "uniform": lambda t: t.uniform_(2, 5), "normal": lambda t: t.normal_(1, 2),
    "geometric": lambda t: t.geometric_(0.3),
    "bernoulli": lambda t: t.bernoulli_(0.3), "random": lambda t: t.random_(3, 9),
    "exponential": lambda t: t.exponential_(2), "log_normal": lambda t: t.log_normal_(0, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", RANDOM)
def test_distributions(name: str, dtype: torch.dtype) -> None:
    """The first two moments are those of CPU's own numbers."""
    torch.manual_seed(7)
    expected = RANDOM[name](torch.empty(200_000, dtype=dtype)).double()
    x, on_host = fallbacks_of(lambda: RANDOM[name](torch.empty(200_000, dtype=dtype, device="spyre")))
    assert on_host == {}
    actual = x.cpu().double()
    slack = 6 * expected.std() / len(expected) ** 0.5 + torch.finfo(dtype).eps
    assert abs(actual.mean() - expected.mean()) < slack
    assert abs(actual.std() / expected.std() - 1) < 0.03
    assert actual.min() >= expected.min() - expected.std() * 2


def test_reproducible() -> None:
    def numbers() -> list[float]:
        torch.manual_seed(3)
        x = torch.rand(1000, device="spyre")
        y = torch.randn(7, 11, device="spyre")
        z = torch.randint(0, 10, (50,), device="spyre")
        return [x.sum().item(), y.sum().item(), z.sum().item(), torch.nn.functional.dropout(x, 0.4).sum().item()]

    assert numbers() == numbers()
    torch.manual_seed(4)
    assert torch.rand(1000, device="spyre").sum().item() != numbers()[0]


def test_layout_does_not_matter() -> None:
    torch.manual_seed(5)
    a = torch.empty(6, 4, device="spyre").uniform_()
    torch.manual_seed(5)
    b = torch.empty(4, 6, device="spyre").t().uniform_()
    assert torch.equal(a.cpu(), b.cpu())


def test_generators_are_independent() -> None:
    first, second = torch.Generator("spyre").manual_seed(1), torch.Generator("spyre").manual_seed(1)
    a = torch.rand(100, device="spyre", generator=first)
    torch.rand(100, device="spyre")
    b = torch.rand(100, device="spyre", generator=second)
    assert torch.equal(a.cpu(), b.cpu())
    assert not torch.equal(torch.rand(100, device="spyre", generator=first).cpu(), a.cpu())


def test_integers() -> None:
    x = torch.randint(-3, 4, (20_000,), device="spyre").cpu()
    assert x.unique().tolist() == [-3, -2, -1, 0, 1, 2, 3]
    counts = torch.bincount(x + 3)
    assert (counts - 20_000 / 7).abs().max() < 300
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int64, torch.bool):
        assert torch.empty(100, dtype=dtype, device="spyre").random_().cpu().dtype == dtype
    same_error(lambda t: t.random_(5, 5), torch.ones(3))
    same_error(lambda t: t.geometric_(0.5), torch.ones(3, dtype=torch.bool))


def test_permutation() -> None:
    torch.manual_seed(0)
    p, q = torch.randperm(1000, device="spyre").cpu(), torch.randperm(1000, device="spyre").cpu()
    assert p.sort().values.tolist() == list(range(1000))
    assert not torch.equal(p, q)


@pytest.mark.parametrize(
    ("count", "dtype"),
    [(5, torch.bool), (300, torch.uint8), (3000, torch.float16), (5, torch.complex64), (-1, torch.int64)],
    ids=str,
)
def test_a_permutation_that_its_type_does_not_hold(count: int, dtype: torch.dtype) -> None:
    same_error(lambda t: torch.randperm(count, dtype=dtype, device=t.device), torch.ones(1))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dropout(dtype: torch.dtype) -> None:
    x = torch.ones(100_000, dtype=dtype, device="spyre", requires_grad=True)
    y = torch.nn.functional.dropout(x, 0.25)
    y.sum().backward()
    kept = (y != 0).double().mean().item()
    assert abs(kept - 0.75) < 0.01
    assert torch.equal(x.grad.cpu() != 0, y.detach().cpu() != 0)
    assert torch.nn.functional.dropout(x, 0.25, training=False) is not None
    out, mask = torch.native_dropout(x.detach(), 0.5, True)
    assert torch.equal(out.cpu() != 0, mask.cpu())


@pytest.mark.parametrize("arguments", [(7,), (8, True), (8, False, 3.0), (0,), (1,)], ids=str)
def test_a_window_that_pytorch_computes_on_its_own_devices(arguments: tuple[object, ...]) -> None:
    window = torch.kaiser_window(*arguments, device="spyre")
    assert window.device.type == "spyre"
    assert torch.equal(window.cpu(), torch.kaiser_window(*arguments))
