"""Law 1: a program that runs on CPU runs on spyre with only the device string changed, errors included."""

from __future__ import annotations

import contextlib
import copy
import io
import threading

import pytest
import torch
from torch import nn

from .programs import PROGRAMS

# These programs draw from the device's own generator, whose numbers are not CPU's.
OWN_NUMBERS = {"random_numbers"}


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - OWN_NUMBERS))
def test_programs_mean_the_same_as_on_cpu(name):
    expected, found = PROGRAMS[name]("cpu"), [t.cpu() for t in PROGRAMS[name]("spyre")]
    assert len(found) == len(expected)
    for position, (left, right) in enumerate(zip(found, expected, strict=True)):
        tolerance = {"rtol": 2e-2, "atol": 2e-2} if right.dtype in {torch.float16, torch.bfloat16} else {}
        if right.dtype == torch.float32:
            tolerance = {"rtol": 1e-4, "atol": 1e-5}
        torch.testing.assert_close(
            left, right, equal_nan=True, msg=lambda m, p=position: f"result {p}: {m}", **tolerance
        )


BAD_CALLS = {
    "shapes do not broadcast": lambda d: torch.ones(2, 3, device=d) + torch.ones(4, device=d),
    "in-place result does not fit": lambda d: torch.ones(3, device=d).add_(torch.ones(2, 3, device=d)),
    "in-place type does not fit": lambda d: torch.ones(3, dtype=torch.int32, device=d).mul_(1.5),
    "matrix sizes": lambda d: torch.ones(2, 3, device=d) @ torch.ones(2, 3, device=d),
    "dimension out of range": lambda d: torch.ones(2, 3, device=d).sum(5),
    "index out of range": lambda d: torch.ones(2, 3, device=d)[4],
    "view of another size": lambda d: torch.ones(2, 3, device=d).view(4),
    "bit operation on floats": lambda d: torch.ones(3, device=d) & 1,
    "reduction of nothing": lambda d: torch.ones(0, device=d).amax(),
    "cat of unlike shapes": lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(2, 4, device=d)]),
    "leaf changed in place": lambda d: torch.ones(3, device=d, requires_grad=True).add_(1),
    "result has no gradient": lambda d: torch.ones(3, device=d).sum().backward(),
    "item of many": lambda d: torch.ones(3, device=d).item(),
    "truth of many": lambda d: bool(torch.ones(3, device=d)),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_errors_come_at_the_call_with_the_same_type(name):
    with pytest.raises(Exception) as on_cpu:  # noqa: PT011
        BAD_CALLS[name]("cpu")
    with pytest.raises(on_cpu.type):
        BAD_CALLS[name]("spyre")
    assert (torch.ones(2, device="spyre") + 1).tolist() == [2, 2]


def test_mixed_devices_are_refused():
    with pytest.raises(RuntimeError, match="device"):
        torch.ones(3, device="spyre") + torch.ones(3)


def test_generator_state_can_be_kept_and_put_back():
    torch.spyre.manual_seed(3)
    torch.rand(5, device="spyre")
    state = torch.spyre.get_rng_state()
    first = torch.rand(9, device="spyre").cpu()
    torch.spyre.set_rng_state(state)
    assert torch.equal(torch.rand(9, device="spyre").cpu(), first)


def test_save_and_load_keep_values_views_and_ties(tmp_path):
    model = nn.Linear(4, 4).to("spyre")
    model.tied = model.weight
    tensor = torch.arange(12.0, device="spyre").view(3, 4)
    torch.save({"model": model.state_dict(), "view": tensor[1:, ::2], "base": tensor}, tmp_path / "file.pt")
    loaded = torch.load(tmp_path / "file.pt")
    assert loaded["view"].device.type == "spyre"
    assert torch.equal(loaded["view"].cpu(), tensor[1:, ::2].cpu())
    loaded["base"].add_(1)
    assert torch.equal(loaded["view"].cpu(), (tensor[1:, ::2] + 1).cpu())
    assert loaded["model"]["weight"].data_ptr() == loaded["model"]["tied"].data_ptr()


def test_deepcopy_in_the_middle_of_a_trace():
    x = torch.ones(3, device="spyre") * 2
    y = copy.deepcopy(x)
    x.add_(1)
    assert y.tolist() == [2, 2, 2]
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu").tolist() == [3, 3, 3]


def test_threads_record_side_by_side():
    results: dict[int, float] = {}

    def work(number: int) -> None:
        x = torch.full((50,), float(number), device="spyre")
        for _ in range(100):
            x = x * 1.0 + 1
        results[number] = x.sum().item()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: 50.0 * (i + 100) for i in range(4)}


@pytest.mark.parametrize("device", ["cpu", "spyre"])
@pytest.mark.parametrize("in_inference_mode", [False, True])
def test_a_thread_runs_the_backward_passes_that_it_starts(device, in_inference_mode):
    """Hooks see what is local to the thread, also if its first work on the device was in inference mode."""
    threads = []

    def work() -> None:
        with torch.inference_mode() if in_inference_mode else contextlib.nullcontext():
            _ = torch.ones(3, device=device) + 1
        x = torch.ones(3, device=device, requires_grad=True)
        x.register_hook(lambda _: threads.append(threading.get_ident()))
        (x * x).sum().backward()
        threads.append(threading.get_ident())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(threads) == 2
    assert threads[0] == threads[1]


def test_hooks_see_gradients():
    seen = []
    x = torch.ones(3, device="spyre", requires_grad=True)
    y = x * 3
    y.register_hook(lambda gradient: seen.append(gradient.cpu()))
    (y * y).sum().backward()
    assert seen[0].tolist() == [6, 6, 6]
    assert x.grad.tolist() == [18, 18, 18]
