"""A report as one HTML page that stands by itself: summary, timeline, kernels, roofline, all fields."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

__all__ = ["page"]

_STYLE = """
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 980px; padding: 0 1em; color: #222 }
h1 { margin-bottom: 0 } h2 { margin: 1.8em 0 .4em; font-size: 17px } p { margin: .3em 0; color: #555 }
table { border-collapse: collapse; font-variant-numeric: tabular-nums } th { color: #555; font-weight: 600 }
td, th { padding: 3px 10px; text-align: right; border-bottom: 1px solid #eee } tr:hover td { background: #f4f7fb }
td:nth-child(2), th:nth-child(2), td:nth-child(7), th:nth-child(7) { text-align: left }
td:nth-child(2) { overflow-wrap: anywhere } pre { overflow: auto; background: #f7f7f9; padding: 1em }
svg { display: block; max-width: 100%; height: auto } svg text { font-size: 12px; fill: #555 }
.grid { stroke: #e4e4ea } .lane { fill: #f1f2f6 } .busy { fill: #06c }
.roof { fill: none; stroke: #c30; stroke-width: 2 }
.vector { stroke: #c30; stroke-dasharray: 4 4 }
.kernel { fill: #06c; fill-opacity: .7; stroke: #fff }
"""
_WIDTH = 940  # pixels of both pictures
_NAME, _BUSY, _LANE = 110, 90, 26  # of the timeline: a lane's name, its figure, its height
_AXIS = 24  # and of the axis below it
_MARGIN, _FOOT, _DECADE = 56, 46, 52  # of the roofline: left of it, below it, a decade's height
_LEFT, _RIGHT = -2, 4  # decades of operations per byte that it shows
_DOWN, _UP = -1, 6  # and of giga-operations per second


def page(report: Mapping[str, Any], summary: Iterable[str], table: Sequence[Sequence[str]]) -> str:
    """The page; `summary` has its first lines, `table` titles and a row per kernel. Loads nothing, runs no script."""
    first, *more = (escape(line) for line in summary)
    fields = escape(json.dumps(report, indent=1))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Modelled time</title>'
        f"<style>{_STYLE}</style><h1>Modelled time</h1><p>{first}</p>"
        f"<h2>Timeline</h2><p>{report['modelled_us']:.1f} us from left to right; the darker, the busier.</p>"
        f"{_timeline(report)}{''.join(f'<p>{line}</p>' for line in more)}"
        f"<h2>Kernels, the longest in all first</h2>{_table(report, table)}"
        "<h2>Roofline</h2><p>Kernels by their numbers above; the larger, the more of the time. Solid: what memory and "
        f"matrix units allow. Dashed: vector lanes.</p>{_roofline(report)}"
        f"<h2>Data</h2><details><summary>all fields</summary><pre>{fields}</pre></details></html>"
    )


def _table(report: Mapping[str, Any], table: Sequence[Sequence[str]]) -> str:
    """Kernels have numbers, for the roofline; pointing at one shows its rule and where that is from."""
    titles, *rows = table
    lines = [f"<tr><th>#</th>{''.join(f'<th>{escape(title)}</th>' for title in titles)}</tr>"]
    for number, (kernel, cells) in enumerate(zip(report["kernels"], rows, strict=True), 1):
        about = escape(f"{kernel['formula']}: {kernel['source']}")
        lines.append(
            f'<tr title="{about}"><td>{number}</td>{"".join(f"<td>{escape(cell)}</td>" for cell in cells)}</tr>'
        )
    return f"<table>{''.join(lines)}</table>"


def _picture(height: float, marks: Iterable[str]) -> str:
    return f'<svg viewBox="0 0 {_WIDTH} {height:g}" width="{_WIDTH}" height="{height:g}">{"".join(marks)}</svg>'


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _timeline(report: Mapping[str, Any]) -> str:
    """A lane per pipeline that did anything, cut into equal parts of the run."""
    lanes = [(name, pipeline) for name, pipeline in report["pipelines"].items() if pipeline["operations"]]
    left, right, foot = _NAME, _WIDTH - _BUSY, len(lanes) * _LANE
    marks = []
    for number, (name, pipeline) in enumerate(lanes):
        marks += _lane(name, pipeline, number * _LANE, report["modelled_us"])
    for quarter in range(5):
        x = left + (right - left) * quarter / 4
        marks.append(_line(x, 0, x, foot + 4, "grid"))
        marks.append(_text(x, foot + 18, f"{report['modelled_us'] * quarter / 4:.4g} us", "middle"))
    return _picture(foot + _AXIS, marks)


def _lane(name: str, pipeline: Mapping[str, Any], y: float, modelled_us: float) -> list[str]:
    load, whole = pipeline["load"], _WIDTH - _NAME - _BUSY
    part = whole / max(len(load), 1)
    busy = pipeline["busy_us"] / modelled_us if modelled_us else 0.0
    marks = [
        _text(0, y + 17, name),
        f'<path class="lane" d="M{_NAME} {y + 1}h{whole}v{_LANE - 3}h-{whole}z"/>',
        _text(_WIDTH, y + 17, f"{busy:.1%} busy", "end"),
    ]
    for number, percent in enumerate(load):
        title = f"<title>{escape(name)}, part {number + 1} of {len(load)}: {percent} % busy</title>"
        place = f'x="{_NAME + number * part:.2f}" y="{y + 1}" width="{part:.2f}" height="{_LANE - 3}"'
        marks.append(f'<rect class="busy" {place} fill-opacity="{percent / 100:.2f}">{title}</rect>')
    return marks


def _place(intensity: float, gops: float) -> tuple[float, float]:
    """Where operations per byte and giga-operations per second are; both axes are logarithmic."""
    x = min(max(math.log10(max(intensity, 1e-9)), _LEFT), _RIGHT)
    y = min(max(math.log10(max(gops, 1e-9)), _DOWN), _UP)
    across = (_WIDTH - _MARGIN - _BUSY) / (_RIGHT - _LEFT)
    return _MARGIN + (x - _LEFT) * across, 10 + (_UP - y) * _DECADE


def _axes() -> list[str]:
    marks = []
    for power in range(_LEFT, _RIGHT + 1):
        x, top = _place(10.0**power, 10.0**_UP)
        foot = _place(10.0**power, 10.0**_DOWN)[1]
        marks += [_line(x, top, x, foot, "grid"), _text(x, foot + 16, f"{10.0**power:g}", "middle")]
    for power in range(_DOWN, _UP + 1):
        x, y = _place(10.0**_LEFT, 10.0**power)
        end = _place(10.0**_RIGHT, 10.0**power)[0]
        marks += [_line(x, y, end, y, "grid"), _text(x - 6, y + 4, f"1e{power}", "end")]
    marks.append(
        _text((_MARGIN + _WIDTH - _BUSY) / 2, 10 + (_UP - _DOWN) * _DECADE + 34, "operations per byte", "middle")
    )
    return [*marks, _text(_MARGIN + 6, 24, "giga-operations per second")]


def _roofline(report: Mapping[str, Any]) -> str:
    roof = report["roofline"]
    ends = [10.0**_LEFT, roof["ridge_ops_per_byte"], 10.0**_RIGHT]
    corners = [_place(x, min(x * roof["memory_gb_per_s"], roof["matrix_gops"])) for x in ends]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    lanes = _place(roof["vector_gops"] / roof["memory_gb_per_s"], roof["vector_gops"])
    marks = [*_axes(), f'<polyline class="roof" points="{points}"/>']
    marks.append(_line(*lanes, corners[-1][0], lanes[1], "vector"))
    marks += [
        _text(corners[-1][0] + 4, corners[-1][1] + 4, "matrix"),
        _text(corners[-1][0] + 4, lanes[1] + 4, "vector"),
    ]
    for number, kernel in enumerate(report["kernels"], 1):
        if kernel["roof_gops"]:
            marks += _dot(number, kernel)
    return _picture((_UP - _DOWN) * _DECADE + _FOOT, marks)


def _dot(number: int, kernel: Mapping[str, Any]) -> list[str]:
    x, y = _place(kernel["ops_per_byte"], kernel["attained_gops"])
    radius = 4 + 8 * math.sqrt(kernel["share"])
    title = escape(f"{kernel['name']}: {kernel['attainment']:.0%} of what its operations per byte allow")
    dot = f'<circle class="kernel" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"><title>{title}</title></circle>'
    return [dot, _text(x + radius + 3, y + 4, str(number))]
