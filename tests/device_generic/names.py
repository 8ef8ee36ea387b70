"""One name for a test on every device type."""

from __future__ import annotations

import re

DEVICES = "cpu|spyre|privateuse1"


def test_key(nodeid: str) -> str:
    """`test_x.py::TestXSPYRE::test_y_spyre_float32` and its twins: `test_x.py::TestX::test_y_float32`."""
    *rest, cls, name = nodeid.split("::")
    cls = re.sub(rf"({DEVICES.upper()})$", "", cls)
    name = re.sub(rf"_({DEVICES})(?=_|$)", "", name, count=1)
    return "::".join([*rest, cls, name])


test_key.__test__ = False  # type: ignore[attr-defined]
