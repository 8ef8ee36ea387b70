"""Budgets: rooms stay small enough to be read at one sitting. An exception needs a name and a reason here."""

from __future__ import annotations

from functools import cache

import lizard
import pytest

from .tree import cpp_files, python_files, shown

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
# A switch counts once: a table of cases is easy to read.
MAX_COMPLEXITY = 16
MAX_PARAMETERS = 8

# path -> why it is longer than the budget
LONG_FILES: dict[str, str] = {}
# (path, function) -> why
LONG_FUNCTIONS: dict[tuple[str, str], str] = {}
BRANCHY_FUNCTIONS: dict[tuple[str, str], str] = {
    ("kernels/src/lowering.cpp", "spyre::kernels::Lowering::lower_points"): "a table: one line per kind of step",
    ("kernels/src/invariants.cpp", "spyre::kernels::remove_dead"): "a mark and sweep in one place",
}
GREEDY_FUNCTIONS: dict[tuple[str, str], str] = {
    ("lazy/src/graph.cpp", "spyre::lazy::Graph::add_reduction"): "the fields of a node, in their order",
    ("python/torch_spyre/config.py", "config"): "named options, one each",
}
EXCEPTIONS = [LONG_FILES, LONG_FUNCTIONS, BRANCHY_FUNCTIONS, GREEDY_FUNCTIONS]

SOURCES = [*cpp_files(), *python_files()]


def line_count(path) -> int:
    return path.read_text().count("\n")


@cache
def functions() -> list[tuple[str, lizard.FunctionInfo]]:
    analyze = lizard.FileAnalyzer(lizard.get_extensions(["modified"]))
    return [(shown(path), function) for path in SOURCES for function in analyze(str(path)).function_list]


def over_budget(measure, budget: int, exceptions: dict[tuple[str, str], str]) -> list[tuple[str, str, int]]:
    return [
        (path, function.name, measure(function))
        for path, function in functions()
        if measure(function) > budget and (path, function.name) not in exceptions
    ]


def test_files_fit():
    long = [(shown(p), line_count(p)) for p in SOURCES if line_count(p) > MAX_FILE_LINES]
    assert [entry for entry in long if entry[0] not in LONG_FILES] == []


def test_functions_fit():
    assert over_budget(lambda f: f.length, MAX_FUNCTION_LINES, LONG_FUNCTIONS) == []


def test_functions_are_not_branchy():
    assert over_budget(lambda f: f.cyclomatic_complexity, MAX_COMPLEXITY, BRANCHY_FUNCTIONS) == []


def test_functions_take_few_parameters():
    """But for kernels of operators, whose parameters are those of PyTorch's schemas."""
    greedy = over_budget(lambda f: len(f.parameters), MAX_PARAMETERS, GREEDY_FUNCTIONS)
    assert [entry for entry in greedy if not entry[0].startswith("engine/")] == []


@pytest.mark.parametrize("exceptions", EXCEPTIONS)
def test_exceptions_are_still_needed(exceptions):
    files = {shown(p) for p in SOURCES}
    names = {(path, function.name) for path, function in functions()}
    assert [key for key in exceptions if key not in files | names] == []
