"""The description of compiled kernels for the card: each pass's text, its switch, and the descriptors."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch_spyre import _C
from torch_spyre.inductor.card.from_kernel import card_program
from torch_spyre.inductor.card.passes import PASSES, run_passes
from torch_spyre.inductor.card.schema import check
from torch_spyre.inductor.card.superdsc import superdsc
from torch_spyre.inductor.kernel_spec import ConstantArg, KernelSpec, OpSpec, SizeArg, Temporary, TensorArg

ROWS, COLUMNS = (64, 1), (1, 64)


def f16(buffer: int, *strides: int) -> TensorArg:
    return TensorArg(buffer, "float16", 0, strides)


def op(name: str, args: tuple[Any, ...], output: TensorArg, space: tuple[int, ...] = (64, 64), **more: Any) -> OpSpec:
    return OpSpec(name, "float16", "float16", space, args, output, **more)


#: y = exp(x + 1) + x.t(), largest of each row of it.
KERNEL = KernelSpec(
    name="kernel",
    arguments=("x", "y", "z"),
    on_device=(True, True, True),
    symbols=(),
    temporaries=(Temporary("float16", (4096,)), Temporary("float16", (4096,))),
    ops=(
        op("add", (f16(0, *ROWS), ConstantArg(1.0)), f16(3, *ROWS)),
        op("exp", (f16(3, *ROWS),), f16(4, *ROWS)),
        op("add", (f16(4, *ROWS), f16(0, *COLUMNS)), f16(1, *ROWS)),
        op("reduce.max", (f16(1, *ROWS),), f16(2, 1, 0), reduced=(1,)),
    ),
)
SHAPES = {"x": ((64, 64), (64, 1)), "y": ((64, 64), (64, 1)), "z": ((64,), (1,))}

STICKIFIED = """\
kernel kernel
  x: float16[64, 64] by [64, 1], device [1, 64, 64] by [64, 64, 1]
  y: float16[64, 64] by [64, 1], device [1, 64, 64] by [64, 64, 1]
  z: float16[64] by [1], device [1, 64] by [64, 1]
  %0: float16[64, 64] by [64, 1], device [1, 64, 64] by [64, 64, 1]{at0}
  %1: float16[64, 64] by [64, 1], device [1, 64, 64] by [64, 64, 1]{at1}
  x.sticks0: float16[64, 64] by [64, 1], device [1, 64, 64] by [4096, 1, 64]
  z.left: float16[64] by [1], device [1, 64, 64] by [-1, 1, -1]
  %0 = add.float16(x, 1.0) over [{rows}, 64] on {cores} cores
  %1 = exp.float16(%0) over [{rows}, 64] on {cores} cores
  x.sticks0 = ReStickifyOpHBM.float16(x) over [64, 64] on 1 cores
  y = add.float16(%1, x.sticks0) over [{rows}, 64] on {cores} cores
  z.left = reduce.max.float16(y) over [{rows}, 64+] on {cores} cores
  z = ReStickifyOpHBM.float16(z.left) over [64] on 1 cores
{notes}"""
NOTES = """\
  # x.sticks0: core_div_mismatch
  # z.left: core_div_mismatch
  # 256 bytes of every scratchpad
