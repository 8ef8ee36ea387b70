"""Copies up, down and across, of any view and pair of types, give what CPU gives."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch.testing import assert_close

pytestmark = [
    pytest.mark.filterwarnings("ignore:ComplexHalf support"),
    pytest.mark.filterwarnings("ignore:Casting complex values"),
]

TYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16,
    torch.float32, torch.float64,
]  # fmt: skip
OTHER_TYPES = [
    torch.complex64, torch.complex128, torch.complex32, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn,
    torch.float8_e5m2,
]  # fmt: skip

VIEWS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "permuted": lambda x: x.permute(1, 2, 0),
    "row": lambda x: x[1],
    "column": lambda x: x[:, :, 2],
    "offset": lambda x: x[1:, 1:, 1:],
    "strided": lambda x: x[::2, :, ::3],
    "expanded": lambda x: x[:, :1].expand(-1, 5, -1),
    "scalar": lambda x: x[1, 2, 3],
    "empty": lambda x: x[:, :0],
    "diagonal": lambda x: x.diagonal(dim1=0, dim2=2),
    "one": lambda x: x[1:2, 2:3, 3:4],
}


def sample(dtype: torch.dtype = torch.float32, shape=(3, 4, 6)) -> torch.Tensor:
    numbers = torch.arange(1, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape) % 50
    return numbers.to(torch.complex128).mul(1 - 0.5j).to(dtype) if dtype.is_complex else numbers.to(dtype)


@pytest.mark.parametrize("dtype", TYPES + OTHER_TYPES, ids=str)
def test_round_trip_keeps_every_bit(dtype):
    x = sample(dtype)
    back = x.to("spyre").cpu()
    assert back.dtype == dtype
    assert back.view(torch.uint8).equal(x.view(torch.uint8))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.complex64, torch.complex128], ids=str)
def test_views_come_down_right(view, dtype):
    x = sample(dtype)
    assert_close(VIEWS[view](x.to("spyre")).cpu(), VIEWS[view](x), rtol=0, atol=0)


@pytest.mark.parametrize("view", VIEWS)
def test_views_go_up_right(view):
    x = sample()
    up = VIEWS[view](x).to("spyre")
    assert up.shape == VIEWS[view](x).shape
    assert_close(up.cpu(), VIEWS[view](x), rtol=0, atol=0)


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "expanded"])
@pytest.mark.parametrize("source", ["cpu", "spyre"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
def test_writing_into_a_view_changes_that_view_only(view, source, dtype):
    expected, base = torch.zeros(3, 4, 6, dtype=dtype), torch.zeros(3, 4, 6, dtype=dtype, device="spyre")
    target = VIEWS[view](expected)
    values = sample(dtype, target.shape)
    target.copy_(values)
    VIEWS[view](base).copy_(values.to(source))
    assert_close(base.cpu(), expected, rtol=0, atol=0)


@pytest.mark.parametrize("pair", list(itertools.product(TYPES, TYPES)), ids=lambda p: f"{p[0]}-{p[1]}")
def test_conversions_are_those_of_cpu(pair):
    source, target = pair
    x = sample(source)
    assert_close(x.to("spyre").to(target).cpu(), x.to(target), rtol=0, atol=0)
    assert_close(x.to("spyre", target).cpu(), x.to(target), rtol=0, atol=0)
    assert_close(x.to("spyre").to("cpu", target), x.to(target), rtol=0, atol=0)


@pytest.mark.parametrize("other", [torch.complex64, torch.complex128, torch.uint16], ids=str)
def test_conversions_of_types_without_a_native_form(other):
    x = sample(torch.float32)
    assert_close(x.to("spyre").to(other).cpu(), x.to(other), rtol=0, atol=0)
    assert_close(x.to(other).to("spyre").to(torch.float32).cpu(), x, rtol=0, atol=0)


@pytest.mark.parametrize("direction", ["up", "down", "across"])
@pytest.mark.parametrize("target_type", [torch.complex64, torch.complex128], ids=str)
def test_conjugate_and_negative_bits_are_honoured(direction, target_type):
    x = sample(torch.complex64)
    source, target = {"up": ("cpu", "spyre"), "down": ("spyre", "cpu"), "across": ("spyre", "spyre")}[direction]
    for view in (torch.conj, lambda t: t.conj().imag, torch._neg_view):
        into = torch.empty(x.shape, dtype=target_type, device=target)
        into.copy_(view(x.to(source)))
        assert_close(into.cpu(), view(x).to(target_type), rtol=0, atol=0)
        into = torch.empty(x.shape, dtype=target_type, device=target)
        into.conj().copy_(view(x.to(source)))
        assert_close(into.cpu(), view(x).to(target_type).conj().resolve_conj(), rtol=0, atol=0)


def test_broadcast_and_its_errors():
    x = torch.zeros(2, 3, device="spyre")
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    assert x.tolist() == [[1, 2, 3]] * 2
    x.copy_(torch.tensor([[4.0], [5.0]], device="spyre"))
    assert x.tolist() == [[4] * 3, [5] * 3]
    for bad in (torch.ones(4), torch.ones(4, device="spyre"), torch.ones(5, 2, 3)):
        with pytest.raises(RuntimeError, match=r"must match|doesn't match"):
            x.copy_(bad)


@pytest.mark.parametrize("device", ["cpu", "spyre"])
def test_overlapping_moves_are_refused(device):
    line, square = torch.arange(20.0, device=device), torch.arange(9.0, device=device).view(3, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        line[1:] = line[:-1]
    with pytest.raises(RuntimeError, match="single memory location"):
        square.copy_(square.T)
    square.copy_(square)
    line[:10] = line[10:]
    assert line.tolist() == [*range(10, 20)] * 2


def test_writing_to_an_expanded_tensor_raises():
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.ones(1, device="spyre").expand(3).copy_(torch.ones(3))


def test_channels_last_keeps_its_strides():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    up = x.to("spyre")
    assert up.stride() == x.stride()
    assert_close(up.cpu(), x, rtol=0, atol=0)
    assert up.contiguous().stride() == (60, 20, 5, 1)
    assert_close(up.contiguous().cpu(), x, rtol=0, atol=0)
    assert up.clone().stride() == x.stride()


def test_pinned_memory_moves_without_waiting():
    host = torch.arange(1000.0).pin_memory()
    assert host.is_pinned()
    assert not torch.ones(3).is_pinned()
    up = host.to("spyre", non_blocking=True)
    doubled = up * 2
    down = torch.empty(1000, pin_memory=True)
    down.copy_(doubled, non_blocking=True)
    torch.spyre.synchronize()
    assert_close(down, torch.arange(1000.0) * 2, rtol=0, atol=0)


def test_pinned_blocks_are_used_again():
    """By requests of about their size, with what was in them: no page is taken anew."""
    host = torch.full((20_000_000,), 7.0).pin_memory()
    address = host.data_ptr()
    del host
    again = torch.empty(19_000_000, pin_memory=True)
    assert again.data_ptr() == address
    assert again[-1].item() == 7
    assert torch.empty(19_000_000, pin_memory=True).data_ptr() != address


def test_a_pinned_source_may_die_before_its_copy_is_done():
    copies = [torch.full((10000,), float(i)).pin_memory().to("spyre", non_blocking=True) for i in range(50)]
    for i, copy in enumerate(copies):
        assert copy.cpu().eq(i).all()


def test_a_pageable_source_may_be_reused_at_once():
    host = torch.zeros(4096)
    ups = []
    for i in range(20):
        host.fill_(i)
        ups.append(host.to("spyre", non_blocking=True))
    assert [up[17].item() for up in ups] == list(range(20))


def test_pinned_batches_from_a_data_loader():
    data = torch.utils.data.TensorDataset(torch.arange(32.0).view(16, 2))
    batches = list(torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True))
    assert all(batch[0].is_pinned() for batch in batches)
    assert torch.cat([batch[0].to("spyre", non_blocking=True) for batch in batches]).cpu().equal(data.tensors[0])


def test_scalars_of_every_type():
    for dtype in TYPES + OTHER_TYPES:
        assert torch.tensor(1, dtype=torch.float32).to(dtype).to("spyre").item() == 1
    assert bool(torch.tensor(True, device="spyre"))
    assert torch.tensor(3 + 4j, device="spyre").conj().item() == 3 - 4j


def test_many_dimensions_take_the_host_path():
    x = torch.arange(2.0**14).view([2] * 14)
    y = x.to("spyre").permute(*reversed(range(14)))
    assert y.contiguous().cpu().equal(x.permute(*reversed(range(14))))


def test_copying_a_view_onto_itself_does_nothing() -> None:
    x = torch.arange(12.0).view(3, 4).to("spyre")
    x.expand(2, 3, 4).copy_(x.expand(2, 3, 4))  # the elements overlap, which CPU allows here alone
    assert torch.equal(x.cpu(), torch.arange(12.0).view(3, 4))
