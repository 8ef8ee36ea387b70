"""A matrix kept in the card's sticks, by rows and by columns, used by unchanged PyTorch code."""

from __future__ import annotations

import torch
from torch_spyre.layouts import SpyreTensorLayout


def main() -> None:
    """Prints both layouts, and that a product does not mind."""
    weight = torch.randn(240, 512)
    activations = torch.randn(8, 512, device="spyre")
    expected = activations @ weight.to("spyre").T

    for order in [[0, 1], [1, 0]]:
        layout = SpyreTensorLayout(weight.size(), weight.stride(), weight.dtype, order)
        kept = weight.to("spyre", device_layout=layout)
        print(f"order {order}: {kept.device_tensor_layout()}")
        print(f"  {layout.nbytes} bytes, {layout.padding(weight.numel())} of them padding")
        torch.spyre.reset_stats()
        same = torch.equal(activations @ kept.T, expected)
        print(f"  product has the same bits: {same}; copies out of the sticks: {torch.spyre.stats()['relayouts']}")
        assert same
        assert torch.equal(kept.cpu(), weight)


if __name__ == "__main__":
    main()
