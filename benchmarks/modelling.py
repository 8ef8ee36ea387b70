"""What modelling the card's time costs: the same programs with SPYRE_CLOCK=virtual, the default, and off.

`python -m benchmarks.modelling` prints, for each program, by how much modelling makes it longer. Processes of both
kinds take turns, and each pair gives one ratio; the middle one counts.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

PROGRAMS = {
    "a training step": """
model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8)).to("spyre")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(32, 64).to("spyre")
def step():
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
""",
    "an operator that is waited for": """
x = torch.randn(64).to("spyre")
def step():
    (x + 1).sum().item()
""",
    "a copy each way": """
x = torch.randn(1024)
def step():
    (x.to("spyre") * 2).cpu()
""",
}

MEASURE = """
import statistics, time, torch
{program}
def many():
    begin = time.perf_counter()
    for _ in range({steps}):
        step()
    torch.spyre.synchronize()
    return (time.perf_counter() - begin) / {steps}
for _ in range(5):
    many()
print(statistics.median(many() for _ in range({rounds})))
"""


def seconds(program: str, clock: str, steps: int = 50, rounds: int = 21) -> float:
    """One step's time in a process of its own."""
    code = MEASURE.format(program=program, steps=steps, rounds=rounds)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "SPYRE_CLOCK": clock},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    """Prints a line for each program."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.modelling", description=__doc__)
    parser.add_argument("--pairs", type=int, default=5, help="processes of each kind (5)")
    parser.add_argument("--only", default="", help="programs whose names have this in them")
    given = parser.parse_args()
    for name, program in PROGRAMS.items():
        if given.only not in name:
            continue
        pairs = [(seconds(program, "virtual"), seconds(program, "off")) for _ in range(given.pairs)]
        cost = statistics.median(on / off - 1 for on, off in pairs)
        middle = statistics.median(on for on, _ in pairs)
        print(f"{name:32} {middle * 1e6:8.1f} us, of which modelling {100 * cost:+5.1f} %")


if __name__ == "__main__":
    main()
