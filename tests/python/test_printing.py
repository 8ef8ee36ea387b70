"""repr of any tensor is CPU's, with the device named."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch_spyre.testing import counting

TENSORS = {
    "vector": torch.arange(5.0),
    "matrix": torch.tensor([[1.5, -2.0], [1e-6, 3e8]]),
    "integers": torch.arange(12).view(3, 4),
    "bools": torch.tensor([True, False]),
    "half": torch.tensor([0.1, 2.5], dtype=torch.float16),
    "bfloat": torch.tensor([0.1, 2.5], dtype=torch.bfloat16),
    "special": torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0]),
    "scalar": torch.tensor(3.25),
    "empty": torch.empty(0, 3),
    "complex": torch.tensor([1 + 2j, 3 - 4j]),
    "large": torch.arange(3000.0),
    "double": torch.rand(3, dtype=torch.float64),
    "nan_only": torch.full((2,), float("nan")),
}
VIEWS = {
    "itself": lambda x: x,
    "reversed": lambda x: x.flip(0) if x.dim() else x,
    "transposed": lambda x: x.t() if x.dim() == 2 else x,
    "expanded": lambda x: x.unsqueeze(0).expand(2, *x.shape),
    "conjugated": lambda x: x.conj(),
}


def without_device(text: str) -> str:
    return "".join(text.replace("device='spyre:0'", "").replace(",", "").split())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", TENSORS)
def test_repr_is_that_of_cpu(name, view):
    x = VIEWS[view](TENSORS[name])
    shown = repr(VIEWS[view](TENSORS[name].to("spyre")))
    assert "device='spyre:0'" in shown
    assert without_device(shown) == without_device(repr(x))


TYPES = (
    *(torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
    *(torch.bool, torch.complex64, torch.complex128, torch.complex32),
)
SHAPES = ((), (0,), (3,), (2, 3), (2, 2, 2), (1, 2, 1, 3), (1, 1, 1, 1, 1, 1, 1, 2), (2000,), (40, 30), (7, 2, 9, 10))
LOOKS = {
    "itself": lambda x: x,
    "transposed": lambda x: x.transpose(0, -1) if x.dim() else x,
    "every second": lambda x: x[..., ::2] if x.dim() else x,
    "expanded": lambda x: x.unsqueeze(0).expand(4, *x.shape),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_every_type_rank_and_view_in_one_flush(dtype):
    for shape, (look, view) in itertools.product(SHAPES, LOOKS.items()):
        x = (torch.arange(torch.Size(shape).numel()) % 100).reshape(shape).to(torch.float32).to(dtype)
        there = view(x.to("spyre").clone())  # still to be computed
        with counting() as counted:
            shown = repr(there)
        assert without_device(shown) == without_device(repr(view(x))), (shape, look)
        assert sum(counted["flushes"].values()) <= 1, (shape, look, counted["flushes"])


def test_options_of_printing_hold():
    x = torch.arange(5000.0).reshape(50, 100)
    for options in ({"edgeitems": 1}, {"threshold": 10_000}, {"threshold": 4, "edgeitems": 4}, {"edgeitems": 0}):
        with torch._tensor_str.printoptions(**options):
            assert without_device(repr(x.to("spyre"))) == without_device(repr(x)), options


def test_an_expanded_giant_is_printed():
    x = torch.full((1, 1), 3.0, device="spyre").expand(1 << 20, 1 << 20)
    assert "..." in repr(x)


def test_format_and_gradients():
    x = torch.tensor(1.25, device="spyre", requires_grad=True)
    assert f"{x.detach():.1f}" == "1.2"
    assert "requires_grad=True" in repr(x)
    assert "grad_fn" in repr(x * 2)
    assert str(torch.nn.Parameter(torch.ones(2, device="spyre"))).startswith("Parameter containing")
