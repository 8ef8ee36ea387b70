"""Dynamo starts afresh in every test, and PyTorch's own warnings about its compilers are its own."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator

import pytest
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch._inductor.compile_fx

# pytest would collect every line of PyTorch's structured trace.
logging.getLogger("torch.__trace").disabled = True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/compile" in item.nodeid:
            item.add_marker(pytest.mark.filterwarnings("ignore:.*:FutureWarning"))


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    """What one test compiled, no other one finds."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
