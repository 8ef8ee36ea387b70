"""Memory seen from several sides: views, sharing, `.data`, set_, resize_, overlap, strided destinations."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from .same import numbers, same


def line(n: int, device: str) -> torch.Tensor:
    return torch.arange(float(n), device=device)


def overlapping_moves(device):
    x, y = line(8, device), line(8, device)
    x[1:] = x[:-1].clone()
    y[:4] = y[4:]
    y[4:] += y[:4]
    return x, y


def shifted_onto_itself(device):
    x = line(8, device)
    x[1:] = x[:-1]
    return x


def views_of_views(device):
    x = line(24, device)
    y = x.view(2, 3, 4).transpose(0, 2)[1:, :, 0].unsqueeze(1).squeeze()
    y.mul_(10)
    x[5:20:3].neg_()
    z = x.as_strided((3, 3), (7, 2), 1)
    z.add_(z.t().clone())
    return x, y, z, y.storage_offset(), y.stride(), z._base is x


def expanded_destination(device):
    torch.zeros(1, 3, device=device).expand(2, 3).copy_(torch.ones(2, 3, device=device))


def diagonal_and_unfold_destinations(device):
    x = torch.zeros(4, 4, device=device)
    x.diagonal(1).copy_(line(3, device))
    x.unfold(0, 2, 2)[:, :, 0].add_(1)
    torch.diagonal(x).fill_(7)
    return x


def views_of_other_types(device):
    x = numbers(4, 4, device=device)
    bits = x.view(torch.int32)
    bits[0] = 0
    half = x.view(torch.float16)
    half[1, 0] = 1
    raw = x.untyped_storage()
    return x, bits, half.shape, raw.nbytes(), raw.device.type == device


def complex_views(device):
    z = torch.view_as_complex(numbers(3, 2, device=device))
    z.real.mul_(2)
    z.imag[1] = 5
    w = z.conj()
    w.imag.add_(1)
    return z, w.resolve_conj(), torch.view_as_real(z), w.is_conj(), (z.conj().imag).is_neg()


def data_swaps(device):
    x = torch.nn.Parameter(line(3, device))
    kept = x.data
    view = kept[1:]
    x.data = line(3, device) * 10
    kept.add_(1)
    x.data[0] = -1
    with torch.no_grad():
        x[1:].zero_()
    return x, kept, view


def data_of_another_shape_and_type(device):
    x = torch.nn.Parameter(line(3, device))
    (x * 2).sum().backward()
    x.grad = None
    x.data = torch.ones(2, 2, dtype=torch.float64, device=device)
    (x * 2).sum().backward()
    return x, x.grad


def swapped_parameters(device):
    a, b = torch.nn.Linear(3, 3).to(device), torch.nn.Linear(3, 3).to(device)
    first = a.weight.detach().clone()
    torch.utils.swap_tensors(a.weight, b.weight)
    return bool(torch.equal(b.weight, first))


def set_and_resize(device):
    x, y = line(6, device), line(10, device)
    x.set_(y)
    x.add_(1)
    z = torch.empty(0, device=device)
    z.set_(y.untyped_storage(), 2, (2, 3), (3, 1))
    z.mul_(2)
    y.resize_(3, 2)
    w = y[0]
    y.resize_(2, 7)
    y.flatten()[6:].zero_()
    return x[:10], z, w, y.shape, y.flatten()[:6], x.set_().shape


def storages_resized(device):
    x = line(4, device)
    view = x[:2]
    x.untyped_storage().resize_(32)
    x.set_(x.untyped_storage(), 0, (8,), (1,))
    x[4:].fill_(9)
    empty = line(4, device)
    empty.untyped_storage().resize_(0)
    size = empty.untyped_storage().size()
    empty.untyped_storage().resize_(16)
    empty.copy_(line(4, device))
    return x, view, size, empty


def storage_beyond_its_end(device):
    torch.empty(0, device=device).set_(line(4, device).untyped_storage(), 0, (100,), (1,))[50].item()


def a_strided_view_beyond_the_end(device):
    line(4, device).as_strided((5,), (2,), 0)


def views_survive_their_base(device):
    views = []
    for i in range(5):
        base = line(10, device) * i
        views.append(base[i:])
        base.add_(100)
        del base
    return views


def dead_views_have_effects(device):
    x = line(6, device)
    x[1:3].mul_(10)
    y = x.view(2, 3)
    y[1].zero_()
    del y
    z = x * 1
    z[0] = 5
    w = z + 1
    del z
    return x, w


def outputs_that_are_inputs(device):
    x = line(5, device)
    torch.add(x, x, out=x)
    torch.mul(x, 2, out=x)
    torch.neg(x, out=x)
    y = line(9, device).view(3, 3)
    torch.add(y, y.t().clone(), out=y)
    values, places = torch.empty(0, device=device), torch.empty(0, dtype=torch.int64, device=device)
    torch.sort(x, out=(values, places))
    torch.cumsum(x, 0, out=x)
    return x, y, values, places


def an_output_that_is_its_transposed_input(device):
    y = line(9, device).view(3, 3)
    torch.add(y, y.t(), out=y)
    return y


def an_output_partly_its_input(device):
    x = line(8, device)
    torch.add(x[:4], 1, out=x[2:6])


def in_place_operands_share(device):
    x = line(6, device).view(2, 3)
    x.add_(x[0].clone())
    x.mul_(x)
    y = line(4, device)
    y[:2].add_(y[2:])
    y.index_add_(0, torch.tensor([0, 0, 3], device=device), y[:3].clone())
    return x, y


def identities(device):
    x = line(4, device)
    y, z = x[:], x.detach()
    return (
        x.data_ptr() == y.data_ptr(),
        x.is_set_to(y),
        torch._C._is_alias_of(x, z),
        x.untyped_storage().data_ptr() == z.untyped_storage().data_ptr(),
        y._base is x,
        x.contiguous() is x,
        x.to(x.dtype) is x,
        x.expand(4).data_ptr() == x.data_ptr(),
    )


def copies_of_expanded_tensors(device):
    x = line(3, device)[:, None].expand(3, 4)
    y = x.clone()
    y[0, 0] = 9
    return y, y.stride(), x.contiguous().stride(), torch.empty_like(x).stride(), x.to(torch.float64).stride()


def memory_formats_of_size_one(device):
    """Where strides say nothing, numbers and other operands leave them as they are."""
    x = numbers(10, 3, 1, 1, device=device).to(memory_format=torch.channels_last)
    bias = numbers(3, 1, 1, device=device)
    return [t.stride() for t in (x * 5, x + bias, bias + x, -x, x.clamp(0, 1), x * torch.tensor(2.0))]


def grown_in_deterministic_mode(device):
    torch.use_deterministic_algorithms(True)
    try:
        x, y = line(4, device), torch.arange(3, device=device)
        return x.resize_(7), y.resize_(2, 2), x[:4].resize_(2)
    finally:
        torch.use_deterministic_algorithms(False)


def memory_formats(device):
    x = numbers(2, 3, 4, 5, device=device).to(memory_format=torch.channels_last)
    y = x * 2 + x.contiguous()
    return x.stride(), y.stride(), y, x.relu().is_contiguous(memory_format=torch.channels_last), x.clone().stride()


def sizes_at_the_edge(device):
    scalar, empty, one = torch.tensor(2.0, device=device), torch.zeros(3, 0, 2, device=device), line(1, device)
    seven = numbers(1, 2, 1, 2, 1, 2, 3, 1, device=device)
    return (
        scalar * one,
        scalar[None],
        (empty + scalar).shape,
        empty.sum(),
        empty.sum(1),
        empty.prod(),
        empty.view(2, 3, 0).shape,
        torch.cat([empty, empty], 2).shape,
        seven.permute(7, 5, 3, 1, 0, 2, 4, 6).exp().sum((0, 3)),
        seven.softmax(6),
        seven.cumsum(5),
        seven.flip((1, 3, 5)) + seven,
        (seven.transpose(1, 6) @ seven.transpose(1, 6).mT),
    )


def an_empty_maximum(device):
    return torch.zeros(3, 0, device=device).max()


def windows_are_filled(device):
    """Their elements overlap: what was copied from them before does not change."""
    x = torch.arange(24.0, device=device).view(6, 4)
    windows = x.unfold(0, 2, 1)
    kept = windows.clone()
    windows.fill_(1)
    return kept, windows * 2, x


PROGRAMS = [
    windows_are_filled,
    overlapping_moves,
    views_of_views,
    diagonal_and_unfold_destinations,
    views_of_other_types,
    complex_views,
    data_swaps,
    data_of_another_shape_and_type,
    swapped_parameters,
    set_and_resize,
    storages_resized,
    views_survive_their_base,
    dead_views_have_effects,
    outputs_that_are_inputs,
    in_place_operands_share,
    identities,
    copies_of_expanded_tensors,
    memory_formats,
    memory_formats_of_size_one,
    grown_in_deterministic_mode,
    sizes_at_the_edge,
]
REFUSED = [
    shifted_onto_itself,
    expanded_destination,
    a_strided_view_beyond_the_end,
    an_output_that_is_its_transposed_input,
    an_output_partly_its_input,
    an_empty_maximum,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("program", REFUSED)
def test_refusals(program):
    same(program, raises=True)


def test_tensors_die_when_nobody_holds_them():
    x = torch.ones(4, device="spyre")
    y = x * 2
    dead = weakref.ref(y)
    z = y + 1
    del y
    gc.collect()
    assert dead() is None
    assert z.tolist() == [3] * 4


def test_a_product_onto_its_operand():
    """CPU's result is not defined."""
    x = numbers(3, 3, device="spyre")
    expected = (x @ x).cpu()
    torch.mm(x, x, out=x)
    torch.testing.assert_close(x.cpu(), expected)
