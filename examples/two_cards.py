"""A model whose halves lie on two cards, trained there and on one card: the same losses, and what goes over."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("AIU_WORLD_SIZE", "2")  # before the device is first asked for

import torch
from torch import nn
from torch.nn.functional import cross_entropy

STEPS, BATCH = 20, 64


class Split(nn.Module):
    """A classifier in two halves, each on a device of its own."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = first, second
        self.front = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.LayerNorm(256)).to(first)
        self.back = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).to(second)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Activations go from card to card; autograd takes the gradients back."""
        return self.back(self.front(x.to(self.first)).to(self.second))


def train(first: str, second: str) -> list[float]:
    """The losses of a few steps. Nothing is read before the end, so nothing waits."""
    model = Split(first, second)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1)
    losses = []
    for _ in range(STEPS):
        images, labels = torch.rand(BATCH, 128), torch.randint(10, (BATCH,)).to(second)
        optimizer.zero_grad()
        loss = cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()


def main() -> None:
    """Prints the losses, what each card did, and what went from one to the other."""
    on_one = train("spyre:0", "spyre:0")
    torch.spyre.reset_stats()
    with torch.spyre.timeline("build/two_cards.trace.json" if Path("build").is_dir() else None) as events:
        on_two = train("spyre:0", "spyre:1")
    for index in range(2):
        did = torch.spyre.stats(index)
        busy = torch.spyre.report(device=index)["pipelines"]["COMPUTE"]["busy_us"]
        print(
            f"spyre:{index}  {did['kernel_launches']} kernels, {busy:.0f} us of modelled compute, "
            f"{did['bytes_to_peers'] / 1024:.0f} KiB sent, {did['bytes_from_peers'] / 1024:.0f} KiB received"
        )
    modelled = [event for event in events if event.get("args", {}).get("rule") == "device_to_device"]
    copies = [event["dur"] for event in modelled if event["name"] == "send"]
    print(f"{len(copies)} copies between the cards, {sum(copies) / len(copies):.1f} us each on the modelled link")
    same = on_one == on_two
    verdict = "the same bits as" if same else "other than"
    print(f"{STEPS} losses, {on_two[0]:.4f} to {on_two[-1]:.4f}: {verdict} on one card")
    assert same


if __name__ == "__main__":
    main()
