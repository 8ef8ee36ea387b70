"""torch.spyre as a device module: names, devices, properties, settings, counters."""

from __future__ import annotations

import pytest
import torch
import torch_spyre

CUDA_LIKE = [
    "Event", "Stream", "StreamContext", "can_device_access_peer", "current_device", "current_stream", "default_stream",
    "device", "device_count", "device_of", "empty_cache", "get_device_capability",
    "get_device_name", "get_device_properties", "get_rng_state", "get_rng_state_all", "init", "initial_seed",
    "is_available", "is_bf16_supported", "is_initialized", "manual_seed", "manual_seed_all", "max_memory_allocated",
    "max_memory_reserved", "mem_get_info", "memory_allocated", "memory_reserved", "memory_snapshot", "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats", "reset_peak_memory_stats", "seed", "seed_all", "set_device", "set_rng_state",
    "set_rng_state_all", "set_stream", "stream", "synchronize",
]  # fmt: skip


@pytest.mark.parametrize("name", CUDA_LIKE)
def test_has_what_torch_cuda_has(name):
    assert hasattr(torch.cuda, name)
    assert hasattr(torch.spyre, name)


def test_is_the_accelerator():
    assert torch.accelerator.current_accelerator().type == "spyre"
    assert torch.accelerator.device_count() == torch.spyre.device_count() == 1
    assert torch.accelerator.current_device_index() == torch.spyre.current_device() == 0
    assert torch.get_device_module("spyre") is torch.spyre


def test_tensors_and_modules_have_the_backend_methods():
    assert torch.ones(2).spyre().is_spyre
    assert next(torch.nn.Linear(2, 2).spyre().parameters()).device == torch.device("spyre", 0)


def test_device_contexts_nest_and_restore():
    with torch.spyre.device(0), torch.spyre.device("spyre"), torch.spyre.device_of(torch.ones(1, device="spyre")):
        assert torch.spyre.current_device() == 0
    with torch.device("spyre"):
        assert torch.ones(1).device.type == "spyre"


@pytest.mark.parametrize(
    "use",
    [
        lambda: torch.ones(3, device="spyre:7"),
        lambda: torch.spyre.set_device(7),
        lambda: torch.spyre.synchronize(7),
        lambda: torch.accelerator.set_device_index(7),
    ],
)
def test_an_index_out_of_range_raises(use):
    with pytest.raises(RuntimeError, match="out of range"):
        use()


def test_properties_describe_the_card():
    properties = torch.spyre.get_device_properties()
    assert properties.multi_processor_count == torch.spyre.device_spec()["cores"]
    assert properties.total_memory == torch.spyre.mem_get_info()[1] > 0
    assert torch.spyre.get_device_name() == properties.name
    supported = torch.accelerator.get_device_capability()["supported_dtypes"]
    assert torch.float16 in supported
    assert torch.complex64 not in supported


def test_stats_has_its_keys_and_reset_zeroes_them(stats):
    ((torch.ones(8, device="spyre") * 2).relu() + 1).cpu()
    counted = stats()
    keys = {
        "dispatches", "flushes", "plan_cache", "kernel_cache", "kernels_compiled", "compile_ns", "kernel_launches",
        "ops_fused", "library_cache", "fallbacks", "bytes_h2d", "bytes_d2h", "modelled_ns",
    }  # fmt: skip
    assert keys <= counted.keys()
    assert {"hits", "misses", "entries", "bytes", "evictions"} <= counted["plan_cache"].keys()
    assert counted["dispatches"] >= 3
    assert counted["bytes_d2h"] == 32
    assert counted["modelled_ns"] > 0
    torch.spyre.reset_stats()
    assert stats()["dispatches"] == 0


def test_config_changes_settings_inside_only():
    before = torch_spyre._C.settings()
    with torch.spyre.config(mode="eager", exec="scalar", fallback="warn"):
        inside = torch_spyre._C.settings()
        assert (inside["mode"], inside["exec"], inside["fallback"]) == ("eager", "scalar", "warn")
        assert (torch.ones(3, device="spyre") + 1).tolist() == [2, 2, 2]
    assert torch_spyre._C.settings() == before


def test_config_sync_raises_at_the_call():
    table, bad = torch.ones(5, 3, device="spyre"), torch.tensor([7], device="spyre")
    with torch.spyre.config(sync=True), pytest.raises(IndexError):
        table.index_select(0, bad)
    kept = table.index_select(0, bad)
    with pytest.raises(IndexError):
        torch.spyre.synchronize()
    del kept


def test_config_names_the_choices():
    with pytest.raises(ValueError, match=r"lazy\|eager"), torch.spyre.config(mode="quick"):
        pass


def test_a_bad_environment_prints_the_grammar(run_python):
    child = run_python("import torch; torch.ones(1, device='spyre')", SPYRE_MODE="quick")
    assert child.returncode != 0
    assert "SPYRE_MODE" in child.stderr
    assert "lazy|eager" in child.stderr


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [("SPYRE_DUMP", "/dev/null", "cannot write"), ("SPYRE_DEVICE_MEMORY", "9TiB", "112.00 GiB, 7 regions")],
)
def test_what_cannot_be_done_is_told_at_the_start(run_python, variable, value, told):
    child = run_python("import torch; torch.ones(1, device='spyre')", **{variable: value})
    assert child.returncode == 1
    assert "ValueError" in child.stderr
    assert told in child.stderr


def test_upstreams_questions(run_python):
    before = torch.spyre.get_downcast_warning()
    for warn in (not before, before):
        torch.spyre.set_downcast_warning(warn)
        assert torch.spyre.get_downcast_warning() is warn
    with pytest.raises(TypeError):
        torch.spyre.set_downcast_warning("yes")
    child = run_python("import torch; print(torch.spyre.get_device_state().name, torch.spyre.is_initialized())")
    assert child.stdout.split() == ["NotInitialized", "False"]


def test_readings_are_the_models():
    with torch.spyre.timeline():
        x = torch.ones(512, 512, device="spyre")
        (x @ x).sum().item()
    assert torch.spyre.clock_rate() == round(1000 * torch.spyre.device_spec()["core_clock_ghz"])
    assert 0 < torch.spyre.utilization() <= 100
    assert 1000 < torch.spyre.power_draw() <= 75_000
    with pytest.raises(NotImplementedError, match="no temperature"):
        torch.spyre.temperature()


def test_op_table_has_rows_with_meaning():
    rows = {row["name"]: row for row in torch.spyre.op_table()}
    assert rows["add"]["doc"]
    assert "float32" in rows["add"]["computes"]


def test_timeline_is_recorded_and_saved(tmp_path):
    with torch.spyre.timeline(tmp_path / "trace.json") as events:
        (torch.ones(64, device="spyre") + 1).cpu()
    assert events
    assert (tmp_path / "trace.json").stat().st_size > 0


def test_exit_right_after_backward(run_python):
    child = run_python("import torch; x = torch.ones(9, device='spyre', requires_grad=True); (x * x).sum().backward()")
    assert child.returncode == 0, child.stderr
    assert child.stderr == ""
