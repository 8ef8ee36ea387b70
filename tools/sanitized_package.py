#!/usr/bin/env python3
"""The package with the torch-free layers of build/asan in it, in build/asan/package; then a command with it.

`tools/sanitized_package.py -m pytest tests/laws` runs that module in the interpreter of .venv, while AddressSanitizer
and UBSan watch base, device_sim, kernels and lazy, and all memory that anybody frees; engine/ is as built.
Needs `make setup` and `cmake --build --preset asan`, of the same sources. Linking takes seconds; nothing is compiled.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python"
WHEEL, SANITIZED = ROOT / "build" / "wheel", ROOT / "build" / "asan"
PACKAGE = SANITIZED / "package"
LAYERS = [f"libspyre_{layer}.a" for layer in ("base", "device_sim", "kernels", "lazy")]
OPTIONS = {
    # Python and libtorch keep what they have at exit; containers pass between code with and without annotations.
    "ASAN_OPTIONS": "detect_leaks=0:detect_container_overflow=0:detect_odr_violation=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


def link_command(module: str) -> list[str]:
    """How the wheel's build links this extension, with the other layers."""
    asked = ["ninja", "-C", str(WHEEL), "-t", "commands", "_C"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    words = shlex.split(next(line for line in reversed(said) if f"-o {module}" in line))
    words = words[words.index("&&") + 1 : len(words) - 1 - words[::-1].index("&&")]
    words = [str(SANITIZED / word) if word in LAYERS else word for word in words]
    words[words.index("-o") + 1] = str(PACKAGE / module)
    return [*words, "-fsanitize=address,undefined"]


def make_package() -> None:
    installed = Path(
        subprocess.run(
            [PYTHON, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    )
    shutil.rmtree(PACKAGE, ignore_errors=True)
    shutil.copytree(installed / "torch_spyre", PACKAGE / "torch_spyre")
    (extension,) = (PACKAGE / "torch_spyre").glob("_C.*.so")
    subprocess.run(link_command(f"torch_spyre/{extension.name}"), cwd=WHEEL, check=True)


def runtime(name: str) -> str:
    asked = ["g++", f"-print-file-name={name}"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def main(words: list[str]) -> None:
    make_package()
    preloaded = " ".join(map(runtime, ("libasan.so", "libubsan.so", "libstdc++.so")))
    found_first = {"LD_PRELOAD": preloaded, "PYTHONPATH": str(PACKAGE)}
    os.execve(PYTHON, [str(PYTHON), *words], {**os.environ, **OPTIONS, **found_first})


if __name__ == "__main__":
    main(sys.argv[1:])
