"""A pytest plugin for the child processes: only tests of one device type, each told to a log as it starts and ends."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from .names import test_key

LOG, DEVICE, FIRST, STEP = (f"SPYRE_GENERIC_{word}" for word in ("LOG", "DEVICE", "FIRST", "STEP"))


def tell(key: str, what: str, text: str = "") -> None:
    with Path(os.environ[LOG]).open("a") as log:
        log.write(json.dumps([key, what, text]) + "\n")


def told() -> set[str]:
    log = Path(os.environ[LOG])
    return {json.loads(line)[0] for line in log.read_text().splitlines()} if log.exists() else set()


def decorate_nothing(*arguments: Any, **_: Any) -> Any:
    """As a decorator, and as a maker of decorators."""
    return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else decorate_nothing


def missing_name(name: str) -> Any:
    """Tests of another version use decorators that this one does not have."""
    if name.startswith(("skip", "only", "expected", "slow", "tf32_")):
        return decorate_nothing
    if name.startswith(("TEST_", "IS_", "HAS_")):
        return False
    raise AttributeError(name)


def pytest_configure() -> None:
    for module in ("common_utils", "common_device_type", "common_cuda", "common_methods_invocations"):
        importlib.import_module(f"torch.testing._internal.{module}").__getattr__ = missing_name


def is_wanted(item: Any) -> bool:
    return getattr(getattr(item, "cls", None), "device_type", None) == os.environ[DEVICE]


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """What was told by an earlier process is not run again: it may be what ended it."""
    generic = sorted((i for i in items if is_wanted(i)), key=lambda i: i.nodeid)
    chosen = generic[int(os.environ[FIRST]) :: int(os.environ[STEP])]
    known = told()
    items[:] = [i for i in chosen if test_key(i.nodeid) not in known]


def pytest_runtest_logstart(nodeid: str) -> None:
    tell(test_key(nodeid), "started")


@pytest.hookimpl
def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        tell(test_key(report.nodeid), report.outcome, lines[0][1:].strip() if lines else "")
