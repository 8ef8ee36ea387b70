"""Every view operator shares its base's storage and shows what CPU shows, for reading and for writing."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

BASE = (4, 3, 6)

VIEWS = {
    "as_strided": lambda x: x.as_strided((2, 3), (5, 2), 1),
    "view": lambda x: x.view(12, 6),
    "view.minus_one": lambda x: x.view(-1, 2),
    "view.dtype": lambda x: x.view(torch.int32),
    "view.smaller_dtype": lambda x: x.view(torch.int16),
    "view_as": lambda x: x.view_as(torch.empty(3, 24)),
    "reshape": lambda x: x.reshape(3, 24),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 3)),
    "alias": torch.ops.aten.alias,
    "detach": lambda x: x.detach(),
    "select": lambda x: x.select(1, 2),
    "slice": lambda x: x[1:3, :, ::2],
    "narrow": lambda x: x.narrow(2, 1, 4),
    "permute": lambda x: x.permute(2, 0, 1),
    "transpose": lambda x: x.transpose(0, 1),
    "t": lambda x: x[0].t(),
    "mT": lambda x: x.mT,
    "movedim": lambda x: x.movedim(0, 2),
    "swapaxes": lambda x: x.swapaxes(0, 2),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "squeeze.all": lambda x: x[:1, :1].squeeze(),
    "expand": lambda x: x[:, :1].expand(4, 5, 6),
    "expand_as": lambda x: x[:1].expand_as(torch.empty(4, 3, 6)),
    "broadcast_to": lambda x: x[0].broadcast_to(2, 3, 6),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "unfold": lambda x: x.unfold(2, 3, 2),
    "split": lambda x: x.split(2)[1],
    "split_with_sizes": lambda x: x.split([1, 3])[1],
    "chunk": lambda x: x.chunk(3, 2)[1],
    "tensor_split": lambda x: x.tensor_split(3, 2)[2],
    "unbind": lambda x: x.unbind(1)[2],
    "hsplit": lambda x: x.hsplit(3)[1],
    "lift_fresh": torch.ops.aten.lift_fresh,
    "reshape_alias": lambda x: torch.ops.aten._reshape_alias(x, (12, 6), (6, 1)),
    "newaxis_and_ellipsis": lambda x: x[..., None, 1],
    "view_as_complex": lambda x: torch.view_as_complex(x.view(4, 3, 3, 2)),
    "real": lambda x: torch.view_as_complex(x.view(4, 3, 3, 2)).real,
    "imag": lambda x: torch.view_as_complex(x.view(4, 3, 3, 2)).imag,
    "conj_imag": lambda x: torch.view_as_complex(x.view(4, 3, 3, 2)).conj().imag,
    "view_as_real": lambda x: torch.view_as_real(torch.view_as_complex(x.view(4, 3, 3, 2))),
    "atleast_3d": lambda x: torch.atleast_3d(x[0]),
    "ravel": lambda x: x.ravel(),
    "positive": lambda x: x.positive(),
}  # fmt: skip
OVERLAPPING = {"expand", "expand_as", "broadcast_to", "unfold"}


@pytest.fixture
def base():
    return torch.arange(72.0).view(BASE)


@pytest.mark.parametrize("name", VIEWS)
def test_view_shares_storage_and_shows_the_same(name, base, stats):
    x = base.to("spyre")
    shown, expected = VIEWS[name](x), VIEWS[name](base)
    assert shown.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert shown.stride() == expected.stride()
    assert shown.storage_offset() == expected.storage_offset()
    assert_close(shown.cpu(), expected, rtol=0, atol=0)
    assert stats()["fallbacks"] == {}


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in OVERLAPPING])
def test_writing_through_a_view_reaches_the_base(name, base):
    x = base.to("spyre")
    VIEWS[name](x).fill_(7)
    VIEWS[name](base).fill_(7)
    assert_close(x.cpu(), base, rtol=0, atol=0)


def view_operators() -> list[str]:
    """aten operators whose results alias an argument that they do not write, other than sparse and nested ones."""
    found = []
    for schema in torch._C._jit_get_all_schemas():
        aliased = [value.alias_info for value in (*schema.arguments, *schema.returns) if value.alias_info is not None]
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if not name.startswith("aten::") or not aliased or any(alias.is_write for alias in aliased):
            continue
        if any(word in name for word in ("sparse", "nested", "aten::_values", "aten::_indices")):
            continue
        try:
            known = torch._C._dispatch_has_kernel(name)
        except RuntimeError:  # TorchScript's own operators
            continue
        if known:
            found.append(name)
    return found


HAVE_KERNELS = ("PrivateUse1", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


def test_view_operators_have_no_host_path():
    """A view that fell back to the host would be a copy."""
    torch.spyre.init()
    names = view_operators()
    assert len(names) > 50
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    assert [name for name in names if not any(has(name, key) for key in HAVE_KERNELS)] == []


def test_resize_grows_keeps_and_shrinks(base):
    x = base.to("spyre")
    x.resize_(2, 3)
    assert x.tolist() == base.flatten()[:6].view(2, 3).tolist()
    x.resize_(100)
    assert x[:72].cpu().equal(base.flatten())
    x.untyped_storage().resize_(8)
    assert x.untyped_storage().nbytes() == 8
    empty = torch.empty(0, device="spyre")
    empty.resize_(3).fill_(2)
    assert empty.tolist() == [2, 2, 2]


def test_set_points_at_another_storage(base):
    x, y = base.to("spyre"), torch.empty(0, device="spyre")
    y.set_(x)
    y[0, 0, 0] = 50
    assert x[0, 0, 0].item() == 50
    y.set_(x.untyped_storage(), 6, (2, 2), (6, 1))
    assert y.tolist() == base.flatten()[[6, 7, 12, 13]].view(2, 2).tolist()
    y.set_(x.untyped_storage())
    assert y.shape == (72,)
    y.set_()
    assert y.numel() == 0


def test_shared_parameters_stay_shared():
    module = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)])
    module[1].weight = module[0].weight
    module.to("spyre")
    assert module[0].weight is module[1].weight
    assert module[0].weight.is_spyre


def test_data_assignment_and_swap():
    x = torch.nn.Parameter(torch.ones(3, device="spyre"))
    x.data = torch.full((3,), 5.0, device="spyre")
    assert x.tolist() == [5, 5, 5]
    y = torch.ones(2)
    y.data = torch.zeros(2, device="spyre")
    assert y.is_spyre
