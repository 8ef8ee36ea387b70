"""Copies between cards: any type, strides and layout, in order, without waiting, both ways at once, with faults."""

from __future__ import annotations

import contextlib
import copy
import io
import pickle
import re
import threading

import pytest
import torch
from torch.testing import assert_close

A, B = "spyre:0", "spyre:1"
TYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.uint16,
]  # fmt: skip


def values(dtype: torch.dtype, *size: int) -> torch.Tensor:
    torch.manual_seed(1)
    numbers = torch.rand(size) * 8
    return (numbers if dtype in (torch.uint8, torch.uint16) else numbers - 2).to(dtype)


def same(x: torch.Tensor, expected: torch.Tensor) -> None:
    assert x.dtype == expected.dtype
    assert x.shape == expected.shape
    assert bits(x.cpu()) == bits(expected)


def bits(x: torch.Tensor) -> list[int]:
    return x.contiguous().reshape(-1).view(torch.uint8).tolist()


@pytest.mark.parametrize("dtype", TYPES)
def test_to_keeps_every_bit(dtype):
    host = values(dtype, 5, 6)
    x = host.to(A)
    y = x.to(B)
    assert y.device == torch.device(B)
    same(y, host)
    same(y.to(A), host)
    same(x, host)


@pytest.mark.parametrize("source", TYPES[:10])
@pytest.mark.parametrize("target", [torch.bool, torch.int32, torch.bfloat16, torch.float64, torch.complex64])
def test_types_are_converted_as_on_cpu(source, target):
    host = values(source, 3, 4)
    same(host.to(A).to(B, dtype=target), host.to(target))
    into = torch.zeros(3, 4, dtype=target, device=B)
    same(into.copy_(host.to(A)), host.to(target))


