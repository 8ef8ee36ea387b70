"""Calls of registered operators do on the device what they do on the CPU; what does not is told."""

from __future__ import annotations

import argparse

import pytest
import torch

from . import differential
from .differential import Outcome, differences, operators

OPTIONS = argparse.Namespace(seeds=(0, 12), errors=False, strides=False)
#: Of each tier, and those that a run of all of them once found wrong.
SAMPLE = (
    *("add.Tensor", "where.self", "sum.dim_IntList", "softmax.int", "cumsum", "gather", "sort", "matmul", "cat"),
    *("index.Tensor", "index_select", "index_put", "masked_select", "nonzero", "unique_dim", "unique_consecutive"),
    *("repeat_interleave.self_Tensor", "bincount", "argsort.stable_out", "kaiser_window.beta", "masked_scatter"),
)


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_differs(name: str) -> None:
    assert differences(name, OPTIONS) == []


def test_all_public_operators_are_tried() -> None:
    assert len(operators()) > 1500
    assert not set(SAMPLE) - {*operators(), "kaiser_window.beta"}


def answers(monkeypatch: pytest.MonkeyPatch, cpu: Outcome, spyre: Outcome) -> None:
    monkeypatch.setattr(differential, "outcome", lambda _name, _seed, device: cpu if device == "cpu" else spyre)


def results(*values: float) -> Outcome:
    return Outcome("", "", [((1,), torch.tensor(values))])


def test_what_differs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    one = argparse.Namespace(seeds=(3, 4), errors=False, strides=False)
    for found in (results(1, 2), results(1), Outcome("RuntimeError", "no", [])):
        answers(monkeypatch, results(1, 3), found)
        (told,) = differences("add", one)
        assert told.startswith("add 3: ")
    answers(monkeypatch, Outcome("IndexError", "", []), Outcome("RuntimeError", "", []))
    assert differences("add", one) == []
    assert len(differences("add", argparse.Namespace(seeds=(3, 4), errors=True, strides=False))) == 1
