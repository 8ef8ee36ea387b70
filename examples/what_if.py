"""One run of a small network, priced on five cards: what would other bandwidth, cores or links have changed?

python examples/what_if.py
"""

from __future__ import annotations

import torch


def main() -> None:
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))
    network = network.to("spyre")
    x = torch.randn(256, 1024, device="spyre")
    with torch.no_grad(), torch.spyre.timeline():
        network(x).softmax(-1).cpu()

    print(torch.spyre.report())
    print()
    cards = {
        "as it is": {},
        "4 cores": {"cores": 4},
        "half the memory bandwidth": {"memory_gb_per_s": 75},
        "twice the memory bandwidth": {"memory_gb_per_s": 300},
        "what the data sheet says": {"profile": "datasheet"},
    }
    for name, fields in cards.items():
        print(f"{name:28}{torch.spyre.what_if(**fields)['modelled_us']:10.1f} us")


if __name__ == "__main__":
    main()
