"""The demonstrations, on a part of their input, as `make demo` runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def run_example(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"examples/{name}.py", *arguments]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.parametrize(
    ("name", "arguments", "promise"),
    [
        ("semantic_search", ("--texts", "200"), "answers                           as on CPU"),
        ("train_digits", (), "test accuracy"),
    ],
)
def test_example_keeps_its_promise(name, arguments, promise):
    done = run_example(name, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in (promise, "dispatches recorded", "plan cache hits", "modelled time on the card"):
        assert expected in done.stdout
    timeline = json.loads((ROOT / "build" / f"{name}.trace.json").read_text())
    assert len(timeline["traceEvents"]) > 100


def test_what_if_prices_one_run_on_several_cards():
    done = run_example("what_if")
    assert done.returncode == 0, done.stdout + done.stderr
    times = [float(line.split()[-2]) for line in done.stdout.splitlines() if line.endswith(" us")]
    assert len(times) == 5
    assert times[1] > times[0] > times[3]


def test_two_streams_overlap_what_one_does_in_turn():
    done = run_example("streams")
    assert done.returncode == 0, done.stdout + done.stderr
    times = {line[:12].strip(): float(line.split()[2]) for line in done.stdout.splitlines() if "modelled" in line}
    assert times["two streams"] < 0.9 * times["one stream"]
    assert "the same results: True" in done.stdout


def test_layouts_give_the_same_bits():
    done = run_example("layouts")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("product has the same bits: True") == 2


def test_card_numerics_cost_half_a_digit():
    done = run_example("card_numerics")
    assert done.returncode == 0, done.stdout + done.stderr
    errors = {line.split()[0]: [float(word) for word in line.split() if "e-" in word]
              for line in done.stdout.splitlines() if "on the card" in line}  # fmt: skip
    assert errors["float16"][1] > 1.2 * errors["float16"][0]
    assert errors["float32"][1] == errors["float32"][0]


def test_two_cards_train_as_one():
    done = run_example("two_cards")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the same bits as on one card" in done.stdout
    assert "40 copies between the cards" in done.stdout  # a step has two: activations there, gradients back


def test_costs_of_a_compiled_call_are_told():
    done = run_example("compiled_call")
    assert done.returncode == 0, done.stdout + done.stderr
    _, *rows, _, beside_cpu = done.stdout.splitlines()
    assert [row.split()[0] for row in rows] == ["eager", "compiled", "reduce-overhead", "replayed,", "compiled,"]
    assert "on 8 elements, compiled: CPU" in beside_cpu


def test_replayed_steps_have_the_bits_of_recorded_ones():
    done = run_example("graph_replay")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "300 losses: the same bits" in done.stdout


def test_first_calls_are_compared():
    done = run_example("first_call")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = done.stdout.splitlines()[1:]
    assert len(rows) == 3
    for line in rows:
        ratio, own, _ = map(float, line.split()[-3:])
        assert ratio <= 0.25
        assert own <= 0.05
