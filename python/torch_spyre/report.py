"""Where the modelled time of a recorded run went, as data, as text and as a page; and what another card would take."""

from __future__ import annotations

import json
from typing import Any

from ._engine import DeviceLike, device_index, engine
from .report_page import page

__all__ = ["Report", "report", "what_if"]

_COLUMNS = ("kernel", "calls", "us", "share", "bound by", "rule", "roof", "PT use")


class Report(dict[str, Any]):
    """A report's fields, as JSON has them. Print it for a table; html() is one page. A value, bound to no device."""

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [self._summary(), *self._pipelines(), ""]
        lines += ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table]
        return "\n".join(line.rstrip() for line in lines)

    def html(self) -> str:
        """One page without links to anything: summary, timeline, kernels, roofline, and all fields."""
        return page(self, [self._summary(), *self._pipelines()], self._table())

    def _table(self) -> list[tuple[str, ...]]:
        return [_COLUMNS, *map(_cells, self["kernels"])]

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


def report(what_if: dict[str, Any] | None = None, device: DeviceLike = None) -> Report:
    """Where the modelled time of what timeline() has recorded of a card went: pipelines, kernels, roofline.

    With `what_if`, fields of another card ({"cores": 16}, {"profile": "datasheet"}), the same run is priced on that
    card; nothing runs again.
    """
    card = json.dumps(what_if) if what_if else ""
    return Report(json.loads(engine().report_json(card, device_index(device))))


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
