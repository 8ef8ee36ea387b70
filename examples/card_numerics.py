"""How much accuracy a layer loses in the card's number formats."""

from __future__ import annotations

import copy

import torch


def main() -> None:
    """Prints the relative error of one transformer layer against float64, by number format."""
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    inputs = torch.randn(2, 16, 64)
    with torch.no_grad():
        exact = copy.deepcopy(layer).double()(inputs.double())

        def error(dtype: torch.dtype, numerics: str) -> float:
            with torch.spyre.config(numerics=numerics):
                found = copy.deepcopy(layer).to("spyre", dtype)(inputs.to("spyre", dtype)).cpu().double()
            return float((found - exact).norm() / exact.norm())

        for dtype in (torch.float32, torch.float16, torch.bfloat16):
            name = str(dtype).removeprefix("torch.")
            print(f"{name:9} as it says {error(dtype, 'ieee'):.1e}   on the card {error(dtype, 'card'):.1e}")
    with torch.spyre.config(numerics="card"):
        values = torch.tensor([0.5903, 65504.0, 1e-7], dtype=torch.float16)
        print(f"{values.tolist()} come back as {values.to('spyre').cpu().tolist()}")


if __name__ == "__main__":
    main()
