"""Law 6: every flush has a reason, every fallback a count; faults are exceptions that leave the engine usable."""

from __future__ import annotations

import pytest
import torch


def flushes_of(work, stats) -> dict[str, int]:
    torch.spyre.synchronize()
    before = stats()["flushes"]
    work()
    after = stats()["flushes"]
    return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}


FLUSHES = {
    "item": lambda x: (x + 1).sum().item(),
    "device_to_host": lambda x: (x + 1).cpu(),
    "synchronize": lambda x: (x + 1, torch.spyre.synchronize()),
    "event": lambda x: (x + 1, torch.spyre.Event().record()),
    "data_dependent": lambda x: (x + 1).nonzero(),
}


@pytest.mark.parametrize("reason", FLUSHES)
def test_a_flush_has_its_reason(reason, stats):
    x = torch.ones(4, device="spyre")
    assert reason in flushes_of(lambda: FLUSHES[reason](x), stats)


def test_recording_alone_flushes_nothing(stats):
    x = torch.ones(4, device="spyre")
    kept = []
    assert flushes_of(lambda: kept.extend(x * i for i in range(20)), stats) == {}


def sums_on_the_host(x: torch.Tensor) -> torch.Tensor:
    return torch.segment_reduce(x, "sum", lengths=torch.full((1,), x.shape[0], device=x.device))


def test_a_fallback_is_counted_by_op(stats):
    sums_on_the_host(torch.eye(3, device="spyre"))
    assert any("segment_reduce" in name for name in stats()["fallbacks"])


def test_fallback_can_be_an_error():
    with torch.spyre.config(fallback="error"), pytest.raises(NotImplementedError, match="segment_reduce"):
        sums_on_the_host(torch.eye(3, device="spyre"))


def test_an_index_out_of_range_is_raised_at_the_next_sync_and_only_once():
    table = torch.ones(5, 3, device="spyre")
    bad = torch.tensor([1, 99], device="spyre")
    with pytest.raises(IndexError, match=r"99|out of range"):
        torch.nn.functional.embedding(bad, table).sum().item()
    assert (table + 1).sum().item() == 30
    torch.spyre.synchronize()


def test_a_fault_names_the_op_and_the_line_that_recorded_it():
    table, bad = torch.ones(5, 3, device="spyre"), torch.tensor([7], device="spyre")
    kept = table.index_select(0, bad)
    with pytest.raises(IndexError) as raised:
        torch.spyre.synchronize()
    del kept
    assert "index_select" in str(raised.value)
    assert "test_law6_nothing_silent.py" in str(raised.value)


def test_each_fault_names_its_own_line_however_often_it_was_recorded():
    table = torch.ones(5, 3, device="spyre")

    def here(indices: list[int]) -> torch.Tensor:
        return table.index_select(0, torch.tensor(indices, device="spyre"))

    def there(indices: list[int]) -> torch.Tensor:
        return table.index_select(0, torch.tensor(indices, device="spyre"))

    for _ in range(3):
        for look_up in (here, there):
            good, bad = look_up([1]), look_up([7])
            with pytest.raises(IndexError) as raised:
                torch.spyre.synchronize()
            assert f"test_law6_nothing_silent.py:{look_up.__code__.co_firstlineno + 1} in {look_up.__name__}" in str(
                raised.value
            )
            assert good.sum().item() == 3
            del bad


def zeros_and_ones(device: str = "spyre") -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(3, dtype=torch.int32, device=device), torch.zeros(3, dtype=torch.int32, device=device)


UNREAD = {
    "division": (RuntimeError, lambda: torch.div(*zeros_and_ones(), rounding_mode="trunc")),
    "remainder": (RuntimeError, lambda: torch.remainder(*zeros_and_ones())),
    "index": (IndexError, lambda: torch.ones(3, device="spyre")[torch.tensor([5], device="spyre")]),
    "probability": (RuntimeError, lambda: torch.bernoulli(torch.full((3,), 1.5, device="spyre"))),
    "cross entropy": (
        RuntimeError,
        lambda: torch.nn.functional.binary_cross_entropy(
            torch.full((3,), -0.5, device="spyre"), torch.ones(3, device="spyre")
        ),
    ),
}


@pytest.mark.parametrize("name", UNREAD)
def test_a_fault_is_raised_though_nobody_reads_the_result(name):
    error, fail = UNREAD[name]
    torch.spyre.synchronize()
    fail()
    with pytest.raises(error, match="test_law6"):
        torch.spyre.synchronize()
    torch.spyre.synchronize()


