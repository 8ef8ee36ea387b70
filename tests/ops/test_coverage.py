"""The runner of the coverage page survives what it is there to find; the page leaves nothing unexplained."""

from __future__ import annotations

import sys

import pytest

from .coverage.__main__ import PAGE, all_tasks
from .coverage.page import page
from .coverage.record import Record, Task, append, read
from .coverage.workers import Pool

TASK = Task("add", "forward", "float32")
GOOD = '{"difference": null, "ulps": 1, "tier": "fused", "on_host": []}'
#: Answers two samples well; the third one, asked of a first worker, does this.
SCRIPT = """
import json, os, sys, time
for line in sys.stdin:
    first, end = json.loads(line)[3:]
    for sample in range(first, end):
        if sample == 2:
            {}
        print('{}', flush=True)
    print(flush=True)
"""


def run(trouble: str) -> Record:
    pool = Pool((sys.executable, "-c", SCRIPT.format(trouble, GOOD)), patience=2)
    try:
        return pool.run(TASK, 5)
    finally:
        pool.stop()


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("os.abort()", "crashes: SIGABRT"),
        ("os._exit(3)", "crashes: exit status 3"),
        ("time.sleep(60)", "hangs: silent for 2 seconds"),
    ],
)
def test_one_sample_is_lost_to_a_crash_or_a_hang(trouble, said):
    record = run(trouble)
    assert (record.samples, record.failed, record.differences) == (5, 1, [said])


def test_nothing_is_lost_otherwise():
    assert (run("pass").samples, run("pass").failed) == (5, 0)


def test_a_log_keeps_the_last_word(tmp_path):
    for failed in (1, 0):
        append(tmp_path / "log", Record(*TASK, 5, samples=3, failed=failed))
    assert [r.failed for r in read(tmp_path / "log")] == [0]


def test_a_task_that_was_cut_short_runs_again():
    assert Record(*TASK, asked=5, samples=5).was_cut(10)
    assert not Record(*TASK, asked=5, samples=5).was_cut(5)
    assert not Record(*TASK, asked=5, samples=3).was_cut(10)


def test_a_page_tells_tiers_and_unexplained_failures():
    records = [
        Record(*TASK, 5, samples=3, tier="fused"),
        Record("mm", "forward", "float32", 5, 2, 1, differences=["wrong"]),
    ]
    text = page(records, [r.task for r in records])
    assert "4 of 5" in text
    assert "**not explained**: wrong" in text


def test_the_page_in_docs_is_complete():
    text = PAGE.read_text()
    assert "not explained" not in text
    assert "crashes, hangs | 0, 0 |" in text
    assert all(f"`{name}`" in text for name in {t.operator for t in all_tasks()})
