"""Operators without a device kernel run on the host, in place, into out=, over lists, with their counts."""

from __future__ import annotations

import warnings

import pytest
import torch
from torch.testing import assert_close
from torch_spyre.ops.fallbacks import FallbackWarning, fallback_ops


def on_both(function, *inputs):
    return function(*(x.to("spyre") for x in inputs)), function(*inputs)


FUNCTIONS = {
    "svdvals": (torch.linalg.svdvals, torch.eye(3) + 0.1),
    "histc": (lambda x: torch.histc(x, 4, 0, 3), torch.rand(20) * 3),
    "cummax": (lambda x: torch.cummax(x, 0), torch.randn(10)),
    "igamma": (lambda x: torch.igamma(x, x), torch.rand(5) + 1),
    "median": (lambda x: x.median(0), torch.randn(7, 3)),
    "complex": (lambda x: torch.complex(x, x).abs(), torch.randn(4)),
    "fft": (torch.fft.fft, torch.randn(8)),
    "unique": (lambda x: x.unique(return_counts=True), torch.tensor([3, 1, 3, 2])),
    "kthvalue": (lambda x: x.kthvalue(2), torch.randn(9)),
    "eigh": (lambda x: torch.linalg.eigvalsh(x + x.T), torch.randn(4, 4)),
    "cdist": (torch.cdist, torch.randn(3, 2), torch.randn(4, 2)),
    "bincount": (torch.bincount, torch.tensor([0, 1, 1, 3])),
    "quantile": (lambda x: x.quantile(0.3), torch.randn(11)),
    "split_list": (lambda x: torch.meshgrid(x, x, indexing="ij"), torch.arange(3.0)),
    "index_optional_list": (lambda x: x[:, torch.tensor([0, 2])], torch.randn(3, 4)),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.0), torch.randn(3, 4)),
    "bucketize": (lambda x: torch.bucketize(x, torch.tensor([0.0, 1.0]).to(x.device)), torch.randn(6)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_equals_cpu(name):
    function, *inputs = FUNCTIONS[name]
    found, expected = on_both(function, *inputs)
    found = torch.utils._pytree.tree_map(lambda t: t.cpu(), found)
    assert_close(found, expected)


def test_results_live_on_the_device():
    assert torch.linalg.inv(torch.eye(3, device="spyre")).device == torch.device("spyre", 0)
    assert torch.hann_window(4, device="spyre").is_spyre
    assert torch.tril_indices(3, 3, device="spyre").is_spyre


def test_calls_are_counted_and_priced(stats):
    x = torch.rand(1000, device="spyre")
    lengths = torch.full((10,), 100, device="spyre")
    torch.segment_reduce(x, "sum", lengths=lengths)
    torch.segment_reduce(x, "sum", lengths=lengths)
    counted = stats()
    assert counted["fallbacks"] == {"aten::segment_reduce": 2}
    assert counted["bytes_d2h"] >= 8000


def test_in_place_and_through_a_view(stats):
    x = torch.rand(4, 4) + 1
    y = x.to("spyre")
    for z in (x, y):
        deep = z.t()[1:][(None,) * 11]  # deeper than the device's tensors
        deep.masked_scatter_(deep > 1.5, torch.arange(12.0, device=z.device))
    assert_close(y.cpu(), x)
    assert stats()["fallbacks"]


def test_out_is_written_resized_and_returned(stats):
    x = torch.rand(5, device="spyre") + 1
    out = torch.empty(5, device="spyre")
    assert torch.masked_select(x, x > 0, out=out) is out
    assert_close(out.cpu(), x.cpu())
    empty = torch.empty(0, device="spyre")
    torch.masked_select(x, x > 0, out=empty)
    assert_close(empty.cpu(), x.cpu())
    values, indices = torch.empty(0, device="spyre"), torch.empty(0, dtype=torch.int64, device="spyre")
    torch.median(x, 0, out=(values, indices))
    assert values.item() == x.cpu().median().item()
    solution = [torch.empty(0, device="spyre") for _ in range(2)]
    solution += [torch.empty(0, dtype=torch.int64, device="spyre"), torch.empty(0, device="spyre")]
    torch.linalg.lstsq(torch.eye(5, device="spyre"), x[:, None], driver="gelsd", out=tuple(solution))
    assert_close(solution[0][:, 0].cpu(), x.cpu())
    assert stats()["fallbacks"]


def test_a_kernel_may_change_the_conjugate_bit_of_its_result():
    a, b = torch.randn(3, 3, dtype=torch.complex64), torch.randn(2, 3, dtype=torch.complex64)
    solve = lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b, left=False)  # noqa: E731
    found, expected = on_both(solve, a, b)
    assert_close(found.cpu(), expected, rtol=1e-3, atol=1e-4)
    found, expected = on_both(torch.vdot, a[0], a[1])
    assert_close(found.cpu(), expected)


