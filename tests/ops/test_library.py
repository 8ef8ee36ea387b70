"""The schema-driven library tier against CPU: values, forms, gradients, errors, and nothing on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from .compare import compare_gradients, compare_with_cpu, same_error, sample

CLOSE = {"rtol": 1e-5, "atol": 1e-6}
Call = Callable[..., Any]


def indices(shape: tuple[int, ...], extent: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, extent, shape, generator=torch.Generator().manual_seed(seed))


X = sample((5, 7), torch.float32)
ROWS, COLUMNS = indices((4,), 5), indices((5, 3), 7, seed=1)
DISTINCT = torch.tensor([3, 0, 4])
IMAGE = sample((3, 4, 9, 11), torch.float32)

READING: dict[str, Call] = {
    "index_select": lambda x: x.index_select(0, ROWS.to(x.device)),
    "index_select columns": lambda x: x.t().index_select(0, ROWS.to(x.device)),
    "gather": lambda x: x.gather(1, COLUMNS.to(x.device)),
    "take": lambda x: x.take(indices((2, 6), 35).to(x.device)),
    "index": lambda x: x[ROWS.to(x.device)],
    "index two": lambda x: x[ROWS.to(x.device), indices((4,), 7).to(x.device)],
    "index broadcast": lambda x: x[ROWS.to(x.device)[:, None], indices((3,), 7).to(x.device)],
    "index after a slice": lambda x: x[1:, indices((4,), 7).to(x.device)],
    "cumsum": lambda x: x.cumsum(1),
    "cumprod": lambda x: x.cumprod(0),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(0),
    "logcumsumexp": lambda x: x.logcumsumexp(1),
    "sort": lambda x: x.sort(1),
    "sort down": lambda x: x.sort(dim=0, descending=True, stable=True),
    "argsort": lambda x: x.argsort(1),
    "topk": lambda x: x.topk(3, 1),
    "median": lambda x: x.median(),
    "median along": lambda x: x.median(1),
    "nanmedian": lambda x: x.nanmedian(),
    "nanmedian along": lambda x: x.nanmedian(0),
    "kthvalue": lambda x: x.kthvalue(3, 1),
    "isin": lambda x: torch.isin(x.contiguous(), x[:2].contiguous()),
    "renorm": lambda x: x.renorm(2, 0, 1.5),
    "round to decimals": lambda x: x.round(decimals=1),
    "frexp": torch.frexp,
    "digamma": torch.digamma,
    "erfinv": lambda x: torch.erfinv(x / 8),
    "polygamma": lambda x: torch.polygamma(2, x.abs() + 1),
    "igamma": lambda x: torch.igamma(x.abs().detach(), x.abs() + 1),
    "igammac": lambda x: torch.igammac(x.abs().detach(), x.abs() + 1),
    "i0": torch.i0,
    "i0e": torch.special.i0e,
    "i1": torch.special.i1,
    "i1e": torch.special.i1e,
    "ndtri": lambda x: torch.special.ndtri(x.sigmoid()),
    "log_ndtr": torch.special.log_ndtr,
    "erfcx": torch.special.erfcx,
    "zeta": lambda x: torch.special.zeta(x.abs().detach() + 1.5, x.abs().detach() + 1),
    "logaddexp2": lambda x: torch.logaddexp2(x, x[0]),
    "nextafter": lambda x: torch.nextafter(x, -x),
    "gcd": lambda x: torch.gcd((x * 50).int(), (x * 20).int() + 1),
    "lcm": lambda x: torch.lcm((x * 50).int(), (x[0] * 20).int() + 1),
    "histc": lambda x: x.histc(5, -4, 4),
    "searchsorted": lambda x: torch.searchsorted(x.sort(1).values.contiguous(), x.contiguous()),
    "trace": torch.trace,
    "nonzero": lambda x: x.relu().nonzero(),
    "nonzero of each dimension": lambda x: torch.nonzero(x > 1, as_tuple=True),
    "masked_select": lambda x: x.masked_select(x[:, :1] > 0),
    "a mask": lambda x: x[x > 0],
    "a mask of rows": lambda x: x[x[:, 0] > 0, 1:3],
    "a mask between": lambda x: x[None][:, (x > 0)],
    "a mask beside an index": lambda x: x[x[:, 0] > -9, torch.arange(5, device=x.device)],
    "nothing selected": lambda x: (x[x > 99], x.masked_select(x > 99), (x > 99).nonzero()),
    "repeat_interleave": lambda x: x.repeat_interleave(torch.arange(5, device=x.device), 0),
    "bincount": lambda x: torch.bincount((x.abs() * 2).int().flatten(), minlength=5),
    "bincount with weights": lambda x: torch.bincount(x[0].abs().long(), weights=x[1]),
    "unique": lambda x: torch.unique(x.round(), return_inverse=True, return_counts=True),
    "unique values": lambda x: torch.unique(x.round()),
    "unique of one": lambda x: torch.unique(x[0, 0], return_counts=True),
    "unique rows": lambda x: torch.unique(x[ROWS.to(x.device)].round(), dim=0, return_inverse=True, return_counts=True),
    "unique columns": lambda x: torch.unique(x[:2].sign(), dim=1, return_counts=True),
    "runs": lambda x: torch.unique_consecutive(x.sign(), return_inverse=True, return_counts=True),
    "runs of columns": lambda x: torch.unique_consecutive(x[:1].sign(), dim=-1, return_inverse=True),
    "searchsorted of a number": lambda x: torch.searchsorted(x[0].sort().values, 0.5),
    "addr": lambda x: torch.addr(x, x[:, 0], x[0]),
}

WRITING: dict[str, Call] = {
    "scatter": lambda x: x.scatter_(1, COLUMNS.to(x.device), 2 * x[:, :3]),
    "scatter a value": lambda x: x.scatter_(1, COLUMNS.to(x.device), 1.5),
    "scatter_add": lambda x: x.scatter_add_(1, COLUMNS.to(x.device), torch.ones_like(x[:, :3])),
    "scatter_reduce": lambda x: x.scatter_reduce_(0, COLUMNS[:, :1].to(x.device) % 5, x[:, :1].clone(), "amax"),
    "index_add": lambda x: x.index_add_(0, ROWS.to(x.device), x[:4].clone(), alpha=2),
    "index_copy": lambda x: x.index_copy_(0, DISTINCT.to(x.device), x[:3].clone()),
    "index_fill": lambda x: x.index_fill_(1, DISTINCT.to(x.device), 7),
    "masked_scatter": lambda x: x.masked_scatter_(x[:, :1] > 0, torch.arange(35.0, device=x.device)),
    "embedding_renorm": lambda x: F.embedding(ROWS.to(x.device), x, max_norm=1.0),
    "index_put by a mask": lambda x: x.index_put_((x > 0,), torch.arange(1.0, device=x.device) + 2, accumulate=True),
    "setitem by a mask of rows": lambda x: x.__setitem__((x[:, 0] > 0, slice(2, 4)), x[0, 2:4] + 1),
    "index_put": lambda x: x.index_put_((ROWS.to(x.device),), x[:4].clone() * 0 + 3),
    "index_put adding": lambda x: x.index_put_((ROWS.to(x.device),), torch.ones_like(x[:4]), accumulate=True),
    "setitem": lambda x: x.__setitem__((DISTINCT.to(x.device), slice(1, 4)), 9.0),
    "put": lambda x: x.put_(indices((4,), 35).to(x.device), x.flatten()[:4].clone(), accumulate=True),
    "a view's sort into it": lambda x: x[:, 1:].copy_(x[:, 1:].sort(1).values),
}

IMAGES: dict[str, Call] = {
    "max_pool2d": lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True),
    "avg_pool2d": lambda x: F.avg_pool2d(x, (3, 2), padding=1),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, (4, 5)),
    "adaptive_max_pool2d": lambda x: F.adaptive_max_pool2d(x, (4, 5)),
    "nearest": lambda x: F.interpolate(x, scale_factor=2),
    "bilinear": lambda x: F.interpolate(x, size=(13, 17), mode="bilinear", align_corners=True),
    "bicubic": lambda x: F.interpolate(x, size=(13, 17), mode="bicubic"),
    "reflect": lambda x: F.pad(x, (1, 2, 2, 1), mode="reflect"),
    "replicate": lambda x: F.pad(x, (1, 2, 2, 1), mode="replicate"),
    "constant": lambda x: F.pad(x, (1, 2, -1, 1), value=3.5),
    "unfold": lambda x: F.unfold(x, 3),
    "max_unpool2d": lambda x: F.max_unpool2d(*F.max_pool2d(x, 3, return_indices=True), 3, output_size=(9, 11)),
    "nearest exact": lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    "bilinear smoothed": lambda x: F.interpolate(x, size=(5, 6), mode="bilinear", antialias=True),
    "bicubic smoothed": lambda x: F.interpolate(x, size=(5, 6), mode="bicubic", antialias=True),
    "fractional_max_pool2d": lambda x: F.fractional_max_pool2d(
        x, 3, (4, 5), _random_samples=torch.full((*x.shape[:2], 2), 0.4, device=x.device)
    ),
    "one image": lambda x: F.max_pool2d(x[0], 2),
    "channels last": lambda x: F.max_pool2d(x.contiguous(memory_format=torch.channels_last), 2),
}


VOLUME = sample((2, 3, 6, 7, 8), torch.float32)
VOLUMES: dict[str, Call] = {
    "max_pool3d": lambda x: F.max_pool3d(x, 2, 2, return_indices=True),
    "avg_pool3d": lambda x: F.avg_pool3d(x, 2),
    "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)),
    "fractional_max_pool3d": lambda x: F.fractional_max_pool3d(
        x, 2, (3, 3, 4), _random_samples=torch.full((*x.shape[:2], 3), 0.4, device=x.device)
    ),
    "nearest 3d": lambda x: F.interpolate(x, scale_factor=2),
    "nearest exact 3d": lambda x: F.interpolate(x, scale_factor=2, mode="nearest-exact"),
    "trilinear": lambda x: F.interpolate(x, size=(5, 9, 11), mode="trilinear"),
    "reflect 3d": lambda x: F.pad(x, (1, 2, 2, 1, 0, 1), mode="reflect"),
    "replicate 3d": lambda x: F.pad(x, (1, 2, 2, 1, 0, 1), mode="replicate"),
    "grid_sample 3d": lambda x: F.grid_sample(
        x, torch.linspace(-1, 1, 72, device=x.device).view(2, 2, 3, 2, 3), align_corners=False
    ),
}

LABELS = indices((5,), 7, seed=2)
OTHERS: dict[str, Call] = {
    "ctc": lambda x: F.ctc_loss(x.log_softmax(1)[:, None], torch.tensor([[1, 3]], device=x.device), [5], [2]),
    "complex": lambda x: torch.view_as_real(torch.complex(x, x)),
    "polar": lambda x: torch.view_as_real(torch.polar(x, x)),
    "fft": lambda x: torch.fft.irfft(torch.fft.fft(torch.fft.rfft(x))),
    "scatter of another": lambda x: x.detach().scatter(1, COLUMNS.to(x.device), x[:, :3] * 2, reduce="add"),
    "scatter a value": lambda x: x.detach().scatter(1, COLUMNS.to(x.device), 2.0, reduce="multiply"),
    "index_reduce": lambda x: x.index_reduce(0, DISTINCT.to(x.device), x[:3] * 2, "prod"),
    "bucketize": lambda x: torch.bucketize(x.detach(), torch.arange(-4.0, 4.0, device=x.device)),
    "nll_loss": lambda x: F.nll_loss(x, LABELS.to(x.device)),
    "nll_loss2d": lambda x: F.nll_loss(x.t().contiguous()[None, :, :, None], LABELS[None, :, None].to(x.device)),
    "multi_margin_loss": lambda x: F.multi_margin_loss(x, LABELS.to(x.device)),
    "multilabel_margin_loss": lambda x: F.multilabel_margin_loss(x, indices((5, 7), 7).to(x.device)),
    "embedding": lambda x: F.embedding(ROWS.to(x.device), x),
    **{
        f"embedding_bag, {mode}": lambda x, mode=mode: F.embedding_bag(
            ROWS.to(x.device), x, torch.tensor([0, 1, 1], device=x.device), mode=mode
        )
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag without gradients": lambda x: F.embedding_bag(COLUMNS.to(x.device) % 5, x.detach()),
    "embedding_bag, weighted": lambda x: F.embedding_bag(
        COLUMNS.to(x.device) % 5, x.detach(), mode="sum", per_sample_weights=x[:, :3].clone()
    ),
    "logspace": lambda x: torch.logspace(-1, 2, 7, device=x.device) + 0 * x.sum(),
    "masked_select": lambda x: x.masked_select(x[:, :1] > 0),
    "mode": lambda x: x.round().mode(1),
    "unfold": lambda x: x.unfold(1, 3, 2),
    "fold": lambda x: F.fold(x.flatten()[:32].view(1, 8, 4), (3, 3), 2),
    "reflect 1d": lambda x: F.pad(x, (2, 1), mode="reflect"),
    "replicate 1d": lambda x: F.pad(x, (2, 1), mode="replicate"),
    "nearest 1d": lambda x: F.interpolate(x[None], scale_factor=2),
    "linear 1d": lambda x: F.interpolate(x[None], size=11, mode="linear"),
    "grid_sample": lambda x: F.grid_sample(
        x[None, None], torch.linspace(-1, 1, 24, device=x.device).view(1, 3, 4, 2), align_corners=False
    ),
    "cross": lambda x: torch.linalg.cross(x[:, :3], x[:, 1:4]),
    "cdist": lambda x: torch.cdist(x, x + 1),
    "pdist": lambda x: F.pdist(x.detach()),
    "nearest exact 1d": lambda x: F.interpolate(x[None], scale_factor=2, mode="nearest-exact"),
    "weight_norm": lambda x: torch._weight_norm(x, x.norm(dim=1, keepdim=True), 0),
}


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "sliced"])
@pytest.mark.parametrize("name", READING)
def test_reading(name: str, layout: str) -> None:
    x = {
        "contiguous": X,
        "transposed": sample((7, 5), torch.float32).t(),
        "sliced": sample((10, 14), torch.float32)[::2, ::2],
    }[layout]
    compare_with_cpu(READING[name], x, strides=False, **CLOSE)


@pytest.mark.parametrize(
    "name", ["nonzero", "masked_select", "a mask of rows", "unique rows", "unique columns", "runs"]
)
def test_selections_lie_as_on_cpu(name: str) -> None:
    compare_with_cpu(READING[name], X, **CLOSE)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[:0].index_select(1, torch.zeros(1, 1, dtype=torch.int64, device=x.device)),
        lambda x: torch.argsort(x[:0], dim=2, out=torch.empty(0, dtype=torch.int64, device=x.device)),
    ],
)
def test_refusals_of_empty_tensors(call: Call) -> None:
    same_error(call, X, text=False)


def test_new_room_lies_as_on_cpu() -> None:
    compare_with_cpu(lambda x, o: torch.i0(x, out=o), X.t(), torch.empty(0), **CLOSE)


@pytest.mark.parametrize("name", WRITING)
def test_writing(name: str) -> None:
    compare_with_cpu(WRITING[name], X.clone(), **CLOSE)


@pytest.mark.parametrize("name", IMAGES)
def test_images(name: str) -> None:
    compare_with_cpu(IMAGES[name], IMAGE, **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.bool], ids=str)
def test_types(dtype: torch.dtype) -> None:
    x = sample((5, 7), dtype)
    for name in ("index_select", "gather", "index", "sort", "cumsum"):
        compare_with_cpu(READING[name], x, strides=False, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", ["index_select", "gather", "index", "cumsum", "cumprod", "sort", "topk"])
def test_gradients(name: str) -> None:
    first = lambda x: READING[name](x) if name not in ("sort", "topk") else READING[name](x)[0]  # noqa: E731
    compare_gradients(first, X, **CLOSE)


@pytest.mark.parametrize("name", [n for n in IMAGES if n not in ("max_pool2d", "one image")])
def test_image_gradients(name: str) -> None:
    compare_gradients(IMAGES[name], IMAGE, rtol=1e-4, atol=1e-5)


def test_embedding() -> None:
    weight, which = sample((20, 6), torch.float32), indices((3, 4), 20)
    compare_with_cpu(lambda w, i: F.embedding(i, w, padding_idx=2), weight, which, **CLOSE)
    compare_gradients(lambda w, i: F.embedding(i, w, padding_idx=2), weight, which, **CLOSE)


def test_out_forms() -> None:
    compare_with_cpu(lambda x, o: torch.cumsum(x, 1, out=o), X, torch.empty(0), **CLOSE)
    compare_with_cpu(lambda x, i, o: torch.gather(x, 1, i, out=o), X, COLUMNS, torch.zeros(3, 5).t(), **CLOSE)
    compare_with_cpu(lambda x, v, i: torch.sort(x, out=(v, i)), X, torch.empty(5, 7), torch.empty(5, 7).long())


def test_empty_and_scalar() -> None:
    compare_with_cpu(lambda x: x.cumsum(1), torch.empty(3, 0))
    compare_with_cpu(lambda x: x.sort(), torch.tensor(2.5))
    compare_with_cpu(lambda x, i: x.index_select(0, i), X, torch.empty(0, dtype=torch.int64))


def test_a_mask_is_counted_and_stays_on_the_device() -> None:
    x = X.to("spyre")
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    kept = x[x > 0]
    counted = torch.spyre.stats()
    assert not counted["fallbacks"]
    assert sum(counted["flushes"].values()) == 1  # for the count
    assert torch.equal(kept.cpu(), X[X > 0])


def test_results_go_where_they_were_asked_for() -> None:
    compare_with_cpu(lambda x, o: torch.masked_select(x, x > -9, out=o), X, torch.empty(35))
    compare_with_cpu(lambda x, o: torch.masked_select(x, x > 0, out=o), X, torch.empty(0))
    compare_with_cpu(lambda x, o: torch.nonzero(x > 0, out=o), X, torch.empty(0, dtype=torch.int64))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[x[:, :3] > 0],
        lambda x: x[x > 0, 1],
        lambda x: x.masked_select(x[:, :3] > 0),
        lambda x: x.masked_select(x.long()),
        lambda x: x[0].long().repeat_interleave(x[0].long()),
        lambda x: torch.bincount(x[0].long()),
        lambda x: torch.bincount(x.abs().long()),
        lambda x: torch.bincount(x[0].abs().long(), minlength=-1),
        lambda x: torch.bincount(torch.full_like(x[0], 2**63 - 1, dtype=torch.int64)),
        lambda x: torch.repeat_interleave(torch.ones(2**20 + 1, device=x.device)),
        lambda x: x.masked_scatter_(x > -9, x[0]),
        lambda x: F.embedding_bag(torch.tensor([9], device=x.device), x, torch.tensor([0], device=x.device)),
        lambda x: F.embedding_bag(ROWS.to(x.device), x, torch.tensor([1], device=x.device)),
        lambda x: torch.logspace(0, 1, -1, device=x.device),
        lambda x: torch.unique(x, dim=2),
        lambda x: torch.unique_consecutive(x, dim=-3),
        lambda x: torch.unique(torch.complex(x, x)),
    ],
)
def test_refused_selections(call: Call) -> None:
    same_error(call, X.clone(), text=False)


def test_nothing_is_counted_with_arithmetic_switched_off() -> None:
    """What stands in memory instead of a count is not taken for one."""
    x = torch.full((64, 4), 1.0).to("spyre")
    with torch.spyre.config(exec="null"):
        assert x[x > 0].shape == (0,)
        assert x.nonzero().shape == (0, 2)
        assert torch.bincount(x[0].long(), minlength=3).shape == (3,)
        assert x[0].long().repeat_interleave(x[0].long()).shape == (0,)
        assert torch.unique(x).numel() == x.numel()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.gather(1, torch.zeros(6, 2, dtype=torch.int64, device=x.device)),
        lambda x: x.index_select(2, torch.zeros(1, dtype=torch.int64, device=x.device)),
        lambda x: x.cumsum(5),
        lambda x: x.topk(50),
        lambda x: F.max_pool2d(x, 9),
        lambda x: x.index_select(0, torch.tensor([7], device=x.device)),
        lambda x: x[torch.tensor([9], device=x.device)],
    ],
)
def test_refusals(call: Call) -> None:
    same_error(call, X, text=False)


def test_ranks_above_the_device_s_run_on_the_host() -> None:
    x = sample((1,) * 12 + (4,), torch.float32)
    compare_with_cpu(lambda x: x.cumsum(12), x, host=["aten::cumsum.out", "aten::cumsum"])
    compare_with_cpu(lambda x: x.sort(12), x, host=["aten::sort.stable"])


@pytest.mark.parametrize("name", VOLUMES)
def test_volumes(name: str) -> None:
    compare_with_cpu(VOLUMES[name], VOLUME, **CLOSE)
    if name != "max_pool3d":
        compare_gradients(VOLUMES[name], VOLUME, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*deprecated", "ignore:index_reduce")
@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str) -> None:
    compare_with_cpu(OTHERS[name], X, strides=False, **CLOSE)


def test_plans_are_found_again() -> None:
    def step(x: torch.Tensor) -> float:
        return float(x.gather(1, COLUMNS.to("spyre")).cumsum(1).sort(1).values.sum())

    x = X.to("spyre")
    values = {step(x) for _ in range(2)}
    torch.spyre.reset_stats()
    values |= {step(x) for _ in range(5)}
    assert len(values) == 1
    assert torch.spyre.stats()["plan_cache"]["misses"] == 0
