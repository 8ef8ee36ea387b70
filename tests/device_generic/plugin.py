"""A pytest plugin for the child processes: only tests of one device type, each told to a log as it starts and ends."""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from .names import test_key

LOG, DEVICE, FIRST, STEP, CARDS, ONLY = (
    f"SPYRE_GENERIC_{word}" for word in ("LOG", "DEVICE", "FIRST", "STEP", "CARDS", "ONLY")
)
HELPERS = ("common_utils", "common_device_type", "common_cuda", "common_nn", "common_methods_invocations")


def tell(key: str, what: str, text: str = "") -> None:
    with Path(os.environ[LOG]).open("a") as log:
        log.write(json.dumps([key, what, text]) + "\n")


def told() -> set[str]:
    log = Path(os.environ[LOG])
    return {json.loads(line)[0] for line in log.read_text().splitlines()} if log.exists() else set()


def decorate_nothing(*arguments: Any, **_: Any) -> Any:
    """As a decorator, and as a maker of decorators."""
    return arguments[0] if len(arguments) == 1 and callable(arguments[0]) else decorate_nothing


class Nothing:
    """A helper that this version does not have: what calls it or derives from it can be collected, and fails."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


def missing_name(module: Any, name: str) -> Any:
    """Tests of another version use decorators, conditions, tables and helpers that this one does not have."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name.startswith(("skip", "only", "expected", "slow", "tf32_")):
        return decorate_nothing
    if name.startswith(("TEST_", "IS_", "HAS_")):
        return False
    if name.endswith("_and_refs"):
        return getattr(module, name.removesuffix("_and_refs"))
    return [] if name.endswith("_tests") else Nothing


def missing_condition(name: str) -> bool:
    if name.startswith("has_"):
        return False
    raise AttributeError(name)


def helper(name: str) -> Any:
    return importlib.import_module(f"torch.testing._internal.{name}")


def keep_first_definitions(base: Any) -> None:
    """In some files a test for CPU alone has the name that a test for all devices gets there: now an error."""
    instantiate = base.instantiate_test.__func__

    @functools.wraps(instantiate)
    def instantiate_unless_defined(cls: Any, *arguments: Any, **keywords: Any) -> None:
        with contextlib.suppress(AssertionError):
            instantiate(cls, *arguments, **keywords)

    base.instantiate_test = classmethod(instantiate_unless_defined)


def without_endless_super(cls: Any) -> None:
    """`super(self.__class__, self).setUp()` of another version's tests finds itself: they run without it."""
    for name in ("setUp", "tearDown"):
        if "__class__" in getattr(cls.__dict__.get(name), "__code__", without_endless_super.__code__).co_names:
            delattr(cls, name)


def keep_generic_classes(module: Any) -> None:
    """Tests of another version call super() by the name of their class, which is gone by now."""
    instantiate = module.instantiate_device_type_tests

    @functools.wraps(instantiate)
    def instantiate_and_keep(cls: Any, scope: dict[str, Any], *arguments: Any, **keywords: Any) -> None:
        without_endless_super(cls)
        instantiate(cls, scope, *arguments, **keywords)
        scope[cls.__name__] = cls

    module.instantiate_device_type_tests = instantiate_and_keep


def cards() -> int:
    return int(os.environ[CARDS])


def pytest_configure() -> None:
    for module in map(helper, HELPERS):
        module.__getattr__ = functools.partial(missing_name, module)
    importlib.import_module("torch._C").__getattr__ = missing_condition
    keep_first_definitions(helper("common_device_type").CPUTestBase)
    keep_generic_classes(helper("common_device_type"))
    if cards() > 1:  # such tests say that they are for CUDA, and few are
        helper("common_device_type").PrivateUse1TestBase.bypass_device_restrictions = True


def is_wanted(item: Any) -> bool:
    of_device = getattr(getattr(item, "cls", None), "device_type", None) == os.environ[DEVICE]
    return of_device and (cards() == 1 or getattr(item.function, "num_required_devices", 1) == cards())


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """What was told by an earlier process is not run again: it may be what ended it."""
    generic = sorted(filter(is_wanted, items), key=lambda item: item.nodeid)
    known, only = told(), os.environ.get(ONLY)
    if only:  # by name: one test of N is another one where there are more tests
        wanted = set(json.loads(Path(only).read_text()))
        chosen = [i for i in generic if test_key(i.nodeid) in wanted]
    else:
        chosen = generic[int(os.environ[FIRST]) :: int(os.environ[STEP])]
    items[:] = [i for i in chosen if test_key(i.nodeid) not in known]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """A fault that no sync has raised yet is of this test, not of the next."""
    if os.environ[DEVICE] != "cpu":
        importlib.import_module("torch").accelerator.synchronize()


def pytest_runtest_logstart(nodeid: str) -> None:
    tell(test_key(nodeid), "started")


@pytest.hookimpl
def pytest_runtest_logreport(report: Any) -> None:
    if report.when == "call" or report.outcome != "passed":
        lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
        tell(test_key(report.nodeid), report.outcome, lines[0][1:].strip() if lines else "")
