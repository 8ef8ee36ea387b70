"""Instructions of a small program from Python, by library: what recording costs, and what PyTorch and Python cost.

Counts the same loop with few and with many turns under callgrind; the difference is what the turns cost. Repeatable on
a busy machine.

    python tools/recording_cost.py                       # x + y on spyre
    python tools/recording_cost.py cpu meta              # on other devices: what they cost, and the floor
    python tools/recording_cost.py --of step spyre cpu   # a small training step, its flush and its run included
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A loop of sys.argv[2] turns on the device sys.argv[1]."""

    code: str
    few: int
    many: int


ADD = """
import sys, torch
device, count = sys.argv[1], int(sys.argv[2])
x, y = torch.ones(8).to(device), torch.ones(8).to(device)
for _ in range(count):
    x + y
if device == "spyre":
    torch.spyre.synchronize()
"""

# One thread: those of CPU's kernels would count their waiting.
STEP = """
import sys, torch
from torch.nn import functional as F
torch.set_num_threads(1)
device, count = sys.argv[1], int(sys.argv[2])
shapes = [(64, 32), (64,), (10, 64), (10,)]
weights = [torch.nn.Parameter(torch.full(s, 0.01).to(device)) for s in shapes]
x, labels = torch.ones(16, 32).to(device), torch.zeros(16, dtype=torch.int64).to(device)
optimizer = torch.optim.Adam(weights, foreach=False)
for _ in range(count):
    optimizer.zero_grad()
    hidden = F.relu(F.linear(x, *weights[:2]))
    F.cross_entropy(F.linear(hidden, *weights[2:]), labels).backward()
    optimizer.step()
    if device == "spyre":
        torch.spyre.synchronize()
"""

PROGRAMS = {"add": Program(ADD, 2000, 6000), "step": Program(STEP, 40, 120)}

LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+.*?(?:\[(?P<object>[^\]]*)\])?$")


def instructions(program: Program, device: str, count: int) -> Counter[str]:
    """Of the whole process, by library."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", program.code]
        subprocess.run([*command, device, str(count)], check=True, capture_output=True)
        listing = subprocess.run(
            ["callgrind_annotate", "--threshold=100", str(out)], check=True, capture_output=True, text=True
        ).stdout
    counts: Counter[str] = Counter()
    for line in listing.splitlines():
        found = LINE.match(line)
        if found and "PROGRAM TOTALS" not in line:
            name = Path(found["object"]).name if found["object"] else "elsewhere"
            counts[name.split(".")[0]] += int(found[1].replace(",", ""))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="*", default=["spyre"])
    parser.add_argument("--of", choices=sorted(PROGRAMS), default="add")
    arguments = parser.parse_args()
    program = PROGRAMS[arguments.of]
    for device in arguments.devices:
        many = instructions(program, device, program.many)
        few = instructions(program, device, program.few)
        per_turn = {name: (many[name] - few[name]) / (program.many - program.few) for name in many}
        print(f"{device}: {sum(per_turn.values()):.0f} instructions per {arguments.of}")
        for name, count in sorted(per_turn.items(), key=lambda item: -item[1]):
            if count >= 10:
                print(f"  {count:8.0f}  {name}")


if __name__ == "__main__":
    main()
