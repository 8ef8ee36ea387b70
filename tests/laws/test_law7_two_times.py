"""Law 7: modelled time is what the card would take; how long it took here never decides it."""

from __future__ import annotations

import json

PROGRAM = """
import json, os, sys, tempfile, torch
torch.manual_seed(0)
path = tempfile.mktemp()
torch.spyre.reset_stats()
with torch.spyre.timeline(path):
    x = torch.ones(300, 200).to("spyre")
    for step in range(5):
        x = torch.softmax(x * 1.1 + step, 1) @ torch.ones(200, 200, device="spyre")
        if step == 2:
            x.sum().item()
    x.cpu()
with open(path) as file:
    events = json.load(file)
os.unlink(path)
events = events["traceEvents"] if isinstance(events, dict) else events
modelled = {e["pid"] for e in events if e.get("name") == "process_name" and "modelled" in e["args"]["name"]}
rows = [e for e in events if e["pid"] in modelled]
print(json.dumps({"rows": rows, "modelled_ns": torch.spyre.stats()["modelled_ns"]}, sort_keys=True))
"""


def timeline(run_python, **environment: str) -> str:
    child = run_python(PROGRAM, **environment)
    assert child.returncode == 0, child.stderr
    return child.stdout


def test_the_modelled_timeline_is_the_same_on_any_host(run_python):
    reference = timeline(run_python)
    assert len(json.loads(reference)["rows"]) > 5
    assert json.loads(reference)["modelled_ns"] > 0
    for environment in ({}, {"SPYRE_THREADS": "1"}, {"SPYRE_THREADS": "7"}, {"SPYRE_EXEC": "scalar"}):
        assert timeline(run_python, **environment) == reference, environment


def test_planning_alone_models_the_same_time(run_python):
    assert timeline(run_python, SPYRE_EXEC="null") == timeline(run_python)


def test_another_card_takes_another_time(run_python):
    """So that the tests above can fail."""
    assert timeline(run_python, SENCORES="1") != timeline(run_python, SENCORES="32")
