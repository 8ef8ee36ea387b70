"""What modelling costs is measured with programs that run under either clock."""

from __future__ import annotations

import pytest

from benchmarks import modelling


@pytest.mark.parametrize("clock", ["virtual", "off"])
@pytest.mark.parametrize("name", modelling.PROGRAMS)
def test_programs_run_under_both_clocks(name, clock):
    assert 0 < modelling.seconds(modelling.PROGRAMS[name], clock, steps=2, rounds=1) < 60


def test_a_line_for_each_program(capsys, monkeypatch):
    times = {"virtual": 1.02e-3, "off": 1e-3}
    monkeypatch.setattr(modelling, "seconds", lambda _, clock: times[clock])
    monkeypatch.setattr("sys.argv", ["modelling", "--only", "copy"])
    modelling.main()
    assert " ".join(capsys.readouterr().out.split()) == "a copy each way 1020.0 us, of which modelling +2.0 %"
