"""The suite's words, gates, checks and documents; one small run of it, end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest

from benchmarks import __main__ as suite
from benchmarks import gates, markdown, peers, report, rows
from benchmarks.machine import Limits
from benchmarks.row import MIB, Cost, Row
from benchmarks.session import Effort, Session, Timing, largest_error

ROOT = Path(__file__).resolve().parent.parent.parent
FREE = Cost()
LIMITS = Limits({64 * MIB: 1e10}, {64 * MIB: 1e10}, 1e12, 2e12, 1e10)


def test_names_are_unique():
    names = [row.name for row in rows.ROWS]
    assert len(names) == len(set(names))


def test_every_family_has_gates_and_every_gate_a_row():
    assert {row.family for row in rows.ROWS if row.family} == set(gates.FAMILIES)


def test_parts_are_rows_before_the_whole():
    names = [row.name for row in rows.ROWS]
    for row in rows.ROWS:
        assert all(names.index(part) < names.index(row.name) for part in row.parts)


def test_rows_are_chosen_by_name_or_family():
    assert [row.name for row in rows.select("^plan hit, 16$")] == ["plan hit, 16 ops"]
    assert all("softmax" in row.name for row in rows.select("SOFTMAX"))
    assert len(rows.select(None)) == len(rows.ROWS)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [(["--peers", "eager,tpu"], "no such peer: tpu"), (["--only", "("], "not a regular expression")],
)
def test_bad_words_are_refused(words, complaint, capsys):
    with pytest.raises(SystemExit) as ended:
        suite.main(words)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err


def test_a_peer_that_is_not_installed_is_named(monkeypatch, capsys):
    monkeypatch.setattr(peers, "JAX_PYTHON", Path("nowhere"))
    assert suite.main(["--peers", "jax"]) == 2
    assert "make bench-peers" in capsys.readouterr().err


def test_recycled_peers_differ_in_their_allocator_only(tmp_path):
    plain, recycled = (c.environment(2, tmp_path) for c in peers.contestants(["eager"])[1:])
    assert {name for name in recycled if recycled.get(name) != plain.get(name)} == set(peers.RECYCLED)


def result(**medians: float) -> dict[str, Timing]:
    return {name.replace("_recycled", ", recycled"): Timing(rounds=[m, m]) for name, m in medians.items()}


def row(family: str = "", cost: Cost = FREE) -> Row:
    return Row("a row", "?", build=lambda _place: lambda: None, cost=cost, family=family)


def verdicts(of: Row, timings: dict[str, Timing]) -> dict[tuple[str, str], bool]:
    return {(v.gate.measure, v.gate.against): v.met for v in gates.judge(of, timings, LIMITS, {})}


def test_gates_are_ratios_of_medians():
    found = verdicts(row("rows ATen"), result(spyre=1.0, eager=2.0, eager_recycled=1.2, jax=4.0))
    assert found[("time", "eager")] is False
    assert found[("time", "eager, recycled")] is True
    assert found[("time", "jax")] is True
    assert ("time", "compile") not in found


def test_every_row_is_held_against_eager():
    assert verdicts(row(), result(spyre=1.0, eager=0.9))[("time", "eager")] is False
    assert verdicts(row("scalar reads"), result(spyre=1.2, eager=1.0))[("time", "eager")] is True


def test_a_share_is_of_what_the_machine_copies():
    found = verdicts(row("chain", Cost(bytes=64 * MIB)), result(spyre=64 * MIB / 0.9e10))
    assert found[("share", "")] is True


def test_what_failed_meets_nothing():
    timings = result(spyre=1.0, eager=9.0)
    timings["spyre"].failure = "wrong"
    assert set(verdicts(row("SDPA"), timings).values()) == {False}


def test_every_verdict_can_be_said():
    """Of figures of every kind, infinite ones as well: a row that failed has these."""
    everything = {gate for family in gates.FAMILIES.values() for gate in family} | set(gates.EVERY_ROW)
    everything |= {*gates.COMPILED, *gates.COMPILED_TOO}
    everything |= {gates.Gate("kernel_launches", 1), gates.Gate("peak_bytes", MIB)}
    for gate in everything:
        for value in (0.0, 1.0, float("inf")):
            assert gate.measure in report.verdict_text(gates.Verdict(gate, value, met=False).as_json())


def test_a_peer_that_failed_is_no_measure():
    timings = result(spyre=1.0, eager=9.0)
    timings["eager"].failure = "ended by signal 11"
    assert ("time", "eager") not in verdicts(row(), timings)


@pytest.mark.parametrize(("against_compile", "asked"), [(10.0, True), (1.0, False)])
def test_compiled_code_is_held_against_eager_code_of_the_same_device(against_compile: float, asked: bool):
    """And against Inductor's on CPU where eager code meets its bounds."""
    timings = result(spyre=1.0, eager=9.0, compile=against_compile)
    timings["spyre-compile"] = Timing(rounds=[1.1], cold=0.1)
    timings["compile"].cold = 1.0
    found = gates.judge(row("networks"), timings, LIMITS, {})
    own = {(v.gate.measure, v.gate.against): v.met for v in found if v.gate.of == "spyre-compile"}
    assert own == {("time", "spyre"): False, ("cold", "compile"): True} | ({("time", "compile"): True} if asked else {})


