"""What a bug report needs: settings, card, counters, versions; and one file for each failure (TORCH_SPYRE_FFDC=1)."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import platform
import stat
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import Any

import torch

from ._engine import engine
from .stats import device_spec, stats

__all__ = ["failure_reports", "get_diagnostic_report", "report_failure"]

KEPT = 50
CATEGORIES = ("compile_frontend", "compile_backend", "runtime_launch", "unimplemented")

_numbers = itertools.count()
_reporting = threading.local()


def get_diagnostic_report() -> dict[str, Any]:
    """Settings, card, counters, memory, environment, versions, and the paths of the last failures' reports."""
    return {
        "device_spec": device_spec(),
        "settings": engine().settings(),
        "stats": stats(),
        "memory": engine().device_memory(),
        **_surroundings(),
        "failure_reports": [str(path) for path in failure_reports()],
    }


def failure_reports() -> list[Path]:
    """The reports that there are, oldest first."""
    folder = _folder()
    return sorted(folder.glob("*.json")) if folder.is_dir() else []


def report_failure(category: str, error: str, message: str) -> Path | None:
    """Writes a report, for its owner only, and removes the oldest above 50. None if another is being written here."""
    if category not in CATEGORIES:
        raise ValueError(f"a failure is one of {', '.join(CATEGORIES)}; got {category!r}")
    if getattr(_reporting, "now", False):
        return None
    _reporting.now = True
    try:
        return _write(_report(category, error, message))
    finally:
        _reporting.now = False


def _report(category: str, error: str, message: str) -> dict[str, Any]:
    running = engine().is_initialized()
    return {
        "version": 1,
        "category": category,
        "error": error,
        "message": message,
        "time": datetime.datetime.now(datetime.UTC).isoformat(),
        "process": os.getpid(),
        "thread": threading.current_thread().name,
        "stack": [line.rstrip() for line in traceback.format_stack()[:-2]],
        "settings": engine().settings() if running else None,
        "stats": stats() if running else None,
        "memory": engine().device_memory() if running else None,
        **_surroundings(),
    }


def _surroundings() -> dict[str, Any]:
    names = [row["name"] for row in engine().environment_table()]
    return {
        "environment": {name: os.environ[name] for name in names if name in os.environ},
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__, "platform": platform.platform()},
    }


def _folder() -> Path:
    named = engine().environment_value("TORCH_SPYRE_FFDC_DIR")
    return Path(named) if named else Path(tempfile.gettempdir()) / f"torch_spyre_ffdc_{os.getuid()}"


def _write(report: dict[str, Any]) -> Path:
    folder = _folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise PermissionError(f"TORCH_SPYRE_FFDC_DIR: {folder} is no folder of this user")
    stamp = report["time"].replace(":", "").replace("+0000", "")
    path = folder / f"{stamp}-{report['process']}-{next(_numbers):04}-{report['category']}.json"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, default=str)
    for old in failure_reports()[:-KEPT]:
        old.unlink(missing_ok=True)
    return path