VIEWS = {
    "transposed": lambda x: x.t(),
    "stepped": lambda x: x[::2, 1::2],
    "offset": lambda x: x[1:, 2:],
    "expanded": lambda x: x[:1].expand(4, 6),
    "row": lambda x: x[2],
    "scalar": lambda x: x[1, 1],
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_copied_from_and_into(name):
    host = torch.arange(24.0).reshape(4, 6)
    view = VIEWS[name]
    same(view(host.to(A)).to(B), view(host).clone())
    if name == "expanded":
        return
    base, expected = torch.zeros(4, 6), torch.zeros(4, 6)
    there = base.to(B)
    view(there).copy_(view(host.to(A)))
    view(expected).copy_(view(host))
    same(there, expected)


def test_broadcasts_conjugates_and_layouts():
    there = torch.zeros(3, 4, device=B)
    there.copy_(torch.arange(4.0).to(A))
    same(there, torch.arange(4.0).expand(3, 4).clone())
    z = torch.tensor([1 + 2j, 3 - 1j])
    same(z.to(A).conj().to(B), z.conj().resolve_conj())
    same(torch.view_as_real(z.to(A).conj().to(B).resolve_conj()), torch.view_as_real(z.conj().resolve_conj()))
    images = torch.arange(48.0).reshape(2, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    assert images.to(A).to(B).stride() == images.stride()
    same(images.to(A).to(B), images)
    sticks = torch.spyre.SpyreTensorLayout(torch.Size([4, 64]), torch.float16)
    host = values(torch.float16, 4, 64)
    tiled = torch.empty(4, 64, dtype=torch.float16, device=A, device_layout=sticks).copy_(host)
    same(tiled.to(B), host)
    same(torch.empty(4, 64, dtype=torch.float16, device=B, device_layout=sticks).copy_(host.to(A)), host)
    same(torch.empty(4, 64, dtype=torch.float16, device=B, device_layout=sticks).copy_(tiled), host)
    with pytest.raises(RuntimeError, match="size of tensor"):
        there.copy_(torch.ones(5, device=A))


def test_a_copy_is_a_copy():
    x = torch.ones(3, device=A)
    y = x.to(B)
    x += 1
    y *= 5
    assert (x.tolist(), y.tolist()) == ([2] * 3, [5] * 3)
    assert x.to(A) is x
    assert x.to(A, copy=True) is not x


def test_copies_wait_for_nothing_and_are_counted():
    torch.spyre.synchronize(0)
    torch.spyre.reset_stats()
    x = torch.rand(256, device=A)
    y = (x * 2).to(B, non_blocking=True) + 1
    assert torch.spyre.stats(0)["flushes"]["device_to_device"] == 1
    assert sum(torch.spyre.stats(1)["flushes"].values()) == 0
    assert torch.spyre.stats(0)["bytes_to_peers"] == torch.spyre.stats(1)["bytes_from_peers"] == 1024
    assert torch.spyre.stats(0)["bytes_d2h"] == torch.spyre.stats(1)["bytes_h2d"] == 0
    assert_close(y.cpu(), x.cpu() * 2 + 1, rtol=0, atol=0)


def test_both_ways_at_once_from_many_threads():
    failures = []

    def bounce(seed: int) -> None:
        try:
            here, there = (A, B) if seed % 2 else (B, A)
            x = torch.full((33,), float(seed), device=here)
            for _ in range(30):
                x = (x + 1).to(there)
                here, there = there, here
            assert x.tolist() == [seed + 30.0] * 33
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=bounce, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert not any(thread.is_alive() for thread in threads)
    assert not failures


def test_a_fault_surfaces_at_the_consumer_once():
    table, bad = torch.ones(5, 3, device=A), torch.tensor([7], device=A)
    copied = table.index_select(0, bad).to(B)
    with pytest.raises(IndexError, match="index_select"):
        copied.cpu()
    torch.spyre.synchronize(0)
    torch.spyre.synchronize(1)
    with pytest.raises(RuntimeError, match="never computed"):
        copied.cpu()
    assert (table.to(B) + 1).sum().item() == 30


def what_is_told(call) -> str:
    """The beginning of a call's error, which names two cards."""
    try:
        return f"none, and a result {call()!r}"
    except RuntimeError as error:
        return re.split(r", spyre:[01] and spyre:[01]!", str(error))[0]


def test_a_copy_that_is_made_to_fail():
    x = torch.arange(900.0, device="spyre:0")
    torch.spyre.synchronize("spyre:0")
    with torch.spyre.inject_faults("spyre:0", peer_copy=0):
        y = x.to("spyre:1")
        with pytest.raises(RuntimeError, match="injected fault"):
            y.cpu()
    with pytest.raises(RuntimeError):
        (y + 1).cpu()
    for device in ("spyre:0", "spyre:1"):
        with contextlib.suppress(RuntimeError):  # whoever has not been told yet
            torch.spyre.synchronize(device)
    assert x.to("spyre:1").cpu().equal(torch.arange(900.0))


def test_operands_of_two_cards_are_refused():
    x, y = torch.ones(2, 2, device=A), torch.ones(2, 2, device=B)
    told = "Expected all tensors to be on the same device, but found at least two devices"
    ids, other_ids = torch.zeros(2, dtype=torch.int64, device=A), torch.zeros(2, dtype=torch.int64, device=B)
    f = torch.nn.functional
    calls = [
        lambda: x + y, lambda: x.add_(y), lambda: torch.where(x > 0, x, y), lambda: torch.cat([x, y]),
        lambda: torch.stack([x, y]), lambda: x @ y, lambda: torch.addmm(x, x, y), lambda: torch.einsum("ij,jk", x, y),
        lambda: torch.baddbmm(x[None], x[None], y[None]), lambda: f.linear(x, y), lambda: f.mse_loss(x, y),
        lambda: f.layer_norm(x, (2,), y[0]), lambda: f.embedding(other_ids, x), lambda: x.gather(0, other_ids[None]),
        lambda: x.index_select(0, other_ids), lambda: x.scatter_add(0, other_ids[None], x),
        lambda: f.conv1d(x[None], y[None, :, :1].expand(2, 2, 1)), lambda: torch.add(x, x, out=y),
        lambda: torch.mm(x, x, out=y), lambda: torch.sum(x, 0, out=y[0]), lambda: torch._foreach_add([x], [y]),
        lambda: torch.lerp(x, x, y), lambda: torch.cdist(x, y), lambda: torch.searchsorted(x[0], y[0]),
        lambda: f.nll_loss(x, other_ids), lambda: f.cross_entropy(x, other_ids), lambda: x.masked_fill(y > 0, 1.0),
        lambda: torch.cat([x, x], out=y), lambda: torch.bernoulli(x, out=y), lambda: torch.softmax(x, 0, out=y),
        lambda: torch.normal(x, y), lambda: f.batch_norm(x, y[0], y[1]), lambda: torch.complex(x, y),
        lambda: x.index_add(0, other_ids, x), lambda: torch.bucketize(x, y[0]), lambda: torch.dot(x[0], y[0]),
        lambda: torch.outer(x[0], y[0]),
    ]  # fmt: skip
    assert {number: what_is_told(call) for number, call in enumerate(calls)} == dict.fromkeys(range(len(calls)), told)
    assert (x + torch.tensor(2.0)).tolist() == [[3, 3], [3, 3]]
    assert (torch.tensor(2.0) * y).tolist() == [[2, 2], [2, 2]]
    assert x[ids].device == torch.device(A)
    torch.spyre.synchronize(0)
    torch.spyre.synchronize(1)


def test_saved_pickled_and_copied_tensors_keep_their_card(tmp_path):
    x = torch.arange(6.0, device=B).reshape(2, 3)
    for again in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert again.device == x.device
        same(again, x.cpu())
    torch.save({"x": x, "view": x[1]}, tmp_path / "file")
    assert torch.load(tmp_path / "file")["x"].device == torch.device(B)
    loaded = torch.load(tmp_path / "file", map_location="spyre:2")
    assert loaded["view"].device == torch.device("spyre:2")
    same(loaded["view"], x[1].cpu())
    assert torch.load(tmp_path / "file", map_location={B: A})["x"].device == torch.device(A)
    buffer = io.BytesIO()
    torch.save(x.cpu(), buffer)
    buffer.seek(0)
    same(torch.load(buffer, map_location=B), x.cpu())
    assert f"device='{B}'" in repr(x)


def test_pinned_memory_and_storages():
    host = torch.arange(100.0).pin_memory()
    x = host.to(B, non_blocking=True)
    back = torch.empty(100).pin_memory()
    back.copy_(x + 1, non_blocking=True)
    torch.spyre.synchronize(1)
    assert torch.equal(back, host + 1)
    y = torch.arange(4.0, device=B)
    y.resize_(16)
    same(y[:4], torch.arange(4.0))
    assert y.untyped_storage().device == torch.device(B)
    z = torch.empty(0, device=A)
    z.set_(torch.ones(3, device=A))
    with pytest.raises(RuntimeError, match="device"):
        z.set_(y)


def test_chains_over_three_cards_give_the_bits_of_one():
    host = torch.rand(64, 64)

    def steps(devices):
        x = host.to(devices[0])
        for i, device in enumerate(devices):
            x = torch.softmax(x.to(device) @ x.to(device).t() * (i + 1), -1)
        return x.cpu()

    same(steps([A, B, "spyre:2"] * 4), steps([A] * 12))