def test_the_limit_is_that_which_binds():
    assert LIMITS.seconds(Cost(bytes=64 * MIB, flops=int(1e9)))[1] == "memory"
    assert LIMITS.seconds(Cost(bytes=MIB, flops=int(1e9))) == (1e-3, "products")
    assert LIMITS.seconds(Cost(flops=int(1e9), product_type="bfloat16")) == (0.5e-3, "products")


def test_errors_are_relative_to_the_largest_number():
    expected = [numpy.array([1.0, -10.0])]
    assert largest_error([numpy.array([1.0, -9.0])], expected) == pytest.approx(0.1)
    assert largest_error([numpy.array([1.0])], expected) == float("inf")
    assert largest_error([numpy.array([numpy.nan, -10.0])], expected) == float("inf")
    assert largest_error([numpy.array([numpy.nan])], [numpy.array([numpy.nan])]) == 0


def test_a_wrong_result_has_no_time():
    with Session([], threads=1, effort=Effort()) as session:
        timings = result(spyre=1.0, eager=2.0)
        numpy.savez(session.result_path("eager"), numpy.ones(4))
        numpy.savez(session.result_path("spyre"), numpy.ones(4) * 1.01)
        session.check(row(), timings)
    assert timings["spyre"].median is None
    assert "wrong by 1.0e-02" in timings["spyre"].failure
    assert timings["eager"].median == 2.0


def test_a_worker_survives_a_row_that_it_cannot_run(tmp_path):
    worker = peers.Worker(peers.Contestant("eager"), 1, tmp_path, tmp_path / "log")
    try:
        worker.wait_until_ready()
        with pytest.raises(peers.PeerError, match="StopIteration"):
            worker.ask(open="no such row", tiny=True)
        assert worker.ask(open="chain of 2 ops, 16M float32", tiny=True) == {"open": True}
        assert worker.ask(run=2, after=1)["seconds"] > 0
        assert worker.ask(close=True) == {"closed": True}
    finally:
        worker.stop()


def test_a_run_can_be_taken_in_pieces(tmp_path):
    def document(*names: str) -> dict:
        results = [{"name": name, "piece": names} for name in names]
        return {"schema": report.SCHEMA, "contestants": ["spyre"], "results": results}

    file = tmp_path / "earlier.json"
    assert report.merged(file, document("a")) == document("a")
    file.write_text(json.dumps(document("a", "b")))
    merged = report.merged(file, document("b", "c"))
    assert [(r["name"], len(r["piece"])) for r in merged["results"]] == [("a", 2), ("b", 2), ("c", 2)]
    assert merged["results"][1]["piece"] == ("b", "c")


