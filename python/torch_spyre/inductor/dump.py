"""SPYRE_DUMP and TORCH_LOGS=output_code: compiled kernels as text."""

from __future__ import annotations

import os
import pathlib

from .._engine import engine
from .kernel_spec import KernelSpec
from .kernel_text import kernel_text


def dump_kernel(spec: KernelSpec) -> None:
    """Writes `<name>.kernel.txt` into the folder that SPYRE_DUMP names, if it does."""
    folder = engine().settings()["dump"]
    if folder:
        path = pathlib.Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / f"{spec.name}.{os.getpid()}.kernel.txt").write_text(kernel_text(spec))
