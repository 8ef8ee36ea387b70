"""A plot of ratios as SVG: one line a row, one dot a contestant, on a logarithmic scale; left of 1 spyre is faster."""

from __future__ import annotations

import math
from html import escape

from .report import RECYCLED, Document, factor, over

COLOURS = {"eager": "#4c72b0", "compile": "#dd8452", "jax": "#55a868", "lazy_ts": "#8172b3"}
LOW, HIGH = 0.01, 3.0
LABELS, SCALE, PITCH, TOP = 390, 560, 17, 56
TICKS = (0.01, 0.03, 0.1, 0.3, 1, 3)


def across(value: float) -> float:
    """Where a ratio stands; those beyond the scale stand at its end."""
    held = min(max(value, LOW), HIGH)
    return LABELS + SCALE * math.log(held / LOW) / math.log(HIGH / LOW)


def dot(x: float, y: float, name: str, title: str) -> str:
    """Filled as installed, hollow with recycled buffers."""
    colour = COLOURS.get(name.removesuffix(RECYCLED), "#777")
    fill = "white" if name.endswith(RECYCLED) else colour
    shown = f"<title>{escape(title)}</title>"
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{fill}" stroke="{colour}" stroke-width="1.6">{shown}</circle>'
    )


def text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def grid(bottom: float) -> list[str]:
    lines = []
    for tick in TICKS:
        colour, x = ("#333" if tick == 1 else "#ddd"), across(tick)
        lines.append(f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{bottom}" stroke="{colour}"/>')
        lines.append(text(x, TOP - 18, f"{tick:g}", "middle"))
    return lines


def legend(names: list[str]) -> list[str]:
    parts, x = [text(8, 20, "time of spyre / time of:")], 170.0
    for name in names:
        parts += [dot(x, 16, name, name), text(x + 9, 20, name)]
        x += 30 + 7 * len(name)
    return parts


def plot(document: Document) -> str:
    names = [name for name in document["contestants"] if name != "spyre"]
    results = document["results"]
    bottom = TOP + PITCH * len(results)
    parts = [*legend(names), *grid(bottom)]
    for index, result in enumerate(results):
        y = TOP + PITCH * index + PITCH / 2
        parts.append(text(LABELS - 12, y + 4, result["name"], "end"))
        for name in names:
            value = over(result, name)
            if value is not None:
                parts.append(dot(across(value), y, name, f"{result['name']} / {name}: {factor(value)}"))
    width = LABELS + SCALE + 30
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{bottom + 12}"'
    style = 'font-family="sans-serif" font-size="11" style="background:white"'
    return "\n".join([f"{head} {style}>", *parts, "</svg>"]) + "\n"