@pytest.fixture(scope="module")
def small_run(tmp_path_factory):
    """Three rows of tiny sizes against eager, through the command that a user types."""
    folder = tmp_path_factory.mktemp("run")
    outputs = [f"--{kind}={folder / kind}" for kind in ("json", "html", "plot")]
    chosen = "^chain of 5 ops|^softmax, ATen, 8192 x 1024 float32|^training step, 32"
    words = ["--quick", "--tiny", "--peers", "eager", "--threads", "2", "--only", chosen, *outputs]
    command = [sys.executable, "-m", "benchmarks", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    return done.stdout, folder


def test_a_small_run_prints_a_line_for_each_row(small_run):
    printed, _ = small_run
    assert [line.split("|")[1].split(",")[0].strip() for line in printed.splitlines() if line.startswith("|")] == [
        "what",
        "-" * report.NAME_WIDTH,
        "chain of 5 ops",
        "softmax",
        "training step",
    ]
    assert "FAILED" not in printed


def test_the_document_has_everything_that_was_measured(small_run):
    document = json.loads((small_run[1] / "json").read_text())
    assert document["schema"] == report.SCHEMA
    assert document["contestants"] == ["spyre", "eager", "eager, recycled"]
    assert {"cpu", "threads", "torch"} <= set(document["machine"])
    assert {"copy", "triad", "float32_flops", "bfloat16_flops"} <= set(document["limits"])
    for measured in document["results"]:
        assert set(measured["timings"]) == set(document["contestants"])
        for timing in measured["timings"].values():
            assert timing["failure"] is None
            assert timing["median"] > 0
            assert timing["cold"] > 0
            assert timing["error"] <= 1e-3
        assert measured["timings"]["spyre"]["counters"]["plan_hit_rate"] == 1
        assert measured["limit"]["seconds"] > 0
        assert {"measure", "against", "bound", "of", "value", "met"} == set(measured["verdicts"][0])


def test_the_page_stands_by_itself(small_run):
    page = (small_run[1] / "html").read_text()
    assert "softmax, ATen" in page
    assert "src=" not in page
    assert "href=" not in page


def test_the_plot_is_svg_with_a_dot_for_each_ratio(small_run):
    tree = ElementTree.fromstring((small_run[1] / "plot").read_text())
    dots = tree.findall("{http://www.w3.org/2000/svg}circle")
    assert len(dots) == 2 + 3 * 2  # the legend's, and two contestants on three rows


def test_the_table_goes_between_the_marks_of_a_page(small_run):
    document = json.loads((small_run[1] / "json").read_text())
    page = markdown.fill("a\n<!-- measured -->\nyesterday\n<!-- end -->\nb\n", document)
    assert page.startswith("a\n<!-- measured -->\n")
    assert page.endswith("<!-- end -->\nb\n")
    assert "yesterday" not in page
    assert "| training step, 32-64-10, batch 16, Adam |" in page
    with pytest.raises(ValueError, match="no part between"):
        markdown.fill("no marks", document)


def result_with(name, seconds, **others):
    timings = {who: {"median": median, "failure": None} for who, median in {"spyre": seconds, **others}.items()}
    return {"name": name, "timings": timings}


def test_a_summary_has_the_means_of_each_chapter():
    chain, softmax = rows.CHAPTERS["pointwise chains"][0].name, rows.CHAPTERS["softmax, norms, losses"][0].name
    results = [
        result_with(chain, 1.0, eager=2.0),
        result_with(rows.CHAPTERS["pointwise chains"][1].name, 1.0, eager=8.0),
        result_with(softmax, 1.0, eager=4.0),
        result_with("plan hit, 16 ops", 1.0),  # has no peer
    ]
    text = markdown.fill("<!-- summary -->\n<!-- end -->", {"contestants": ["spyre", "eager"], "results": results})
    assert text.splitlines()[2:] == [
        "| rows about | x eager (recycled) |",
        "| --- | --- |",
        "| pointwise chains (2) | 0.25 |",
        "| softmax, norms, losses (1) | 0.25 |",
        "| all rows (3) | 0.25 |",
        "",
        "<!-- end -->",
    ]


def test_an_empty_part_of_a_page_leaves_the_next_one_alone():
    document = {"contestants": ["spyre", "eager"], "results": [result_with("plan hit, 16 ops", 1.0)]}
    page = markdown.fill("<!-- summary -->\n<!-- end -->\nbetween\n<!-- summary -->\n<!-- end -->", document)
    assert page.count("rows about") == 2
    assert "between\n<!-- summary -->" in page


def test_a_document_is_shown_again(small_run, capsys):
    assert suite.main(["--show", str(small_run[1] / "json")]) == 0
    assert "training step" in capsys.readouterr().out
