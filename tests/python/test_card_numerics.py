"""SPYRE_NUMERICS=card: numbers are what the card's formats hold of them, however they come to be."""

from __future__ import annotations

import pytest
import torch
from torch_spyre import _C, layouts
from torch_spyre.layouts import DataFormats

HOST = {torch.float16: DataFormats.IEEE_FP16, torch.bfloat16: DataFormats.BFLOAT16}
LARGEST = 8577351168.0  # from here on DLFloat16 has no number


@pytest.fixture(autouse=True)
def _on_the_cards_numbers():
    warns = _C.get_downcast_warning()
    _C.set_downcast_warning(False)
    with torch.spyre.config(numerics="card"):
        yield
    _C.set_downcast_warning(warns)


def on_card(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """What the card keeps of float32 numbers and gives back in `dtype`; infinities stay."""
    dl16 = layouts.convert(values.numpy().tobytes(), DataFormats.IEEE_FP32, DataFormats.SEN169_FP16)
    wide = layouts.convert(dl16, DataFormats.SEN169_FP16, DataFormats.IEEE_FP32)
    back = torch.frombuffer(bytearray(wide), dtype=torch.float32).reshape(values.shape)
    too_large = values.abs() > LARGEST
    back = torch.where(too_large, values.sign() * torch.inf, back)
    if dtype == torch.float16:
        back = torch.where((values.abs() < 65520) & (back.abs() > 65472), values.sign() * 65472, back)
    return back.to(dtype)


def every(dtype: torch.dtype) -> torch.Tensor:
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)


