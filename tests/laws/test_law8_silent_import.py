"""Law 8: import is silent and device-free; the runtime starts at first use."""

from __future__ import annotations


def test_import_prints_nothing_and_starts_nothing(run_python):
    code = (
        "import os, torch; before = len(os.listdir('/proc/self/task')); import torch_spyre; "
        "assert not torch.spyre.is_initialized(); assert len(os.listdir('/proc/self/task')) == before"
    )
    child = run_python(code)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")


def test_probing_starts_nothing(run_python):
    code = (
        "import torch; hasattr(torch.spyre, 'no_such_name'); [hasattr(torch.spyre, n) for n in dir(torch.spyre)]; "
        "torch.spyre.is_available(); torch.spyre.device_count(); torch.accelerator.is_available(); "
        "print(torch.spyre.is_initialized())"
    )
    child = run_python(code)
    assert child.stdout.strip() == "False", child.stderr


def test_a_profiler_starts_nothing(run_python):
    code = (
        "import torch\n"
        "with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]): torch.ones(3) + 1\n"
        "print(torch.spyre.is_initialized())"
    )
    child = run_python(code)
    assert child.stdout.strip() == "False", child.stderr


def test_a_fork_before_first_use_is_harmless(run_python):
    code = (
        "import os, torch\n"
        "child = os.fork()\n"
        "total = (torch.ones(3, device='spyre') + 1).sum().item()\n"
        "if child == 0: os._exit(int(total))\n"
        "print(total, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    child = run_python(code)
    assert child.stdout.split() == ["6.0", "6"], child.stderr


def test_the_device_string_is_enough(run_python):
    child = run_python("import torch; print(torch.ones(3, device='spyre').sum().item())")
    assert child.stdout.strip() == "3.0", child.stderr


def test_autoload_can_be_switched_off(run_python):
    child = run_python("import torch; print(hasattr(torch, 'spyre'))", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert child.stdout.strip() == "False"


def test_a_profiler_of_the_device_starts_nothing(run_python):
    code = (
        "import torch\n"
        "from torch.profiler import ProfilerActivity, profile\n"
        "with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]): torch.ones(3) + 1\n"
        "print(torch.spyre.is_initialized())"
    )
    child = run_python(code)
    assert child.stdout.split()[-1] == "False", child.stderr
