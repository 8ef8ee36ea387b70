"""Matrix products and convolutions against CPU, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from .compare import FLOATS, compare_gradients, compare_with_cpu, fallbacks_of, same_error, sample

CLOSE = {
    torch.float64: {"rtol": 1e-12, "atol": 1e-12}, torch.float32: {"rtol": 1e-5, "atol": 1e-5},
    torch.float16: {"rtol": 4e-3, "atol": 1e-2}, torch.bfloat16: {"rtol": 3e-2, "atol": 1e-1},
}  # fmt: skip
GRADIENT = {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize("dtype", [*FLOATS, torch.int64, torch.int32], ids=str)
def test_products(dtype: torch.dtype) -> None:
    a, b = sample((17, 33), dtype), sample((33, 9), dtype, seed=1)
    close = CLOSE.get(dtype, {})
    compare_with_cpu(torch.mm, a, b, **close)
    compare_with_cpu(lambda x, y: torch.mm(x.t(), y.t()), a, sample((9, 17), dtype, seed=1), **close)
    compare_with_cpu(torch.bmm, sample((5, 7, 8), dtype), sample((5, 8, 3), dtype), **close)
    compare_with_cpu(torch.mv, a, sample((33,), dtype, seed=2), **close)
    compare_with_cpu(torch.dot, sample((33,), dtype), sample((33,), dtype, seed=2), **close)
    compare_with_cpu(torch.addmm, sample((9,), dtype, seed=3), a, b, **close)
    compare_with_cpu(lambda s, x, y: torch.addmm(s, x, y, beta=2, alpha=3), sample((17, 9), dtype), a, b, **close)
    compare_with_cpu(
        torch.baddbmm, sample((5, 7, 3), dtype), sample((5, 7, 8), dtype), sample((5, 8, 3), dtype), **close
    )


@pytest.mark.parametrize("shape", [(1, 1, 1), (300, 64, 200), (64, 300, 1000), (1, 512, 512), (700, 2, 3)], ids=str)
def test_panels(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    a, b = sample((m, k), torch.float32, -1, 1), sample((k, n), torch.float32, -1, 1, seed=1)
    compare_with_cpu(torch.mm, a, b, rtol=1e-5, atol=1e-4)
    compare_with_cpu(lambda x, y: torch.mm(y.t(), x.t()), a, b, rtol=1e-5, atol=1e-4)


def test_matmul_forms() -> None:
    x = sample((4, 5, 6), torch.float32)
    for shape in [(6,), (6, 7), (4, 6, 7), (3, 1, 6, 7)]:
        compare_with_cpu(torch.matmul, x, sample(shape, torch.float32, seed=1), strides=False, **CLOSE[torch.float32])
    compare_with_cpu(
        F.linear,
        x,
        sample((7, 6), torch.float32),
        sample((7,), torch.float32),
        **CLOSE[torch.float32],
    )
    compare_with_cpu(lambda a: torch.einsum("bij,bkj->bik", a, a), x, strides=False, **CLOSE[torch.float32])


def test_forms() -> None:
    s, a, b = sample((5, 6), torch.float32), sample((5, 7), torch.float32), sample((7, 6), torch.float32)
    compare_with_cpu(lambda s, a, b: s.addmm_(a, b), s.clone(), a, b, **CLOSE[torch.float32])
    compare_with_cpu(lambda a, b, o: torch.mm(a, b, out=o), a, b, torch.empty(0), **CLOSE[torch.float32])
    compare_with_cpu(lambda a, b, o: torch.mm(a, b, out=o), a, b, torch.zeros(6, 5).t(), **CLOSE[torch.float32])
    compare_with_cpu(torch.mm, torch.empty(5, 0), torch.empty(0, 6))
    compare_with_cpu(torch.mm, torch.empty(0, 5), torch.empty(5, 6))
    nan = torch.full((5, 6), float("nan"))
    compare_with_cpu(lambda s, a, b: torch.addmm(s, a, b, beta=0), nan, a, b, **CLOSE[torch.float32])
    compare_with_cpu(
        torch.addbmm, s, sample((4, 5, 7), torch.float32), sample((4, 7, 6), torch.float32), **CLOSE[torch.float32]
    )
    compare_with_cpu(torch.addmv, sample((5,), torch.float32), a, sample((7,), torch.float32), **CLOSE[torch.float32])


def test_refusals() -> None:
    a = sample((5, 7), torch.float32)
    same_error(torch.mm, a, a)
    same_error(torch.mm, a, sample((7, 3), torch.float64))
    same_error(torch.bmm, a, a)
    same_error(torch.mv, a, sample((6,), torch.float32))
    same_error(lambda x: torch.addmm(torch.ones(4, device=x.device), x, x.t()), a)
    same_error(lambda x: x.bool() @ x.bool().t(), a)
    with pytest.raises(RuntimeError, match="same device"):
        a.to("spyre") @ a.t()


def test_gradients() -> None:
    a, b = sample((5, 7), torch.float32), sample((7, 6), torch.float32, seed=1)
    compare_gradients(torch.mm, a, b, **GRADIENT)
    compare_gradients(F.linear, a, b.t().contiguous(), sample((6,), torch.float32), **GRADIENT)
    compare_gradients(torch.bmm, sample((3, 5, 7), torch.float32), sample((3, 7, 2), torch.float32), **GRADIENT)


CONVOLUTIONS = {
    "plain": {}, "stride": {"stride": 2}, "padding": {"padding": 1}, "dilation": {"dilation": 2},
    "groups": {"groups": 2},
    "all": {"stride": (2, 1), "padding": (1, 2), "groups": 2},
}  # fmt: skip


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolution(name: str, batch: int) -> None:
    options = CONVOLUTIONS[name]
    x = sample((batch, 4, 9, 11), torch.float32)
    w = sample((6, 4 // options.get("groups", 1), 3, 3), torch.float32, seed=1)
    b = sample((6,), torch.float32, seed=2)

    def fn(x, w, b):
        return F.conv2d(x, w, b, **options)

    compare_with_cpu(fn, x, w, b, rtol=1e-4, atol=1e-4)
    compare_gradients(fn, x, w, b, rtol=1e-3, atol=1e-3)


def test_other_convolutions() -> None:
    x, w = sample((2, 4, 20), torch.float32), sample((6, 4, 3), torch.float32, seed=1)
    compare_with_cpu(F.conv1d, x, w, strides=False, rtol=1e-4, atol=1e-4)
    compare_gradients(lambda x, w: F.conv1d(x, w, padding=1), x, w, rtol=1e-3, atol=1e-3)
    x, w = sample((2, 4, 5, 6), torch.float32), sample((4, 3, 3, 3), torch.float32, seed=1)

    def fn(x, w):
        return F.conv_transpose2d(x, w, stride=2, output_padding=1)

    compare_with_cpu(fn, x, w, rtol=1e-4, atol=1e-4)
    compare_gradients(fn, x, w, rtol=1e-3, atol=1e-3)
    x, w = sample((2, 4, 5, 6, 7), torch.float32), sample((3, 4, 3, 3, 3), torch.float32, seed=1)
    compare_with_cpu(F.conv3d, x, w, rtol=1e-4, atol=1e-4)
    x = sample((2, 4, 9, 9), torch.float32).to(memory_format=torch.channels_last)
    compare_with_cpu(F.conv2d, x, sample((6, 4, 3, 3), torch.float32), rtol=1e-4, atol=1e-4)


def test_embedding() -> None:
    w, i = sample((50, 16), torch.float32), torch.tensor([[1, 4, 49], [0, 4, 7]])
    compare_with_cpu(F.embedding, i, w)
    compare_gradients(lambda w: F.embedding(i.to(w.device), w, padding_idx=4), w)


def test_training_step_stays_on_the_device() -> None:
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
        torch.nn.Linear(8 * 16, 10),
    ).to("spyre")  # fmt: skip
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = torch.randn(32, 1, 8, 8).to("spyre"), (torch.arange(32) % 10).to("spyre")

    def step() -> float:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    losses, on_host = fallbacks_of(lambda: [step() for _ in range(5)])
    assert on_host == {}
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("sizes", [(3, 2, 0, 4), (3, 2, 5, 0), (3, 0, 5, 4), (0, 2, 5, 4)], ids=str)
def test_sums_of_products_without_elements(sizes: tuple[int, int, int, int]) -> None:
    batch, rows, inner, columns = sizes
    for beta in (1, 0):
        compare_with_cpu(
            lambda t, a, b, beta=beta: torch.addbmm(t, a, b, beta=beta),
            torch.ones(rows, columns),
            torch.ones(batch, rows, inner),
            torch.ones(batch, inner, columns),
        )
