"""A plan in a folder: a manifest with the size and digest of each file, JSON, and the bytes of the parameters.

Nothing in it is code: no machine code, no pickles. What is read is read whole and checked before it is used.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from ..inductor.kernel_spec import KernelSpec
from .bounds import dtype_named
from .check import check
from .errors import PlanError
from .model import VERSION, LaunchSpec, PlanSpec, Program
from .typed_json import from_json, to_json

__all__ = ["MANIFEST", "is_plan", "read_parameters", "read_plan", "write_plan"]

MANIFEST = "manifest.json"
_LAUNCH_SPEC, _PROGRAM = "launch_spec.json", "plan.json"
_MAX_TEXT = 64 << 20


@dataclass(frozen=True)
class File:
    """One file of the folder."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """manifest.json: what the folder holds."""

    format: str
    version: int
    files: tuple[File, ...]


def write_plan(folder: str | os.PathLike[str], plan: PlanSpec, parameters: Sequence[torch.Tensor]) -> None:
    """Makes the folder. Raises FileExistsError if it holds anything."""
    check(plan)
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    if any(root.iterdir()):
        raise FileExistsError(f"{root}: a plan needs a folder of its own")
    contents = {_LAUNCH_SPEC: to_json(plan.launch_spec).encode(), _PROGRAM: to_json(plan.program).encode()}
    contents |= {_kernel(place): to_json(kernel).encode() for place, kernel in enumerate(plan.kernels)}
    contents |= {_parameter(place): _bytes_of(tensor) for place, tensor in enumerate(parameters)}
    files = tuple(File(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in contents.items())
    contents[MANIFEST] = to_json(Manifest("torch-spyre-plan", VERSION, files)).encode()
    for name, data in contents.items():
        (root / name).write_bytes(data)


def is_plan(folder: Path) -> bool:
    """Whether a folder says that it holds a plan."""
    return (folder / MANIFEST).is_file()


def read_plan(folder: str | os.PathLike[str]) -> PlanSpec:
    """The plan, every field of it checked; parameters are read by read_parameters. Raises PlanError."""
    root = Path(folder)
    manifest = _manifest(root)
    names = {file.name for file in manifest.files}
    kernels = 0
    while _kernel(kernels) in names:
        kernels += 1
    spec = from_json(LaunchSpec, _text(root, manifest, _LAUNCH_SPEC), _LAUNCH_SPEC)
    program = from_json(Program, _text(root, manifest, _PROGRAM), _PROGRAM)
    specs = (from_json(KernelSpec, _text(root, manifest, _kernel(k)), _kernel(k)) for k in range(kernels))
    plan = PlanSpec(spec, program, tuple(specs))
    check(plan)
    expected = {_LAUNCH_SPEC, _PROGRAM, *map(_kernel, range(kernels)), *map(_parameter, range(len(plan.parameters)))}
    for name in sorted(names ^ expected):
        raise PlanError(f"{MANIFEST}.files: {'no plan has a' if name in names else 'there is no'} file {name!r}")
    return plan


def read_parameters(folder: str | os.PathLike[str], plan: PlanSpec) -> list[torch.Tensor]:
    """The plan's own tensors, dense, on the host. Raises PlanError."""
    root = Path(folder)
    manifest = _manifest(root)
    tensors = []
    for place, argument in enumerate(plan.parameters):
        dtype = dtype_named(argument.dtype)
        buffer = plan.program.buffers[plan.program.windows[argument.window].buffer]
        data = _data(root, manifest, _parameter(place), buffer.elements * dtype.itemsize)
        if len(data) != buffer.elements * dtype.itemsize:
            raise PlanError.at(f"{_parameter(place)}: size", f"{buffer.elements * dtype.itemsize} bytes", len(data))
        tensors.append(torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype))
    return tensors


def _kernel(place: int) -> str:
    return f"kernel_{place}.json"


def _parameter(place: int) -> str:
    return f"parameter_{place}.bin"


def _bytes_of(tensor: torch.Tensor) -> bytes:
    flat = tensor.detach().cpu().contiguous().flatten()
    return flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""


def _manifest(root: Path) -> Manifest:
    manifest = from_json(Manifest, _decoded(_read(root, MANIFEST, _MAX_TEXT), MANIFEST), MANIFEST)
    if manifest.format != "torch-spyre-plan":
        raise PlanError.at(f"{MANIFEST}.format", "'torch-spyre-plan'", manifest.format)
    if manifest.version != VERSION:
        raise PlanError.at(f"{MANIFEST}.version", str(VERSION), manifest.version)
    if len({file.name for file in manifest.files}) != len(manifest.files):
        raise PlanError(f"{MANIFEST}.files: a file is named twice")
    return manifest


def _text(root: Path, manifest: Manifest, name: str) -> str:
    return _decoded(_data(root, manifest, name, _MAX_TEXT), name)


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise PlanError(f"{name}: not UTF-8: {error}") from None


def _data(root: Path, manifest: Manifest, name: str, most: int) -> bytes:
    """Only names that this module makes are ever opened."""
    place = next((place for place, file in enumerate(manifest.files) if file.name == name), None)
    if place is None:
        raise PlanError(f"{MANIFEST}.files: there is no file {name!r}")
    file = manifest.files[place]
    data = _read(root, name, most)
    if len(data) != file.bytes:
        raise PlanError.at(f"{MANIFEST}.files[{place}].bytes", f"{len(data)}, the size of {name}", file.bytes)
    if hashlib.sha256(data).hexdigest() != file.sha256:
        raise PlanError(f"{name}: its bytes are not those that {MANIFEST}.files[{place}].sha256 describes")
    return data


def _read(root: Path, name: str, most: int) -> bytes:
    """A regular file of the folder itself: links are not followed, pipes are not waited for."""
    try:
        handle = os.open(root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise PlanError(f"{name}: {error.strerror}: {root / name}") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise PlanError(f"{name}: not a regular file")
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read(most + 1)
    finally:
        os.close(handle)
    if len(data) > most:
        raise PlanError(f"{name}: longer than {most} bytes")
    return data
