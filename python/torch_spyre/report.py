"""Where the modelled time of a recorded run went, as data, as text and as a page; and what another card would take."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Iterable
from typing import Any

from ._engine import engine

__all__ = ["Report", "report", "what_if"]

_COLUMNS = ("kernel", "calls", "us", "share", "bound by", "rule", "roof", "PT use")
_STYLE = "body{font:14px sans-serif;margin:2em}td,th{padding:2px 10px;text-align:right}td:first-child{text-align:left}"
_DECADE = 60  # pixels of the roofline's picture
_LANE, _LABEL, _PART = 24, 110, 10  # and of the timeline's: a lane's height, its name's width, a part's
_LEFT, _RIGHT = -2, 4  # decades of operations per byte that it shows
_DOWN, _UP = -1, 6  # and of giga-operations per second


class Report(dict[str, Any]):
    """A report's fields, as JSON has them. Print it for a table; html() is one page. A value, bound to no device."""

    def __str__(self) -> str:
        table = [_COLUMNS, *map(_cells, self["kernels"])]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [self._summary(), *self._pipelines(), ""]
        lines += ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table]
        return "\n".join(line.rstrip() for line in lines)

    def html(self) -> str:
        """One page without links to anything: summary, timeline, kernels, roofline, and all fields below."""
        summary = "".join(f"<p>{html.escape(line)}</p>" for line in [self._summary(), *self._pipelines()])
        rows = "".join(_row("td", _cells(kernel)) for kernel in self["kernels"])
        fields = html.escape(json.dumps(self, indent=1))
        return (
            f"<!doctype html><meta charset=utf-8><title>Modelled time</title><style>{_STYLE}</style>"
            f"<h1>Modelled time</h1>{summary}{_timeline(self)}"
            f"<h2>Kernels, the longest in all first</h2><table>{_row('th', _COLUMNS)}{rows}</table>{_roofline(self)}"
            f"<details><summary>all fields</summary><pre>{fields}</pre></details>"
        )

    def _summary(self) -> str:
        dropped = f", without {self['dropped']} operations that came before" if self["dropped"] else ""
        return (
            f"{self['modelled_us']:.1f} us on {self['cores']} cores, profile {self['profile']}; "
            f"matrix units busy for {self['compute']['pt_utilisation']:.1%} of the kernels' time{dropped}"
        )

    def _pipelines(self) -> list[str]:
        return [
            f"{name}: {p['operations']} operations, {p['busy_us']:.1f} us busy, {p['bytes']} bytes"
            for name, p in self["pipelines"].items()
        ]


def report(what_if: dict[str, Any] | None = None) -> Report:
    """Where the modelled time of what timeline() has recorded went: pipelines, kernels, roofline.

    With `what_if`, fields of another card ({"cores": 16}, {"profile": "datasheet"}), the same run is priced on that
    card; nothing runs again.
    """
    return Report(json.loads(engine().report_json(json.dumps(what_if) if what_if else "")))


def what_if(**card: Any) -> Report:
    """The report of the recorded run on another card: what_if(cores=16, memory_gb_per_s=300). Nothing runs again."""
    return report(card)


def _cells(kernel: dict[str, Any]) -> tuple[str, ...]:
    return (
        kernel["name"],
        str(kernel["calls"]),
        f"{kernel['total_us']:.2f}",
        f"{kernel['share']:.1%}",
        kernel["bound"],
        f"{kernel['rule']} ({kernel['mark']})",
        f"{kernel['attainment']:.0%}" if kernel["roof_gops"] else "",
        f"{kernel['pt_utilisation']:.1%}" if kernel["macs"] else "",
    )


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _timeline(report: Report) -> str:
    """A lane per pipeline; the darker a part of the run, the more of it the pipeline was busy."""
    lanes = [(name, pipeline["load"]) for name, pipeline in report["pipelines"].items() if pipeline["operations"]]
    marks = []
    for lane, (name, load) in enumerate(lanes):
        y = lane * _LANE
        marks.append(f'<text x="0" y="{y + _LANE - 8}">{html.escape(name)}</text>')
        for part, percent in enumerate(load):
            title = f"<title>{html.escape(name)}, part {part + 1} of {len(load)}: {percent} % busy</title>"
            place = f'x="{_LABEL + part * _PART}" y="{y}" width="{_PART}" height="{_LANE - 2}"'
            marks.append(f'<rect {place} fill="#06c" fill-opacity="{percent / 100:.2f}">{title}</rect>')
    parts = max((len(load) for _, load in lanes), default=0)
    size = f'width="{_LABEL + parts * _PART}" height="{len(lanes) * _LANE}"'
    told = f"{report['modelled_us']:.1f} us from left to right; the darker, the busier."
    return f"<h2>Timeline</h2><p>{told}</p><svg {size}>{''.join(marks)}</svg>"


def _place(intensity: float, gops: float) -> tuple[float, float]:
    """Both axes are logarithmic."""
    x = min(max(math.log10(max(intensity, 1e-9)), _LEFT), _RIGHT)
    y = min(max(math.log10(max(gops, 1e-9)), _DOWN), _UP)
    return (x - _LEFT) * _DECADE, (_UP - y) * _DECADE


def _roofline(report: Report) -> str:
    roof = report["roofline"]
    ends = [10.0**_LEFT, roof["ridge_ops_per_byte"], 10.0**_RIGHT]
    line = [_place(x, min(x * roof["memory_gb_per_s"], roof["matrix_gops"])) for x in ends]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in line)
    dots = []
    for kernel in report["kernels"]:
        if not kernel["roof_gops"]:
            continue
        x, y = _place(kernel["ops_per_byte"], kernel["attained_gops"])
        title = html.escape(kernel["name"])
        dots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#06c"><title>{title}</title></circle>')
    size = f'width="{(_RIGHT - _LEFT) * _DECADE}" height="{(_UP - _DOWN) * _DECADE}"'
    return (
        f"<h2>Roofline</h2><p>Giga-operations per second over operations per byte, both logarithmic, from "
        f"10^{_DOWN} to 10^{_UP} and from 10^{_LEFT} to 10^{_RIGHT}.</p>"
        f'<svg {size} style="border:1px solid #ccc"><polyline points="{points}" fill="none" stroke="#c30"/>'
        f"{''.join(dots)}</svg>"
    )
