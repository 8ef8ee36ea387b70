"""docs/models.md is of the models that there are; its promise: no host work and no misses in a steady step."""

from __future__ import annotations

import pytest

from .page import PAGE, REASONS, measured, row
from .zoo import NAMES

#: One of each kind; the page itself is of all.
SAMPLE = ["bert", "gpt2", "clip", "plain unet", "lstm"]
CELLS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines() if line[:1] == "|"]
ROWS = {cells[0]: cells[1:] for cells in CELLS[2:]}


def test_every_model_has_a_row():
    assert list(ROWS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_rows_keep_the_promise(name):
    _, _, hits, compiled, on_host = ROWS[name]
    assert on_host == ""
    if name not in REASONS:
        assert (int(hits.removesuffix("%")) >= 99, compiled) == (True, "0")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_steady_step_stays_on_the_card(name):
    steady = measured(name)
    assert (steady.on_host, steady.misses, steady.compiled) == ((), 0, 0), row(name, steady)
