"""One function compiled: what each step makes of it. Run with SPYRE_DUMP=folder to keep the dumps."""

import torch


def scores(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A row's sum of what a product leaves above zero."""
    return (x @ weight.t() / 8 + 1).relu().sum(-1)


if __name__ == "__main__":
    x, weight = torch.randn(256, 64, device="spyre"), torch.randn(128, 64, device="spyre")
    compiled = torch.compile(scores)
    same = torch.equal(compiled(x, weight).cpu(), scores(x, weight).cpu())
    print(f"compiled and eager: {'the same bits' if same else 'different'}")
