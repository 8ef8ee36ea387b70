"""One self-contained HTML page of a run: what it found, the plot, the table, every gate."""

from __future__ import annotations

from html import escape

from . import summary
from .plot import plot
from .report import Document, cells, columns, machine_text, verdict_text

STYLE = """
body { font: 14px/1.45 sans-serif; margin: 2em auto; max-width: 1500px; padding: 0 1em; color: #222 }
table { border-collapse: collapse; font-size: 12px } td, th { padding: 3px 8px; text-align: left; vertical-align: top }
th { position: sticky; top: 0; background: #eef } tr:nth-child(even) { background: #f7f7f9 }
td { font-variant-numeric: tabular-nums } .missed { color: #a22 } .met { color: #272 }
"""


def html_line(tag: str, cells_of: list[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{words}</{tag}>" for words in cells_of) + "</tr>"


def html_table(head: list[str], lines: list[list[str]]) -> str:
    body = [html_line("td", line) for line in lines]
    return "\n".join(["<table>", html_line("th", [escape(title) for title in head]), *body, "</table>"])


def gate_lines(document: Document) -> list[list[str]]:
    lines = []
    for result in document["results"]:
        for verdict in result["verdicts"]:
            word = "met" if verdict["met"] else "missed"
            shown = f'<span class="{word}">{word if verdict["met"] else "MISSED"}</span>'
            lines.append([escape(result["name"]), escape(verdict_text(verdict)), shown])
    return lines


def page(document: Document) -> str:
    contestants = document["contestants"]
    verdicts = [verdict["met"] for result in document["results"] for verdict in result["verdicts"]]
    means = [[escape(cell) for cell in line] for line in summary.lines(document)]
    rows = [[escape(cell) for cell in cells(result, contestants)] for result in document["results"]]
    found = (
        f"{sum(verdicts)} of {len(verdicts)} gates are met. Ratios are spyre's time over a peer's, measured in turn in "
        "one run: below 1 spyre is faster. In parentheses, and hollow in the plot: the peer with recycled buffers, "
        "that is, with an allocator that keeps what is freed."
    )
    return "\n".join(
        [
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Benchmarks of spyre</title>',
            f"<style>{STYLE}</style><h1>Benchmarks</h1><p>{escape(machine_text(document))}</p><p>{found}</p>",
            f"<h2>Geometric means over rows</h2>{html_table(summary.columns(contestants), means)}",
            f"<h2>Ratios</h2>{plot(document)}<h2>Rows</h2>{html_table(columns(contestants), rows)}",
            f"<h2>Gates</h2>{html_table(['row', 'gate', ''], gate_lines(document))}</html>",
        ]
    )
