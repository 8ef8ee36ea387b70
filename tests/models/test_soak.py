"""The short form of tests/models/soak.py: in a process of its own, whose memory is only its own."""

from __future__ import annotations

import json

import pytest

STEPS = 1200


@pytest.mark.parametrize("loop", ["training", "inference"])
def test_nothing_grows(loop, run_python):
    code = f"import json; from tests.models.soak import growth_of; print(json.dumps(growth_of({loop!r}, {STEPS})))"
    child = run_python(code)
    assert child.returncode == 0, child.stderr
    growth = json.loads(child.stdout)
    assert growth.pop("resident") < 3 << 20
    assert growth == dict.fromkeys(growth, 0)
