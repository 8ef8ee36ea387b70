"""One small table for readers in a hurry: per chapter of rows, the mean of spyre's time over each peer's."""

from __future__ import annotations

import statistics

from . import rows
from .report import Document, Result, factor, over, peers_of, with_recycled

ALL = "all rows"


def mean_ratio(results: list[Result], contestant: str) -> float | None:
    """Geometric mean over the rows that both ran; None without such rows. Below 1 spyre is faster."""
    ratios = [value for result in results if (value := over(result, contestant))]
    return statistics.geometric_mean(ratios) if ratios else None


def columns(contestants: list[str]) -> list[str]:
    return ["rows about", *(f"x {peer} (recycled)" for peer in peers_of(contestants))]


def line(title: str, results: list[Result], contestants: list[str]) -> list[str]:
    figures = (
        with_recycled(peer, contestants, lambda name: factor(mean_ratio(results, name)))
        for peer in peers_of(contestants)
    )
    return [f"{title} ({len(results)})", *figures]


def lines(document: Document) -> list[list[str]]:
    """A line per chapter that was measured, with its number of rows that have a peer, and one for all of them."""
    results, contestants = document["results"], document["contestants"]
    chapters = []
    for title, members in rows.CHAPTERS.items():
        names = {row.name for row in members}
        measured = [r for r in results if r["name"] in names and any(over(r, peer) for peer in peers_of(contestants))]
        if measured:
            chapters.append((title, measured))
    everything = [result for _, measured in chapters for result in measured]
    return [line(title, measured, contestants) for title, measured in [*chapters, (ALL, everything)]]