"""


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, str]]:
    """The text after each pass; the card of these tests has 32 cores."""
    monkeypatch.setenv("LX_PLANNING", "1")

    def run() -> dict[str, str]:
        after: dict[str, str] = {}
        run_passes(card_program(KERNEL, {}, SHAPES), after.__setitem__)
        return after

    return run


def test_each_pass_leaves_its_text(texts: Callable[[], dict[str, str]]) -> None:
    after = texts()
    assert after["stickify"] == STICKIFIED.format(rows="64", cores=1, at0="", at1="", notes="")
    divided = {"rows": "64/32", "cores": 32}
    assert after["core_division"] == STICKIFIED.format(**divided, at0="", at1="", notes="")
    assert after["scratchpad"] == STICKIFIED.format(**divided, at0=", lx +0", at1=", lx +0", notes=NOTES)


@pytest.mark.parametrize("name", [step.name for step in PASSES])
def test_each_pass_can_be_switched_off(name: str, texts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = texts()
    monkeypatch.setenv("SPYRE_COMPILE_PASSES", f"-{name}")
    without = texts()
    assert without.keys() == everything.keys() - {name}
    assert "ReStickify" in "".join(without.values()) or name == "stickify"


def test_scratchpads_are_planned_on_request(texts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LX_PLANNING", "0")
    assert "scratchpad" not in texts()


def test_unknown_passes_are_refused(texts: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPYRE_COMPILE_PASSES", "-stickfy")
    with pytest.raises(ValueError, match=r"'-stickfy'.*expected some of -stickify, -core_division, -scratchpad"):
        texts()


def test_descriptors_say_who_does_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LX_PLANNING", "1")
    program = card_program(KERNEL, {}, SHAPES)
    run_passes(program)
    descriptors = superdsc(program)
    check(descriptors)
    assert [*descriptors] == ["0_add", "1_exp", "2_ReStickifyOpHBM", "3_add", "4_reduce.max", "5_ReStickifyOpHBM"]
    largest = descriptors["4_reduce.max"]
    assert largest["numWkSlicesPerDim_"] == {"d0": 32, "d1": 1}
    assert largest["coreIdToWkSlice_"]["5"] == {"d0": 5, "d1": 0}
    described = largest["dscs_"][0]["reduce.max"]
    assert described["dataStageParam_"]["0"]["ss_"] == {"name_": "core", "d0_": 2, "d1_": 64}
    assert [label["scale_"] for label in described["labeledDs_"]] == [[1, 1], [1, -1]]
    assert described["computeOp_"][0]["reducedDims_"] == ["d1"]
    added = descriptors["0_add"]["dscs_"][0]["add"]
    assert added["constantInfo_"] == {"0": {"value_": 1.0, "bits_": 0x3E00}}
    assert [node["component_"] for node in added["scheduleTree_"]] == ["hbm", "lx"]
    assert added["computeOp_"][0]["inputLabeledDs"] == ["0", "constant0"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda d: d.pop("numCoresUsed_"), "no field 'numCoresUsed_'"),
        (lambda d: d.update(numCoresUsed_=0), "got 0; expected at least 1"),
        (lambda d: d.update(numCoresUsed_=True), "got True; expected integer"),
        (lambda d: d.update(more=1), "the field 'more' is not known"),
        (lambda d: d["dscs_"][0]["add"]["computeOp_"][0].update(exUnit="gpu"), "expected one of .'pt', 'sfp'"),
        (lambda d: d["dscs_"][0]["add"]["scheduleTree_"][0].update(nodeType_="free"), "expected 'allocate'"),
    ],
)
def test_the_schema_refuses_other_descriptors(change: Callable[[Any], None], told: str) -> None:
    program = card_program(KERNEL, {}, SHAPES)
    descriptors = copy.deepcopy(superdsc(program))
    check(descriptors)
    change(descriptors["0_add"])
    with pytest.raises(ValueError, match=told):
        check(descriptors)


def test_sizes_that_change_are_filled_in() -> None:
    args = TensorArg(0, "float32", 0, (1,)), SizeArg("1/s0")
    mul = OpSpec("mul", "float32", "float32", ("2*s0",), args, TensorArg(1, "float32", "s0", (1,)))
    spec = KernelSpec("kernel", ("x", "y"), (True, True), ("s0",), (), (mul,))
    program = card_program(spec, {"s0": 96}, {"x": ((192,), (1,)), "y": ((288,), (1,))})
    run_passes(program)
    assert program.ops[0].loops == (192,)
    assert program.ops[0].output.offset == 96
    described = superdsc(program)["0_mul"]["dscs_"][0]["mul"]
    assert described["dimToSymbolMapping_"] == {"s0": 96}
    assert described["constantInfo_"]["0"] == {"value_": "1/s0", "bits_": None}


def test_types_without_a_form_on_the_card_are_described_by_their_strides() -> None:
    spec = KernelSpec("kernel", ("x",), (True,), (), (),
                      (OpSpec("neg", "float64", "float64", (64,), (TensorArg(0, "float64", 0, (1,)),),
                              TensorArg(0, "float64", 0, (1,))),))  # fmt: skip
    program = card_program(spec, {}, {"x": ((64,), (1,))})
    run_passes(program)
    check(superdsc(program))
    assert program.ops[0].splits == (32,)


def test_numbers_of_integers_are_described_without_bits() -> None:
    args = TensorArg(0, "int64", 0, (1,)), ConstantArg(-100)
    maximum = OpSpec("maximum", "int64", "int64", (64,), args, TensorArg(1, "int64", 0, (1,)))
    program = card_program(
        KernelSpec("kernel", ("x", "y"), (True, True), (), (), (maximum,)), {}, {"x": ((64,), (1,)), "y": ((64,), (1,))}
    )
    run_passes(program)
    descriptors = superdsc(program)
    check(descriptors)
    assert descriptors["0_maximum"]["dscs_"][0]["maximum"]["constantInfo_"] == {"0": {"value_": -100, "bits_": None}}


def test_planners_are_the_cards() -> None:
    assert _C.divide_loops([(256, False, False), (48, True, False)], []) == [32, 1]
    assert _C.divide_product(1, 256, 512, 128, shared_right=True) == [1, 4, 8, 1]
    assert _C.slice_of_core(5, [4, 8]) == [1, 1]
    assert _C.plan_scratchpad([(100, 0, 1, False), (100, 1, 2, True), (1 << 40, 2, 2, False)]) == ([0, 0, None], 128)
    with pytest.raises(ValueError, match="a loop that is not there"):
        _C.divide_loops([(4, False, False)], [[(1, 4)]])


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_compiling_writes_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LX_PLANNING", "1")

    def program(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return F.softmax(F.linear(x, weight) * x.shape[0], -1)

    with torch._inductor.config.patch(force_disable_caches=True), torch.spyre.config(dump=str(tmp_path)):
        torch.compile(program, dynamic=True)(torch.randn(48, 64, device="spyre"), torch.randn(32, 64, device="spyre"))
    steps = {path.suffixes[-2] for path in tmp_path.iterdir() if len(path.suffixes) > 2}
    assert steps == {".decompositions", ".lowering", ".kernel", *(f".{step.name}" for step in PASSES), ".superdsc"}
    files = [*tmp_path.glob("*.superdsc.json")]
    assert len(files) == 2
    for path in files:
        check(json.loads(path.read_text()))
    # The weight's rows lie in sticks, its columns are wanted there.
    assert any('"0_ReStickifyOpHBM"' in text and '"1_batchmatmul"' in text for text in map(Path.read_text, files))
