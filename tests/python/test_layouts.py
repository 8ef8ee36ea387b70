"""SpyreTensorLayout and DataFormats as upstream names them, and number formats against torch's own tables."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest
import torch
import torch_spyre
from torch_spyre import layouts
from torch_spyre.layouts import DataFormats, ElementArrangement, SpyreTensorLayout

NUMBERS = {
    "SEN169_FP16": 0, "IEEE_FP32": 1, "INVALID": 2, "SEN143_FP8": 3, "SEN152_FP8": 4, "SEN153_FP9": 5, "SENINT2": 6,
    "SENINT4": 7, "SENINT8": 8, "SENINT16": 9, "SENINT24": 10, "IEEE_INT64": 11, "IEEE_INT32": 12, "SENUINT32": 13,
    "SENUINT2": 14, "IEEE_FP16": 15, "BOOL": 16, "BFLOAT16": 17, "SEN18F_FP24": 18,
}  # fmt: skip
ELEMENTS_IN_STICK = {
    torch.float16: 64, torch.bfloat16: 64, torch.bool: 64, torch.float32: 32, torch.int64: 32, torch.int32: 32,
    torch.int16: 64, torch.int8: 128, torch.uint8: 32, torch.float8_e4m3fn: 128, torch.float8_e5m2fnuz: 128,
}  # fmt: skip


def test_formats_have_upstreams_names_and_numbers():
    assert {name: int(value) for name, value in DataFormats.__members__.items()} == NUMBERS
    assert DataFormats.SEN169_FP16.elems_per_stick() == 64
    assert DataFormats.SENINT4.elems_per_stick() == 256
    assert DataFormats.SEN153_FP9.elems_per_stick() == 0


def test_arrangements_have_upstreams_names_and_numbers():
    names = ["STANDARD", "DL16_TO_FP32", "QFP8CH", "EXX2", "FP32_TO_DL16", "QFP8WT"]
    assert {name: int(value) for name, value in ElementArrangement.__members__.items()} == {
        name: number for number, name in enumerate(names)
    }


@pytest.mark.parametrize("dtype", ELEMENTS_IN_STICK, ids=str)
def test_every_dtype_of_the_card_has_a_format(dtype):
    assert layouts.get_elem_in_stick(dtype) == ELEMENTS_IN_STICK[dtype]
    assert layouts.get_device_dtype(dtype).elems_per_stick() == ELEMENTS_IN_STICK[dtype]
    assert layouts.is_convertible(layouts.get_host_dtype(dtype), layouts.get_device_dtype(dtype))
    assert layouts.is_convertible(layouts.get_device_dtype(dtype), layouts.get_host_dtype(dtype))


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(RuntimeError, match="does not support dtype"):
        SpyreTensorLayout([4], dtype)


def test_three_constructors():
    derived = SpyreTensorLayout((512, 256), torch.float16)
    assert (derived.device_size, derived.stride_map) == ([4, 512, 64], [64, 256, 1])
    ordered = SpyreTensorLayout([512, 256], [256, 1], torch.float16, [1, 0])
    assert (ordered.device_size, ordered.stride_map) == ([8, 256, 64], [16384, 1, 256])
    explicit = SpyreTensorLayout([4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16)
    assert explicit == derived
    assert hash(explicit) == hash(derived)
    assert explicit != ordered
    assert explicit != "a layout"
    assert SpyreTensorLayout(torch.Size([512, 256]), torch.float16) == derived


def test_prints_as_upstream():
    layout = SpyreTensorLayout([512, 256], torch.float16)
    text = "SpyreTensorLayout(device_size=[4, 512, 64], stride_map =[64, 256, 1], device_dtype=DataFormats.SEN169_FP16)"
    assert str(layout) == repr(layout) == text
    assert str(layout.with_element_arrangement(ElementArrangement.EXX2)).endswith("ElementArrangement.EXX2)")


def test_pickles():
    layout = SpyreTensorLayout([5, 100], torch.float32).with_element_arrangement(ElementArrangement.DL16_TO_FP32)
    assert pickle.loads(pickle.dumps(layout)) == layout
    assert copy.deepcopy(layout) == layout
    assert layout.__getstate__() == (3, [4, 5, 32], [32, 100, 1], 1, 1)


@pytest.mark.parametrize("state", [(2, [1, 64], [64, 1], 0, 0), (3, [1, 64], [64, 1], 99, 0), (3, [1, 64], [64, 1], 0)])
def test_a_wrong_pickle_is_refused(state):
    with pytest.raises(ValueError, match="layout"):
        SpyreTensorLayout.__new__(SpyreTensorLayout).__setstate__(state)


def test_what_cannot_be_is_refused():
    with pytest.raises(RuntimeError, match="Unsupported tensor rank"):
        SpyreTensorLayout([2] * 7, torch.float16)
    with pytest.raises(ValueError, match="dim_order"):
        SpyreTensorLayout([2, 3], [3, 1], torch.float16, [0, 0])
    with pytest.raises(ValueError, match="one stick"):
        SpyreTensorLayout([4, 32], [32, 1], DataFormats.SEN169_FP16)


def test_names_are_where_upstream_has_them():
    for name in ["DataFormats", "ElementArrangement", "SpyreTensorLayout", "get_device_dtype", "encode_constant"]:
        assert getattr(torch.spyre, name) is getattr(torch_spyre._C, name) is getattr(layouts, name)


def test_layouts_start_nothing(run_python):
    child = run_python(
        "import sys, torch; print(torch.spyre.SpyreTensorLayout([2, 3], torch.float16).nbytes);"
        "print('torch_spyre._C' in sys.modules, torch.spyre.is_initialized())"
    )
    assert child.stdout.split() == ["256", "False", "False"], child.stderr


def carried_out(nests, source: torch.Tensor, target: torch.Tensor) -> None:
    """The loop nests in plain Python, over flat tensors."""
    for nest in nests:
        for index in itertools.product(*map(range, nest["size"])):
            at = [
                nest[f"offset_{side}"] + sum(i * s for i, s in zip(index, nest[f"stride_{side}"], strict=True))
                for side in ("src", "dst")
            ]
            target[at[1]] = source[at[0]]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_copies_there_and_back(order):
    size, strides = [5, 70], [70, 1]
    layout = SpyreTensorLayout(size, strides, torch.float32, order)
    host = torch.arange(350)
    device, back = torch.full((layout.nbytes // 4,), -1), torch.full((350,), -1)
    carried_out(layouts.host_to_device(layout, size), host, device)
    assert (device == -1).sum() * 4 == layout.padding(350)
    carried_out(layouts.device_to_host(layout, size), device, back)
    assert torch.equal(back, host)


def test_restickify_moves_what_a_transfer_would():
    size = [5, 70]
    rows = SpyreTensorLayout(size, torch.float32)
    columns = rows.restickify(size, 0)
    assert columns == SpyreTensorLayout(size, [70, 1], torch.float32, [1, 0])
    host = torch.arange(350)
    first, second, expected = (torch.full((n // 4,), -1) for n in (rows.nbytes, columns.nbytes, columns.nbytes))
    carried_out(layouts.host_to_device(rows, size), host, first)
    carried_out(layouts.host_to_device(columns, size), host, expected)
    carried_out(layouts.device_to_device(rows, columns, size), first, second)
    assert torch.equal(second, expected)


def converted(tensor: torch.Tensor, source: DataFormats, target: DataFormats, dtype: torch.dtype) -> torch.Tensor:
    data = layouts.convert(tensor.contiguous().view(torch.uint8).numpy(), source, target)
    return torch.frombuffer(bytearray(data), dtype=dtype)


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    return torch.equal(a.view(torch.uint8), b.view(torch.uint8))


def all_floats() -> torch.Tensor:
    """Every exponent and sign with many fractions; no NaN but the usual one."""
    generator = torch.Generator().manual_seed(3)
    bits = torch.randint(-(2**31), 2**31, (200000,), dtype=torch.int64, generator=generator).to(torch.int32)
    values = bits.view(torch.float32)
    return torch.cat(
        [torch.nan_to_num(values, nan=1.0), torch.tensor([float("nan"), float("inf"), -0.0, 464.0, 448.0])]
    )


@pytest.mark.parametrize(
    ("name", "dtype"), [("SEN143_FP8", torch.float8_e4m3fn), ("SEN152_FP8", torch.float8_e5m2fnuz)]
)
def test_float8_is_torchs(name, dtype):
    kind = DataFormats.__members__[name]
    codes = torch.arange(256, dtype=torch.uint8)
    ours = converted(codes, kind, DataFormats.IEEE_FP32, torch.float32)
    torch.testing.assert_close(ours, codes.view(dtype).float(), rtol=0, atol=0, equal_nan=True)
    values = all_floats()
    assert same_bits(converted(values, DataFormats.IEEE_FP32, kind, dtype), values.to(dtype))


@pytest.mark.parametrize(("name", "dtype"), [("IEEE_FP16", torch.float16), ("BFLOAT16", torch.bfloat16)])
def test_16_bit_floats_are_torchs(name, dtype):
    values = all_floats()
    ours = converted(values, DataFormats.IEEE_FP32, DataFormats.__members__[name], dtype)
    assert same_bits(ours.nan_to_num(nan=3.0), values.to(dtype).nan_to_num(nan=3.0))


def test_the_card_loses_one_fraction_bit_of_float16():
    values = torch.rand(4096, generator=torch.Generator().manual_seed(0)).half()
    stored = converted(values, DataFormats.IEEE_FP16, DataFormats.SEN169_FP16, torch.int16)
    back = converted(stored, DataFormats.SEN169_FP16, DataFormats.IEEE_FP16, torch.float16)
    error = (back.float() - values.float()).abs().max().item()
    assert 0 < error <= 2**-11


def test_every_listed_conversion_runs():
    pairs = layouts.conversions()
    assert len(pairs) == 31
    for source, target in pairs:
        stick = bytes(range(128))
        assert len(layouts.convert(stick, source, target)) * target.elems_per_stick() == 128 * source.elems_per_stick()
    with pytest.raises(RuntimeError, match="no conversion from SENINT8 to IEEE_FP16"):
        layouts.convert(b"1", DataFormats.SENINT8, DataFormats.IEEE_FP16)
    with pytest.raises(ValueError, match="whole elements"):
        layouts.convert(b"123", DataFormats.IEEE_FP32, DataFormats.SENINT8)


def test_constants():
    assert layouts.encode_constant(1.0, DataFormats.IEEE_FP32) == 0x3F800000
    assert layouts.encode_constant(18.09375, DataFormats.SEN169_FP16) == 0b0_100011_001000011
    with pytest.raises(RuntimeError, match="no conversion"):
        layouts.encode_constant(1.0, DataFormats.IEEE_INT64)


def test_the_command_describes_a_layout(capsys):
    assert layouts.main(["512", "240"]) == 0
    text = capsys.readouterr().out
    assert "device size      [4, 512, 64]" in text
    assert "[i1 / 64, i0, i1 mod 64]" in text
    assert layouts.main(["512", "--dtype", "float64"]) == 2
    assert "does not support" in capsys.readouterr().err
