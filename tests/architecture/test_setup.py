"""What `make setup` decides: never a CUDA build of torch, and nothing twice."""

from __future__ import annotations

import importlib.util

import pytest

from .tree import ROOT, tracked_files

spec = importlib.util.spec_from_file_location("spyre_setup", ROOT / "tools" / "setup.py")
setup = importlib.util.module_from_spec(spec)
spec.loader.exec_module(setup)

CUDA_BUILD = ["torch", "sympy", "nvidia-cudnn-cu13", "triton"]


def test_a_cpu_build_by_its_full_name_is_preferred(monkeypatch):
    monkeypatch.setattr(setup, "resolves_to", lambda _: ["torch", "sympy"])
    assert setup.cpu_torch_requirement() == f"torch=={setup.TORCH}+cpu"


def test_a_plain_build_is_taken_if_it_is_for_cpu(monkeypatch):
    monkeypatch.setattr(setup, "resolves_to", lambda name: "none" if name.endswith("+cpu") else ["torch", "sympy"])
    assert setup.cpu_torch_requirement() == f"torch=={setup.TORCH}"


def test_a_cuda_build_is_refused_and_the_way_out_named(monkeypatch):
    monkeypatch.setattr(setup, "resolves_to", lambda name: "none" if name.endswith("+cpu") else CUDA_BUILD)
    monkeypatch.setattr(setup, "installed_torch", lambda: None)
    monkeypatch.setattr(setup, "create_venv", lambda _: None)
    monkeypatch.setattr(setup, "run", lambda *_, **__: pytest.fail("nothing may be installed"))
    with pytest.raises(setup.SetupError, match="PIP_EXTRA_INDEX_URL"):
        setup.setup_torch()


def test_what_pip_could_not_reach_is_told(monkeypatch, capsys):
    monkeypatch.setattr(setup, "resolves_to", lambda _: "WARNING: Retrying\nERROR: the certificate is not trusted\n")
    assert setup.cpu_torch_requirement() is None
    assert "the certificate is not trusted" in capsys.readouterr().out


def test_the_layers_that_need_no_torch_install_none(monkeypatch):
    monkeypatch.setattr(setup, "setup_system", lambda _: None)
    monkeypatch.setattr(setup, "setup_torch", lambda: pytest.fail("`make build` needs no torch"))
    setup.setup([])


def test_each_interpreter_is_tried_once(monkeypatch, tmp_path):
    this, newest, other = (tmp_path / name for name in ("python3", "python3.13", "python3.11"))
    newest.touch(), other.touch()
    this.symlink_to(newest)
    monkeypatch.setattr(setup.sys, "executable", str(this))
    found = {path.name: str(path) for path in (newest, other)}
    monkeypatch.setattr(setup.shutil, "which", found.get)
    assert setup.interpreters() == [str(this), str(other)]


def test_no_requirement_names_torch_but_the_constraint():
    for path in (ROOT / "tools" / "requirements").glob("*.txt"):
        lines = [line for line in path.read_text().splitlines() if line.startswith("torch")]
        assert lines == ([f"torch=={setup.TORCH}"] if path.stem == "constraints" else [])


def test_a_digest_follows_names_and_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    file = tmp_path / "a.cpp"
    file.write_text("one")
    first = setup.digest([tmp_path])
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("product")
    assert setup.digest([tmp_path]) == first
    file.write_text("two")
    second = setup.digest([tmp_path])
    file.rename(tmp_path / "b.cpp")
    assert len({first, second, setup.digest([tmp_path])}) == 3


def test_everything_that_the_wheel_is_made_from_is_watched():
    """Every tracked C++, CMake or package file is under a watched path."""
    watched = [ROOT / name for name in setup.PACKAGE_SOURCES]
    sources = [p for p in tracked_files() if p.suffix in {".h", ".cpp", ".cmake"} and p.parent.name != "benchmarks"]
    assert [p for p in sources if not any(p.is_relative_to(w) for w in watched)] == []
