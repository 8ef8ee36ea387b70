"""Tables of a run between the marks of Markdown pages."""

from __future__ import annotations

import re

from . import summary
from .report import Document, cells, columns, machine_text


def table(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])


def rows_measured(document: Document) -> str:
    """The machine, and every row."""
    contestants = document["contestants"]
    verdicts = [verdict["met"] for result in document["results"] for verdict in result["verdicts"]]
    said = f"{machine_text(document)}. {sum(verdicts)} of {len(verdicts)} gates are met."
    return f"{said}\n\n{table(columns(contestants), [cells(result, contestants) for result in document['results']])}"


def chapters(document: Document) -> str:
    """The means of every chapter of rows."""
    return table(summary.columns(document["contestants"]), summary.lines(document))


PARTS = {"measured": rows_measured, "summary": chapters}


def fill(text: str, document: Document) -> str:
    """`text`, a Markdown page, with what its marks ask for between each of them and `<!-- end -->`.

    Raises ValueError for a page without such a mark.
    """
    filled = 0
    for mark, part in PARTS.items():
        between = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, times = between.subn(lambda found, part=part: f"{found[1]}\n{part(document)}\n\n{found[2]}", text)
        filled += times
    if not filled:
        marks = " or ".join(f"<!-- {mark} -->" for mark in PARTS)
        raise ValueError(f"the page has no part between {marks} and <!-- end -->")
    return text
