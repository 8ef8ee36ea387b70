"""python -m tests.fuzz.soak --minutes 60: random programs for so long, each in every way; what fails is shrunk.

Every so many programs, malformed calls in processes of their own; at the end, what the process holds.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import torch

from tests.models.soak import held

from . import malformed
from .generate import KINDS, Instruction
from .more_actions import EXACT, INEXACT
from .test_random_programs import run, same

Program = list[Instruction]
PROGRAMS_A_ROUND = 200
OPERATORS_A_ROUND = 60


def a_program(random: Random, kinds: list[str]) -> Program:
    return [
        Instruction(random.choice(kinds), *(random.randrange(61) for _ in range(3)))
        for _ in range(random.randint(5, 40))
    ]


def differs(found: list, expected: list) -> bool:
    return len(found) != len(expected) or not all(map(same, found, expected))


def on_cpu(program: Program) -> bool:
    return differs(run("spyre", program), run("cpu", program))


def on_streams(program: Program) -> bool:
    return differs(run("spyre", program, streams=3), run("cpu", program))


def beside_others(program: Program) -> bool:
    with ThreadPoolExecutor(3) as threads:
        results = list(threads.map(lambda streams: run("spyre", program, streams), (0, 1, 2)))
    return any(differs(found, run("cpu", program)) for found in results)


def in_way(**way: str) -> Callable[[Program], bool]:
    def check(program: Program) -> bool:
        with torch.spyre.config(**way):
            other = run("spyre", program)
        return differs(run("spyre", program), other)

    return check


EXACT_KINDS, ALL_KINDS = [*KINDS, *EXACT], [*KINDS, *EXACT, *INEXACT]
CHECKS: dict[str, tuple[Callable[[Program], bool], list[str]]] = {
    "as on cpu": (on_cpu, EXACT_KINDS),
    "on three streams": (on_streams, EXACT_KINDS),
    "in three threads": (beside_others, EXACT_KINDS),
    "operation by operation": (in_way(mode="eager"), ALL_KINDS),
    "interpreted": (in_way(exec="scalar"), ALL_KINDS),
}


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Without the instructions that it fails without."""
    position = 0
    while position < len(program):
        shorter = program[:position] + program[position + 1 :]
        if fails(shorter):
            program = shorter
        else:
            position += 1
    return program


def programs(random: Random, tally: Counter[str]) -> Iterator[str]:
    for _, (name, (fails, kinds)) in zip(range(PROGRAMS_A_ROUND), itertools.cycle(CHECKS.items()), strict=False):
        program = a_program(random, kinds)
        tally[name] += 1
        if fails(program):
            yield f"{name}: {shrunk(program, fails)}"


def malformed_calls(random: Random, tally: Counter[str]) -> Iterator[str]:
    names, seed = random.sample(malformed.operators(), OPERATORS_A_ROUND), random.randrange(1000, 1_000_000)
    tally["malformed calls"] += 4 * len(names)
    yield from map(str, malformed.failures(names, range(seed, seed + 4)))


def soak(minutes: float, seed: int) -> int:
    end, tally, failures = time.monotonic() + 60 * minutes, Counter[str](), 0
    for number in itertools.count(seed):
        random = Random(number)
        for failure in itertools.chain(programs(random, tally), malformed_calls(random, tally)):
            failures += 1
            print(f"seed {number}: {failure}", flush=True)
        print(f"round {number}: {dict(tally)}, {failures} failures, holds {held()}", flush=True)
        if time.monotonic() > end:
            return failures
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    return 1 if soak(options.minutes, options.seed) else 0


if __name__ == "__main__":
    sys.exit(main())