def assert_same(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert found.dtype == expected.dtype
    assert torch.equal(found.isnan(), expected.isnan())
    bits = [t[~expected.isnan()].view(torch.int16) for t in (found, expected)]
    assert torch.equal(*bits)


@pytest.mark.parametrize("dtype", HOST, ids=str)
def test_transfers_round_every_number(dtype):
    values = every(dtype)
    assert_same(values.to("spyre").cpu(), on_card(values.float(), dtype))


def test_the_examples_of_the_reference():
    x = torch.tensor([0.5903, 0.1669, 0.1876, 65504, -65504, 65472, 1 / 3], dtype=torch.float16)
    away = [0.5908203125, 0.1669921875, 0.187744140625, 65472, -65472, 65472, 0.33349609375]
    assert x.to("spyre").cpu().tolist() == away


@pytest.mark.parametrize("dtype", HOST, ids=str)
def test_operations_round_once(dtype):
    generator = torch.Generator().manual_seed(1)
    x, y = (on_card(torch.randn(4096, generator=generator), dtype) for _ in range(2))
    a, b = x.to("spyre"), y.to("spyre")
    assert_same((a + b).cpu(), on_card(x.float() + y.float(), dtype))
    assert_same((a * b).cpu(), on_card(x.float() * y.float(), dtype))
    assert_same((a / b).cpu(), on_card(x.float() / y.float(), dtype))
    assert_same(a.add_(b).mul_(3).cpu(), on_card(on_card(x.float() + y.float(), dtype).float() * 3, dtype))
    assert_same(torch.full((3,), 0.1, dtype=dtype, device="spyre").cpu(), on_card(torch.full((3,), 0.1), dtype))
    assert_same(b.float().to(dtype).cpu(), y)


def test_products_and_reductions_round_their_float32_once():
    generator = torch.Generator().manual_seed(2)
    x, y = (on_card(torch.randn(64, 64, generator=generator), torch.float16) for _ in range(2))
    a, b = x.to("spyre"), y.to("spyre")
    wide = (a.float() @ b.float()).cpu()
    assert_same((a @ b).cpu(), on_card(wide, torch.float16))
    assert_same(a.amax(1).cpu(), x.amax(1))
    assert not torch.equal((a @ b).cpu(), wide.half())


def test_library_operations_and_the_host_round_too():
    x = on_card(torch.rand(1, 1, 8, 8, generator=torch.Generator().manual_seed(3)), torch.float16)
    found = torch.nn.functional.avg_pool2d(x.to("spyre"), 3).cpu()
    assert_same(found, on_card(found.float(), torch.float16))
    values = torch.tensor([0.5903, 0.1669], dtype=torch.float16)
    target = torch.zeros(4, dtype=torch.float16, device="spyre")
    target.put_(torch.tensor([0, 3], device="spyre"), values.to("spyre"))
    assert_same(target.cpu()[[0, 3]], on_card(values.float(), torch.float16))


def test_int64_is_kept_as_int32():
    x = torch.tensor([5, -5, 2**31 + 1, 2**40 + 7])
    device = x.to("spyre")
    assert device.dtype == torch.int64
    assert device.cpu().tolist() == [5, -5, -(2**31) + 1, 7]
    assert (device * 2**30).cpu().tolist() == [2**30, -(2**30), 2**30, -(2**30)]
    assert torch.arange(3, device="spyre").cumsum(0).cpu().tolist() == [0, 1, 3]


def test_a_downcast_is_told_of_once(run_python):
    code = "import torch; [torch.arange(3).to('spyre') for _ in range(2)]; print('done')"
    for shown, variables in [(1, {}), (0, {"TORCH_SPYRE_DOWNCAST_WARN": "0"})]:
        child = run_python(code, SPYRE_NUMERICS="card", **variables)
        assert child.stdout == "done\n", child.stderr
        assert child.stderr.count("keeps int64 as int32") == shown
    assert "int32" not in run_python(code).stderr


def test_the_warning_is_switched_by_upstreams_name(run_python):
    code = "import torch; torch.spyre.set_downcast_warning(False); torch.arange(3).to('spyre')"
    child = run_python(code, SPYRE_NUMERICS="card")
    assert child.returncode == 0
    assert "int32" not in child.stderr


def test_other_types_keep_their_bits():
    for dtype in (torch.float32, torch.int32, torch.uint8, torch.float64):
        x = (torch.arange(64) * 7919 % 251).to(dtype)
        assert torch.equal((x.to("spyre") * 3).cpu(), x * 3)


def test_copies_keep_the_bits_of_what_is_no_number_of_the_cards():
    for dtype in (torch.complex64, torch.complex128, torch.float64):
        x = (torch.arange(64, dtype=torch.float64).reshape(8, 8) / 3).to(dtype)
        x = torch.complex(x.real, x.real / 7) if dtype.is_complex else x
        assert torch.equal(x.to("spyre").T.contiguous().cpu(), x.T)
        assert torch.equal(torch.cat([x.to("spyre"), x.to("spyre")[1:3]]).cpu(), torch.cat([x, x[1:3]]))


def card_sum(row: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """16 interleaved sums, then those in pairs, each step rounded to DLFloat16."""
    state = torch.zeros(16)
    for first in range(0, row.numel(), 16):
        part = row[first : first + 16].float()
        state[: part.numel()] = on_card(state[: part.numel()] + part, torch.float32)
    for half in (8, 4, 2, 1):
        state[:half] = on_card(state[:half] + state[half : 2 * half], torch.float32)
    return on_card(state[:1], dtype)


@pytest.mark.parametrize("dtype", HOST, ids=str)
def test_with_quirks_sums_round_at_each_addition(dtype):
    rows = torch.rand(5, 700, generator=torch.Generator().manual_seed(2))
    with torch.spyre.config(numerics="quirks"):
        x = rows.to(dtype).to("spyre")
        found, down = x.sum(1).cpu(), x[:, :3].sum(0).cpu()
    kept = on_card(rows.to(dtype).float(), dtype)
    assert_same(found, torch.cat([card_sum(row, dtype) for row in kept]))
    state = torch.zeros(3)
    for row in kept[:, :3]:
        state = on_card(state + row.float(), torch.float32)
    assert_same(down, on_card(state, dtype))
    assert not torch.equal(found, x.sum(1).cpu())


def test_other_quirks_are_only_there_when_asked_for():
    zero = torch.zeros(2, dtype=torch.float16, device="spyre")
    for numerics, floor, ceil, total in (("card", 0, 0, 0), ("quirks", -1, 1, 2**-14)):
        with torch.spyre.config(numerics=numerics):
            found = (-zero).floor(), zero.ceil(), zero + zero
            assert [t.cpu().tolist() for t in found] == [[floor] * 2, [ceil] * 2, [total] * 2]
            wide = zero.float()
            assert [t.cpu().tolist() for t in ((-wide).floor(), wide.ceil(), wide + wide)] == [[0] * 2] * 3


def test_the_mode_is_in_the_keys(stats):
    x = torch.tensor([0.5903], dtype=torch.float16, device="spyre")
    results = []
    for numerics in ("ieee", "card", "ieee", "card"):
        with torch.spyre.config(numerics=numerics):
            results.append((x * 1.001).item())
    assert results[0] == results[2] != results[1] == results[3]
    assert stats()["plan_cache"]["hits"] >= 2  # plans of both stay


@pytest.mark.parametrize("variables", [{"SPYRE_MODE": "eager"}, {"SPYRE_EXEC": "scalar"}, {"SPYRE_ISA": "avx2"},
                                       {"SENCORES": "1"}])  # fmt: skip
@pytest.mark.parametrize("numerics", ["card", "quirks"])
def test_the_same_bits_however_it_runs(run_python, variables, numerics):
    code = (
        "import torch, hashlib; torch.manual_seed(0); x = torch.randn(33, 70).half().to('spyre');"
        "w = torch.full_like(x, 0.1); y = torch.softmax(x * w + x, 1).exp().sum(0) + x.mean(0); z = x @ x.T;"
        "b = (x.bfloat16() * 1e30).sum(1); r = torch.rand(90, 700).bfloat16().to('spyre');"
        "o = b''.join(t.float().cpu().numpy().tobytes() for t in (y, z, b, r.sum(0), r.sum(1)));"
        "print(hashlib.sha256(o).hexdigest())"
    )
    expected = run_python(code, SPYRE_NUMERICS=numerics)
    assert expected.stdout != "", expected.stderr
    assert run_python(code, SPYRE_NUMERICS=numerics, **variables).stdout == expected.stdout
    other = {"card": "ieee", "quirks": "card"}[numerics]
    assert run_python(code, SPYRE_NUMERICS=other).stdout != expected.stdout


def test_a_wrong_word_is_refused():
    with pytest.raises(ValueError, match=r"ieee\|card"), torch.spyre.config(numerics="dl16"):
        pass