def test_a_division_by_zero_loses_only_what_depends_on_it():
    x, zero = zeros_and_ones()
    before = x + 1
    lost = torch.div(before, zero, rounding_mode="floor")
    after, lost_too = before * 3, lost + before
    with pytest.raises(RuntimeError, match=r"(?i)zero") as raised:
        torch.spyre.synchronize()
    assert raised.type is RuntimeError, "as on CPU"
    assert before.tolist() == [2, 2, 2]
    assert after.tolist() == [6, 6, 6]
    for tensor in (lost, lost_too):
        with pytest.raises(RuntimeError):
            tensor.tolist()


def test_division_by_the_number_zero_is_raised_at_the_call():
    ones, _ = zeros_and_ones()
    for divide in (lambda: ones // 0, lambda: ones % 0, lambda: ones.clone().floor_divide_(0), lambda: ones.fmod(0)):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            divide()
    assert (torch.ones(0, dtype=torch.int32, device="spyre") // 0).numel() == 0


def test_host_work_is_priced_as_transfers(stats):
    x = torch.rand(64, 64, device="spyre") + torch.eye(64, device="spyre") * 64
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    torch.linalg.lstsq(x @ x.T, x, driver="gels")
    counted = stats()
    assert counted["fallbacks"]
    assert counted["bytes_d2h"] >= x.nbytes
    assert counted["bytes_h2d"] >= x.nbytes
    card = torch.spyre.device_spec()
    assert counted["modelled_ns"] * 1000 >= card["h2d_setup_ps"] + card["d2h_setup_ps"]


AT_THE_CALL = """
import torch
table, bad = torch.ones(5, 3, device="spyre"), torch.tensor([7], device="spyre")
try:
    kept = table.index_select(0, bad)
except IndexError:
    print("at the call")
torch.spyre.synchronize()
print((table + 1).sum().item())
"""


def test_sync_raises_a_fault_at_the_call_that_recorded_it(run_python):
    child = run_python(AT_THE_CALL, SPYRE_SYNC="1")
    assert child.stdout.splitlines() == ["at the call", "30.0"], child.stderr
    assert run_python(AT_THE_CALL).returncode == 1, "without it, the next synchronizing call raises"


def test_integer_division_by_zero_is_what_cpu_raises():
    x, zero = torch.ones(3, dtype=torch.int32, device="spyre"), torch.zeros(3, dtype=torch.int32, device="spyre")
    torch.spyre.synchronize()
    with pytest.raises(RuntimeError, match=r"(?i)zero"):
        torch.div(x, zero, rounding_mode="floor").cpu()
    assert (x + 1).tolist() == [2, 2, 2]


def test_too_much_memory_says_what_was_asked_and_what_is_free():
    with pytest.raises(torch.OutOfMemoryError, match=r"(?i)free") as raised:
        torch.ones(1 << 45, device="spyre").sum().item()
    assert "largest" in str(raised.value)
    assert torch.ones(3, device="spyre").sum().item() == 3


@pytest.mark.parametrize(
    ("name", "value", "grammar"),
    [
        ("SPYRE_MODE", "fast", "lazy|eager"),
        ("SPYRE_EXEC", "gpu", "vector|scalar|null"),
        ("SPYRE_ISA", "sse", "auto|avx2|avx512"),
        ("SENCORES", "33", "1..32"),
        ("SPYRE_PLAN_CACHE", "many", "MiB"),
    ],
)
def test_a_bad_environment_value_prints_its_grammar(name, value, grammar, run_python):
    child = run_python("import torch; torch.ones(1, device='spyre').item()", **{name: value})
    assert child.returncode == 1, "an exception, never an abort"
    assert name in child.stderr
    assert grammar in child.stderr


FORKED = """
import os, torch
(torch.ones(3, device="spyre") + 1).sum().item()
child = os.fork()
if child == 0:
    try:
        torch.ones(3, device="spyre")
    except RuntimeError as error:
        os._exit(7 if "fork" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print((torch.ones(3, device="spyre") + 1).sum().item())
"""


def test_a_forked_child_gets_a_clear_error(run_python):
    child = run_python(FORKED)
    assert child.stdout.split() == ["7", "6.0"], child.stderr


def test_exit_with_work_in_flight_is_clean(run_python):
    child = run_python("import torch; x = torch.ones(1000, device='spyre') * 2; y = x.exp()")
    assert (child.returncode, child.stderr) == (0, "")


def test_every_plan_miss_has_a_cause():
    x = torch.ones(3, 5, device="spyre")
    torch.spyre.reset_stats()
    for columns in (5, 4):
        (x[:, :columns] * 3 - 1).sum().item()
    stats = torch.spyre.stats()
    assert sum(stats["plan_misses"].values()) == stats["plan_cache"]["misses"] > 0
