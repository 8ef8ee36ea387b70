#!/usr/bin/env python3
"""Brings a fresh Debian machine to the point where the asked parts can run: `tools/setup.py package test`.

Every step looks first and acts only if something is missing or has changed, so a second run costs a fraction of a
second. What was done is remembered as a digest of its inputs under .venv/stamps/. Needs only the standard library:
it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STAMPS = VENV / "stamps"
REQUIREMENTS = ROOT / "tools" / "requirements"
PEERS = ROOT / "build" / "peers"

DEBIAN_PACKAGES = [
    "ccache",
    "cmake",
    "g++",
    "libasmjit-dev",
    "libgtest-dev",
    "libsleef-dev",
    "libtbb-dev",
    "libxxhash-dev",
    "ninja-build",
    "nlohmann-json3-dev",
    "python3-dev",
    "python3-venv",
]
BROWSER_PACKAGES = ["chromium"]  # for the tests of HTML pages only: 110 MB
TORCH = "2.13.0"
CPU_TORCH = {TORCH, f"{TORCH}+cpu"}
# Everything that the wheel is made from; a change here, and only here, builds it anew.
PACKAGE_SOURCES = [
    "CMakeLists.txt",
    "cmake",
    "pyproject.toml",
    "base",
    "device_sim",
    "kernels",
    "lazy",
    "engine",
    "python",
]
OTHER_PARTS = ("package", "peers", "browser")  # those that are no list of Python packages
PIP = [str(PYTHON), "-m", "pip", "--disable-pip-version-check"]
# Names that only a CUDA build of torch brings along.
CUDA_PREFIXES = ("nvidia-", "cuda-", "triton", "pytorch-triton")


class SetupError(Exception):
    """Something that the person at the keyboard has to decide; the message says what."""


def say(text: str) -> None:
    print(f"[setup] {text}", flush=True)


def run(command: list[str], **options: object) -> None:
    try:
        subprocess.run(command, check=True, cwd=ROOT, **options)  # type: ignore[call-overload]
    except subprocess.CalledProcessError as error:
        raise SetupError(f"`{' '.join(command)}` ended with status {error.returncode}") from None


def digest(paths: Iterable[Path], *extra: str) -> str:
    """Content hash of files and folders, by name and bytes; build products do not count."""
    total = hashlib.sha256("\0".join(extra).encode())
    for path in paths:
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            if "__pycache__" in file.parts or file.suffix in {".pyc", ".so"}:
                continue
            total.update(str(file.relative_to(ROOT)).encode() + b"\0")
            total.update(file.read_bytes())
    return total.hexdigest()


def is_done(step: str, key: str) -> bool:
    stamp = STAMPS / step
    return stamp.exists() and stamp.read_text() == key


def mark_done(step: str, key: str) -> None:
    STAMPS.mkdir(parents=True, exist_ok=True)
    (STAMPS / step).write_text(key)


@contextlib.contextmanager
def lock() -> Iterator[None]:
    """One set-up at a time in a checkout: `make demo` and `make test` may be started side by side."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / ".setup.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def missing_debian_packages(wanted: list[str]) -> list[str]:
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout
    installed = {line.split()[0] for line in answer.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


def setup_system(wanted: list[str]) -> None:
    if shutil.which("dpkg-query") is None:
        say("not a Debian system: expecting these or their like to be there: " + " ".join(wanted))
        return
    missing = missing_debian_packages(wanted)
    if not missing:
        return
    say("Debian packages: " + " ".join(missing))
    root = [] if os.geteuid() == 0 else ["sudo"]
    if root and shutil.which("sudo") is None:
        raise SetupError("these need root: apt-get install " + " ".join(missing))
    run([*root, "apt-get", "update", "-qq"])
    environment = [*root, "env", "DEBIAN_FRONTEND=noninteractive"]
    run([*environment, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing])


def create_venv(interpreter: str) -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    run([interpreter, "-m", "venv", str(VENV)])


def interpreters() -> list[str]:
    """This Python first, then the others of the machine that are new enough, each once."""
    found = [sys.executable, *(shutil.which(f"python3.{minor}") for minor in (11, 12, 13, 14))]
    by_file: dict[str, str] = {}
    for path in found:
        if path is not None:
            by_file.setdefault(os.path.realpath(path), path)
    return list(by_file.values())


def installed_torch() -> str | None:
    """The version of torch in .venv, and whether it is a CUDA build, without the seconds that importing it costs."""
    for version_file in VENV.glob("lib/python*/site-packages/torch/version.py"):
        found: dict[str, object] = {}
        exec(version_file.read_text(), found)
        return f"{found['__version__']}" + (" with CUDA" if found.get("cuda") else "")
    return None


def resolves_to(requirement: str) -> list[str] | str:
    """Names of what pip would install, or why it can't. Downloads no wheel where the index has metadata."""
    command = [*PIP, "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-", requirement]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if answer.returncode != 0:
        return answer.stderr
    return [item["metadata"]["name"].lower() for item in json.loads(answer.stdout)["install"]]


def cpu_torch_requirement() -> str | None:
    """The requirement that brings a CPU build from the indexes that pip is set up with, if one does."""
    for requirement in (f"torch=={TORCH}+cpu", f"torch=={TORCH}"):
        found = resolves_to(requirement)
        if isinstance(found, list) and not any(name.startswith(CUDA_PREFIXES) for name in found):
            return requirement
    if isinstance(found, str):  # not even a CUDA build: an index out of reach looks like this too
        say("pip: " + "\n      ".join(dict.fromkeys(found.strip().splitlines()[-3:])))
    return None


def setup_torch() -> None:
    """A virtual environment with a CPU build of torch, for the first Python here that there is such a build for."""
    present = installed_torch() if PYTHON.exists() else None
    if present in CPU_TORCH:
        return
    if present is not None:
        raise SetupError(f".venv holds torch {present}, this needs {TORCH} for CPU: `make clean` removes .venv")
    for interpreter in interpreters():
        create_venv(interpreter)
        requirement = cpu_torch_requirement()
        if requirement is None:
            say(f"no CPU build of torch {TORCH} for {interpreter}")
            continue
        say(f"{requirement} for {interpreter}")
        run([*PIP, "install", "--quiet", requirement])
        if installed_torch() not in CPU_TORCH:
            raise SetupError(f"pip was asked for {requirement} and installed torch {installed_torch()}")
        return
    raise SetupError(
        f"pip finds no CPU build of torch {TORCH}, and a CUDA build (gigabytes, of no use here) is never installed. "
        "Set PIP_EXTRA_INDEX_URL to PyTorch's index of CPU wheels (its start page tells the address: platform "
        "'CPU'), or PIP_FIND_LINKS to a folder with such a wheel, or PYTHON to another Python that has one, and "
        "run this again. `make build` needs no torch."
    )


def setup_requirements(group: str) -> None:
    """Installs tools/requirements/<group>.txt; the constraints keep torch as it is."""
    wanted, constraints = REQUIREMENTS / f"{group}.txt", REQUIREMENTS / "constraints.txt"
    key = digest([wanted, constraints], sys.version)
    if is_done(group, key):
        return
    say(f"Python packages for {group}")
    run([*PIP, "install", "--quiet", "--requirement", str(wanted), "--constraint", str(constraints)])
    mark_done(group, key)


def setup_peers() -> None:
    """An environment for each peer of the benchmarks that torch does not bring: nothing else ever sees them."""
    for wanted in sorted((REQUIREMENTS / "peers").glob("*.txt")):
        folder, key = PEERS / wanted.stem, digest([wanted], sys.version)
        if is_done(f"peer-{wanted.stem}", key) and folder.exists():
            continue
        say(f"an environment for {wanted.stem}")
        run([str(PYTHON), "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        run([*pip, "install", "--quiet", "--requirement", str(wanted)])
        mark_done(f"peer-{wanted.stem}", key)


def setup_package() -> None:
    key = digest([ROOT / name for name in PACKAGE_SOURCES], sys.version)
    if is_done("package", key):
        return
    say("building torch_spyre (some minutes the first time)")
    environment = dict(os.environ)
    environment.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    if shutil.which("ccache") is not None:
        environment.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    flags = ["--force-reinstall", "--no-build-isolation", "--no-deps"]
    run([*PIP, "install", "--quiet", *flags, "."], env=environment)
    mark_done("package", key)


def setup(parts: list[str]) -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 — this file runs before anything has been checked
        raise SetupError(f"needs Python 3.11 or newer, this is {sys.version.split()[0]}; set PYTHON=python3.x")
    setup_system(DEBIAN_PACKAGES + (BROWSER_PACKAGES if "browser" in parts else []))
    if parts:  # the layers below engine/ need no torch
        setup_torch()  # first: whatever follows finds it there and brings no other
    for part in parts:
        if part == "package":
            setup_requirements("build")
            setup_package()
        elif part == "peers":
            setup_peers()
        elif part != "browser":
            setup_requirements(part)


def main() -> int:
    groups = sorted(path.stem for path in REQUIREMENTS.glob("*.txt") if path.stem != "constraints")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join([*OTHER_PARTS, *groups]))
    parts = parser.parse_args().parts
    unknown = set(parts) - {*OTHER_PARTS, *groups}
    if unknown:
        parser.error(f"unknown part {', '.join(sorted(unknown))}; there are: {', '.join([*OTHER_PARTS, *groups])}")
    try:
        with lock():
            setup(parts)
    except SetupError as error:
        print(f"[setup] {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
