"""A program on the device held against the same program on CPU, for tests.

from torch_spyre.testing import compare_with_cpu, counting

def test_my_block():
    compare_with_cpu(MyBlock(), torch.randn(8, 64), backward=True, rtol=1e-4, atol=1e-5)

def test_a_warm_step_compiles_nothing():
    step()
    with counting() as counted:
        step()
    assert counted["kernels_compiled"] == 0 and counted["fallbacks"] == {}
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_map_only

from ._engine import DeviceLike
from .stats import stats
from .streams import synchronize

__all__ = ["Counters", "compare_with_cpu", "counting", "to_device", "ulps_apart"]

Counters = dict[str, Any]


def to_device(value: Any, device: str = "spyre") -> Any:
    """A copy of every tensor and module in `value` on the device; the rest stays as it is.

    Tensors keep strides, offset and requires_grad, and are leaves.
    """

    def tensor(t: torch.Tensor) -> torch.Tensor:
        if t.layout is not torch.strided:
            return t.detach().to(device, copy=True).requires_grad_(t.requires_grad)
        elements = t.untyped_storage().nbytes() // t.element_size()
        storage = t.detach().as_strided((elements,), (1,), 0).to(device, copy=True)
        return storage.as_strided(t.shape, t.stride(), t.storage_offset()).requires_grad_(t.requires_grad)

    value = tree_map_only(torch.Tensor, tensor, value)
    return tree_map_only(torch.nn.Module, lambda module: copy.deepcopy(module).to(device), value)


def ulps_apart(found: torch.Tensor, expected: torch.Tensor) -> float:
    """The largest distance of two CPU tensors of one float type, in units in the last place of `expected`.

    NaNs match NaNs, and zeros match zeros; a number beside an infinity or a NaN is infinitely far from it.
    """
    if found.numel() == 0 or torch.equal(found, expected):
        return 0.0
    same = (torch.isnan(found) & torch.isnan(expected)) | (found == expected)
    finite = torch.isfinite(found) & torch.isfinite(expected)
    if bool((~(finite | same)).any()):
        return float("inf")
    wide, wide_expected = found.double(), expected.double()
    exponent = torch.frexp(wide_expected.abs().clamp(min=torch.finfo(expected.dtype).tiny)).exponent
    last_place = torch.ldexp(torch.full_like(wide, torch.finfo(expected.dtype).eps / 2), exponent)
    return float(torch.where(same, 0.0, (wide - wide_expected).abs() / last_place).max())


def _grown(after: Counters, before: Counters) -> Counters:
    grown = {
        name: _grown(value, before.get(name, {})) if isinstance(value, dict) else value - before.get(name, 0)
        for name, value in after.items()
    }
    if "fallbacks" in grown:
        grown["fallbacks"] = {operator: count for operator, count in grown["fallbacks"].items() if count}
    return grown


@contextmanager
def counting(device: DeviceLike = None) -> Iterator[Counters]:
    """Yields a dict that has, after the block, by how much each counter of torch.spyre.stats() has grown in it.

    Waits for the device before and after. `fallbacks` has only the operators that ran on the host in the block.
    """
    synchronize(device)
    before, counted = stats(device), Counters()
    yield counted
    synchronize(device)
    counted.update(_grown(stats(device), before))


def _named(value: Any, name: str) -> dict[str, Any]:
    """The leaves of `value` by their places in it; of modules their parameters and buffers."""
    found: dict[str, Any] = {}
    for path, leaf in tree_flatten_with_path(value)[0]:
        place = name + keystr(path)
        if isinstance(leaf, torch.nn.Module):
            members = [*leaf.named_parameters(), *leaf.named_buffers()]
            found.update({f"{place}.{member}": tensor for member, tensor in members})
        else:
            found[place] = leaf
    return found


def _go_backward(results: dict[str, Any]) -> None:
    """From every result that has a graph, with one and the same random gradient on every device."""
    roots = [leaf for leaf in results.values() if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if not roots:
        raise ValueError("backward=True, but no result requires a gradient: set requires_grad on an input")
    generator = torch.Generator().manual_seed(0)
    gradients = [torch.randn(root.shape, generator=generator).to(root.device, root.dtype) for root in roots]
    torch.autograd.backward(roots, gradients)


def _outcome(fn: Callable[..., Any], inputs: tuple[Any, ...], backward: bool) -> dict[str, Any]:
    """What a call gives and leaves behind, on the host, by name."""
    results = _named(fn(*inputs), "result")
    if backward:
        _go_backward(results)
    given = _named(inputs, "inputs")
    if isinstance(fn, torch.nn.Module):
        given.update(_named(fn, "module"))
    gradients = {f"gradient of {name}": leaf.grad for name, leaf in given.items() if isinstance(leaf, torch.Tensor)}
    outcome = {**results, **given, **{name: grad for name, grad in gradients.items() if grad is not None}}
    return tree_map_only(torch.Tensor, lambda t: t.detach().cpu(), outcome)


def _complaint(found: Any, expected: Any, ulp: float | None = None, **tolerance: Any) -> str | None:
    """Why two leaves differ; None if they do not."""
    if not isinstance(expected, torch.Tensor):
        return None if found == expected else f"{found!r} is not {expected!r}"
    if ulp is not None and expected.is_floating_point() and found.dtype == expected.dtype:
        if found.shape != expected.shape:
            return f"shape {tuple(found.shape)} is not {tuple(expected.shape)}"
        apart = ulps_apart(found, expected)
        return None if apart <= ulp else f"{apart:g} units in the last place apart, {ulp:g} are allowed"
    try:
        torch.testing.assert_close(found, expected, equal_nan=True, **tolerance)
    except AssertionError as error:
        return str(error).strip().replace("\n", "\n    ")
    return None


def compare_with_cpu(
    fn: Callable[..., Any],
    *inputs: Any,
    backward: bool = False,
    fallbacks: Collection[str] | None = None,
    device: str = "spyre",
    **tolerance: float,
) -> Counters:
    """Calls `fn`, a function or a module, with copies of `inputs` on CPU and on the device; they must agree.

    Compared are the results, the inputs and modules as `fn` leaves them, and with `backward` the gradients of both,
    taken from every result with one random gradient. `inputs` may hold tensors and modules in lists, tuples and dicts.
    `tolerance` is rtol and atol of torch.testing.assert_close, with its defaults, or ulp, units in the last place.
    `fallbacks` names the operators that may run on the host ("aten::_unique2"); None allows any. Random numbers differ
    between devices.

    Returns the device's counters of its call, as `counting` has them. Raises AssertionError that tells all differences.
    """
    cpu_fn, cpu_inputs = to_device((fn, inputs), "cpu")
    device_fn, device_inputs = to_device((fn, inputs), device)
    expected = _outcome(cpu_fn, cpu_inputs, backward)
    with counting(device) as counted:
        found = _outcome(device_fn, device_inputs, backward)
    complaints = [f"{name}: only on {'CPU' if name in expected else device}" for name in found.keys() ^ expected.keys()]
    complaints += [
        f"{name}: {complaint}"
        for name in expected.keys() & found.keys()
        if (complaint := _complaint(found[name], expected[name], **tolerance))
    ]
    if fallbacks is not None and (unwanted := counted["fallbacks"].keys() - set(fallbacks)):
        complaints.append(f"ran on the host: {', '.join(sorted(unwanted))}")
    if complaints:
        raise AssertionError("\n  ".join([f"{device} is not as CPU is:", *sorted(complaints)]))
    return counted
