"""Hostile folders: whatever the bytes, loading gives a plan or a PlanError, and a loaded plan stays in its memory."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_spyre import plans

EXAMPLES = int(os.environ.get("SPYRE_FUZZ_EXAMPLES", "40")) * 5
INPUT = torch.linspace(-1, 1, 24).view(4, 6)
NUMBERS = [-1, 0, 1, 7, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**64, 10**400, 0.5, 1e308, *range(9)]
OTHERS = [True, None, "", "x" * 10000, [], {}, [[]], {"kind": "TensorArg"}, {"float": "nan"}, {"float": []}]
WORDS = ["float64", "int8", "bool", "exp", "cast", "div", "reduce.max", "reduce.argmax", "aten::relu"]
SIZE = {"kind": "SizeArg", "expression": "__import__('os').abort()"}
NAMES = ["../plan.json", "/etc/passwd", "aten::set_", "aten::topk.values"]


def model(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    products = x @ x.t()
    powers = (products - products.amax(-1, keepdim=True)).exp()
    scores = powers / powers.sum(-1, keepdim=True) * 2
    return scores[:, 1:], torch.cat([x.cumsum(1), x])


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("plans") / "sound"
    plans.save(folder, model, INPUT.to("spyre"))
    return folder


@pytest.fixture
def copy(sound, tmp_path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "copy"))


def sign(folder: Path) -> None:
    """Makes the manifest fit the files, so that what is in them is looked at."""
    manifest = json.loads((folder / "manifest.json").read_text())
    for file in manifest["files"]:
        data = (folder / file["name"]).read_bytes()
        file |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Changes what a file says."""
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_text(json.dumps(value))
    sign(folder)


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value: its container and key."""
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from leaves(value[key])


def is_small(plan: plans.Plan) -> bool:
    """Whether running it ends soon: a plan may well ask for much work."""
    spaces = [op.iteration_space for kernel in plan.text.kernels for op in kernel.ops]
    sizes = [[buffer.elements] for buffer in plan.text.program.buffers]
    sizes += [temporary.sizes for kernel in plan.text.kernels for temporary in kernel.temporaries]
    return all(torch.Size(space).numel() < 2**24 for space in [*spaces, *sizes])


def attempt(folder: Path) -> bool:
    """Whether the folder has a plan; if so it is launched, and may raise errors of torch."""
    try:
        plan = plans.load(folder)
    except plans.PlanError as error:
        return not str(error)
    if not is_small(plan):
        return True
    try:
        inputs = [torch.zeros(1).new_zeros(arg.shape).to("spyre") for arg in plan.text.inputs]
        plan(*inputs)
        torch.spyre.synchronize()
    except (ValueError, RuntimeError, IndexError, TypeError, ArithmeticError, NotImplementedError):
        pass
    return True


def test_a_sound_plan_still_works_afterwards(sound) -> None:
    assert attempt(sound)
    expected = model(INPUT)
    for got, wanted in zip(plans.load(sound)(INPUT.to("spyre")), expected, strict=True):
        torch.testing.assert_close(got.cpu(), wanted)


def test_flipped_bits_are_noticed(sound, copy) -> None:
    random_ = random.Random(1)
    files = sorted(path.name for path in sound.iterdir() if path.name != "manifest.json")
    for _ in range(EXAMPLES):
        name = random_.choice(files)
        data = bytearray((sound / name).read_bytes())
        data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
        (copy / name).write_bytes(data)
        with pytest.raises(plans.PlanError, match=name):
            plans.load(copy)
        shutil.copy(sound / name, copy / name)


def test_flipped_bits_under_a_new_digest_do_no_harm(sound, copy) -> None:
    random_ = random.Random(2)
    files = sorted(path.name for path in sound.iterdir())
    for _ in range(EXAMPLES):
        name = random_.choice(files)
        data = bytearray((sound / name).read_bytes())
        for _ in range(random_.choice([1, 1, 2, 8])):
            data[random_.randrange(len(data))] ^= 1 << random_.randrange(8)
        (copy / name).write_bytes(data)
        if name != "manifest.json":
            sign(copy)
        attempt(copy)
        for changed in (name, "manifest.json"):
            shutil.copy(sound / changed, copy / changed)


def test_truncated_files_are_noticed(sound, copy) -> None:
    random_ = random.Random(3)
    for path in sorted(sound.iterdir()):
        data = path.read_bytes()
        for length in {0, 1, len(data) - 2, *(random_.randrange(len(data)) for _ in range(8))}:
            (copy / path.name).write_bytes(data[:length])
            with pytest.raises(plans.PlanError, match=path.name):
                plans.load(copy)
            if path.name != "manifest.json":
                sign(copy)
                with pytest.raises(plans.PlanError, match=path.name):
                    plans.load(copy)
                shutil.copy(sound / "manifest.json", copy / "manifest.json")
        shutil.copy(path, copy / path.name)


def test_missing_files_are_named(sound, copy) -> None:
    for path in sorted(sound.iterdir()):
        (copy / path.name).unlink()
        with pytest.raises(plans.PlanError, match=path.name):
            plans.load(copy)
        shutil.copy(path, copy / path.name)


def test_other_values_do_no_harm(sound, copy) -> None:
    random_ = random.Random(4)
    files = sorted(path.name for path in sound.glob("*.json"))
    loaded = 0
    for _ in range(2 * EXAMPLES):
        name = random_.choice(files)
        value = json.loads((sound / name).read_text())
        places = list(leaves(value))
        for _ in range(random_.choice([1, 1, 1, 2])):
            container, key = random_.choice(places)
            container[key] = random_.choice([*NUMBERS, *OTHERS, *WORDS, *NAMES])
        (copy / name).write_text(json.dumps(value))
        if name != "manifest.json":
            sign(copy)
        loaded += attempt(copy)
        for changed in (name, "manifest.json"):
            shutil.copy(sound / changed, copy / changed)
    assert loaded > 0  # some changes are harmless: the check lets plans pass


def first_tensor(kernel: Any) -> Any:
    return next(arg for op in kernel["ops"] for arg in op["args"] if arg["kind"] == "TensorArg")


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("launch_spec.json", lambda v: v.update(version=2), r"launch_spec.json.version: expected 1; got 2"),
        ("launch_spec.json", lambda v: v.update(symbol_kinds=["dim"]), "no symbolic sizes"),
        ("launch_spec.json", lambda v: v.update(extra=1), "unknown field 'extra'"),
        ("launch_spec.json", lambda v: v.pop("pool_size"), "no field 'pool_size'"),
        ("launch_spec.json", lambda v: v["args"][0].update(shape=[4, 7]), r"args\[0\].shape"),
        ("launch_spec.json", lambda v: v["args"][0].update(role="secret"), r"args\[0\].role"),
        ("plan.json", lambda v: v["buffers"][0].update(elements=2**62), r"plan.json.buffers\[0\].elements"),
        ("plan.json", lambda v: v["buffers"][1].update(elements=1), r"plan.json.windows\[\d+\]: reaches elements"),
        ("plan.json", lambda v: v["windows"][0].update(offset=-1), "reaches elements -1"),
        ("plan.json", lambda v: v["windows"][0].update(buffer=99), r"plan.json.windows\[0\].buffer"),
        ("plan.json", lambda v: v["steps"][0].update(op="aten::set_.source_Tensor"), r"steps\[0\].op"),
        ("plan.json", lambda v: v["steps"][0].update(op="aten::from_file"), r"steps\[0\].op"),
        ("plan.json", lambda v: v["steps"][0].update(op="aten::__class__"), r"steps\[0\].op"),
        ("plan.json", lambda v: v["steps"][0].update(op="os::system"), r"steps\[0\].op"),
        ("plan.json", lambda v: v["steps"][0].update(results=[0]), r"steps\[0\].results"),
        ("plan.json", lambda v: v["outputs"].append(0), "plan.json.outputs"),
        ("kernel_0.json", lambda v: v["ops"][0].update(op="system"), r"kernel_0.json.ops\[0\].op"),
        ("kernel_0.json", lambda v: v["ops"][0].update(compute="complex64"), r"ops\[0\].compute"),
        ("kernel_0.json", lambda v: v["ops"][0].update(iteration_space=[4, 2**41]), "reaches elements"),
        ("kernel_0.json", lambda v: v["ops"][0]["output"].update(buffer=77), "output.buffer"),
        ("kernel_0.json", lambda v: first_tensor(v).update(offset=2**40), "reaches elements"),
        ("kernel_0.json", lambda v: first_tensor(v).update(offset="x"), "expected numbers; got 'x'"),
        ("kernel_0.json", lambda v: v.update(symbols=["s0"]), "kernel_0.json.symbols"),
        ("kernel_0.json", lambda v: v["ops"][1].update(args=[SIZE, SIZE]), r"kernel_0.json.ops\[1\].args\[0\].kind"),
        ("kernel_0.json", lambda v: v.update(on_device=[False] * len(v["on_device"])), "kernel_0.json.on_device"),
    ],
)
def test_the_error_names_the_field(copy, name, change, told) -> None:
    edit(copy, name, change)
    with pytest.raises(plans.PlanError, match=told):
        plans.load(copy)


@pytest.mark.parametrize("name", ["../copy/plan.json", "/etc/passwd", "plan.json\0", "kernel_00.json"])
def test_other_names_are_not_opened(copy, name) -> None:
    manifest = json.loads((copy / "manifest.json").read_text())
    next(file for file in manifest["files"] if file["name"] == "plan.json")["name"] = name
    (copy / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(plans.PlanError, match=r"there is no file 'plan\.json'"):
        plans.load(copy)


def test_links_pipes_and_folders_are_not_read(copy, tmp_path) -> None:
    plan = copy / "plan.json"
    plan.rename(tmp_path / "elsewhere.json")
    for make in (lambda: plan.symlink_to(tmp_path / "elsewhere.json"), lambda: os.mkfifo(plan), plan.mkdir):
        make()
        with pytest.raises(plans.PlanError, match=r"plan\.json"):
            plans.load(copy)
        plan.rmdir() if plan.is_dir() else plan.unlink()


def test_deep_and_twofold_texts_are_refused(copy) -> None:
    for text in ("[" * 100_000, '{"kind": "Program", "kind": "Program"}', "NaN", '{"kind": "Program"', "\udcff"):
        (copy / "plan.json").write_bytes(text.encode(errors="surrogateescape"))
        sign(copy)
        with pytest.raises(plans.PlanError, match=r"plan\.json"):
            plans.load(copy)