def test_hidden_mutation_is_written_back():
    """The running statistics of batch norm: the schema does not say that they change."""
    cpu, device = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3).to("spyre")
    x = torch.randn(8, 3)
    cpu(x)
    device(x.to("spyre"))
    assert_close(device.running_mean.cpu(), cpu.running_mean)
    assert_close(device.running_var.cpu(), cpu.running_var)


def test_autograd_through_host_operators():
    x = torch.randn(4, 4)
    y = x.to("spyre").requires_grad_()
    x.requires_grad_()
    torch.linalg.det(x).backward()
    torch.linalg.det(y).backward()
    assert_close(y.grad.cpu(), x.grad)


@pytest.mark.parametrize(
    "mix",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.ones(3) + x,
        lambda x: torch.lerp(x, torch.ones(3), 0.5),
        lambda x: torch.where(x > 0, x, torch.ones(3)),
        lambda x: torch.cat([x, torch.ones(3)]),
        lambda x: torch.cdist(x[None], torch.ones(1, 3)),
        lambda x: x.add_(torch.ones(3)),
        lambda x: torch.ones(3).add_(x),
        lambda x: torch.special.bessel_j0(x, out=torch.ones(3)),
        lambda x: x.view(1, 3) @ torch.ones(3, 1),
        lambda x: torch.nn.functional.linear(x, torch.ones(2, 3)),
    ],
)
def test_two_devices_do_not_mix(mix):
    with pytest.raises(RuntimeError, match=r"(?i)same device"):
        mix(torch.ones(3, device="spyre"))


def test_a_cpu_number_mixes_with_anything():
    x = torch.ones(3, device="spyre")
    assert (x + torch.tensor(2.0)).tolist() == [3, 3, 3]
    assert torch.igamma(x, torch.tensor(0.0)).tolist() == [0, 0, 0]


def test_indices_may_stay_on_the_cpu():
    x = torch.arange(6.0, device="spyre").view(3, 2)
    assert x[torch.tensor([2, 0])].tolist() == [[4, 5], [0, 1]]
    x[torch.tensor([1])] = 9
    assert x.tolist() == [[0, 1], [9, 9], [4, 5]]


def test_policy_warn_and_error():
    x, lengths = torch.ones(3, device="spyre"), torch.tensor([1, 2], device="spyre")
    sums = lambda: torch.segment_reduce(x, "sum", lengths=lengths)  # noqa: E731
    torch.spyre.reset_stats()
    with torch.spyre.config(fallback="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sums()
        sums()
    [warning] = [w for w in caught if "segment_reduce" in str(w.message)]
    assert warning.category is FallbackWarning
    assert warning.filename == __file__
    assert fallback_ops() == {"aten::segment_reduce": 2}
    torch.spyre.reset_stats()
    with torch.spyre.config(fallback="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(FallbackWarning, match="segment_reduce"):
            sums()
    with torch.spyre.config(fallback="error"), pytest.raises(NotImplementedError, match="segment_reduce"):
        sums()


def test_no_kernel_anywhere_is_not_implemented():
    with pytest.raises(NotImplementedError, match=r"spyre|CPU"):
        torch.ops.aten._cudnn_init_dropout_state(0.5, True, 1, dtype=torch.uint8, device="spyre")


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("layers", [1, 2])
def test_recurrent_layers(kind, layers):
    torch.manual_seed(0)
    cpu = getattr(torch.nn, kind)(4, 5, layers, bidirectional=layers == 2)
    device = getattr(torch.nn, kind)(4, 5, layers, bidirectional=layers == 2)
    device.load_state_dict(cpu.state_dict())
    device.to("spyre")
    x = torch.randn(6, 2, 4)
    expected, found = cpu(x)[0], device(x.to("spyre"))[0]
    assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-5)
    expected.square().sum().backward()
    found.square().sum().backward()
    for a, b in zip(device.parameters(), cpu.parameters(), strict=True):
        assert_close(a.grad.cpu(), b.grad, rtol=1e-3, atol=1e-4)


def test_packed_sequences():
    x, lengths = torch.randn(5, 3, 4), torch.tensor([5, 3, 2])
    lstm = torch.nn.LSTM(4, 6)
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
    lstm.to("spyre")
    packed = torch.nn.utils.rnn.pack_padded_sequence(x.to("spyre"), lengths)
    found, sizes = torch.nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
    assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-5)
    assert sizes.device.type == "cpu"


def test_autocast_casts_by_list():
    x, w = torch.randn(4, 4, device="spyre"), torch.randn(4, 4, device="spyre")
    with torch.autocast("spyre", dtype=torch.bfloat16):
        assert (x @ w).dtype == torch.bfloat16
        assert (x @ w).exp().dtype == torch.float32
        assert torch.addcmul(x, x.bfloat16(), x).dtype == torch.float32
    assert (x @ w).dtype == torch.float32
