"""repr of any tensor is CPU's, with the device named."""

from __future__ import annotations

import pytest
import torch

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


def test_format_and_gradients():
    x = torch.tensor(1.25, device="spyre", requires_grad=True)
    assert f"{x.detach():.1f}" == "1.2"
    assert "requires_grad=True" in repr(x)
    assert "grad_fn" in repr(x * 2)
    assert str(torch.nn.Parameter(torch.ones(2, device="spyre"))).startswith("Parameter containing")
