"""Instructions of one small op from Python, by library: what recording costs, and what PyTorch and Python cost anyway.

Counts the same loop with few and with many ops under callgrind; the difference is what the ops cost. Repeatable on a
busy machine.

    python tools/recording_cost.py            # x + y on spyre
    python tools/recording_cost.py cpu meta   # on other devices: what they cost, and the floor
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

FEW, MANY = 2000, 6000

PROGRAM = """
import sys, torch
device, count = sys.argv[1], int(sys.argv[2])
x, y = torch.ones(8).to(device), torch.ones(8).to(device)
for _ in range(count):
    x + y
if device == "spyre":
    torch.spyre.synchronize()
"""

LINE = re.compile(r"^\s*([\d,]+) \([^)]*\)\s+.*?(?:\[(?P<object>[^\]]*)\])?$")


def instructions(device: str, count: int) -> Counter[str]:
    """Of the whole process, by library."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", sys.executable, "-c", PROGRAM]
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
    for device in parser.parse_args().devices:
        many = instructions(device, MANY)
        few = instructions(device, FEW)
        per_op = {name: (many[name] - few[name]) / (MANY - FEW) for name in many}
        print(f"{device}: {sum(per_op.values()):.0f} instructions an op")
        for name, count in sorted(per_op.items(), key=lambda item: -item[1]):
            if count >= 10:
                print(f"  {count:6.0f}  {name}")


if __name__ == "__main__":
    main()
