"""The walls: who may include whom. The edges themselves stand in the root CMakeLists.txt and nowhere else."""

from __future__ import annotations

import re

import pytest

from .tree import ROOT, cpp_files, includes, layers, reachable, shown

ORDER = ["base", "device_sim", "kernels", "lazy", "engine"]
# Third-party headers, and the only folders that may see them.
WALLS = {
    r"(torch|ATen|c10|caffe2)/|libkineto\.h|output_base\.h": {"engine", "python", "benchmarks"},
    r"pybind11/|torch/python\.h|torch/csrc/utils/pybind\.h|Python\.h": {"python"},
    r"asmjit/": {"kernels"},
    r"sleef\.h": {"kernels"},
    r"(tbb|oneapi/tbb)/": {"device_sim"},
    r"xxhash\.h": {"base"},
}


def folder_of(path) -> str:
    return path.relative_to(ROOT).parts[0]


def test_layers_are_found_in_their_order():
    assert list(layers()) == ORDER


@pytest.mark.parametrize("name", ORDER)
def test_arrows_point_down(name):
    above = set(ORDER[ORDER.index(name) :])
    assert not above & set(layers()[name].uses)


@pytest.mark.parametrize("name", ORDER)
def test_a_layer_includes_only_what_it_uses(name):
    allowed = reachable(name)
    wrong = []
    for path in cpp_files(name):
        for target in includes(path):
            match = re.match(r"spyre/(\w+)/", target)
            if match and match[1] not in allowed:
                wrong.append(f"{shown(path)} includes {target}")
    assert not wrong


def test_python_bindings_reach_no_deeper_than_the_engine_needs():
    wrong = [
        f"{shown(path)} includes {target}"
        for path in cpp_files("python")
        for target in includes(path)
        if target.startswith("spyre/") and target.split("/")[1] not in layers()
    ]
    assert not wrong


@pytest.mark.parametrize("pattern", WALLS)
def test_walls_hold(pattern):
    wrong = [
        f"{shown(path)} includes {target}"
        for path in cpp_files()
        if folder_of(path) not in WALLS[pattern]
        for target in includes(path)
        if re.match(pattern, target)
    ]
    assert not wrong


def test_private_headers_stay_private():
    """A header under <layer>/src is included by that layer alone, by its bare name."""
    owners: dict[str, set[str]] = {}
    for path in cpp_files():
        if path.suffix == ".h" and "src" in path.parts:
            owners.setdefault(path.name, set()).add(folder_of(path))
    wrong = [
        f"{shown(path)} includes {target}"
        for path in cpp_files()
        for target in includes(path)
        if target in owners and folder_of(path) not in owners[target]
    ]
    assert not wrong


def test_public_headers_live_in_their_own_include_root():
    """That is what makes an unlinked layer 'No such file', not just a failing test."""
    wrong = []
    for name in ORDER:
        root = ROOT / name / "include"
        wrong += [
            shown(p) for p in cpp_files(name) if p.is_relative_to(root) and not p.is_relative_to(root / "spyre" / name)
        ]
    assert not wrong
