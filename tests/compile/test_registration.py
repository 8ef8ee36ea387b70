"""Inductor learns of the device when it first compiles; nobody else pays for it, and nothing changes for CPU."""

from __future__ import annotations


def test_import_and_eager_code_load_no_compiler(run_python):
    child = run_python(
        "import sys, torch; (torch.ones(3, device='spyre') * 2).sum().item(); hasattr(torch.spyre, 'Scheduling')\n"
        "print([m for m in sys.modules if m.startswith(('torch._inductor', 'torch_spyre.inductor', 'sympy'))])"
    )
    assert child.stdout.strip() == "[]", child.stderr


def test_compiling_for_cpu_starts_no_device_and_gives_the_same_code(run_python):
    code = (
        "import torch\n"
        "from torch._inductor import cpu_vec_isa\n"
        "from torch._inductor.async_compile import AsyncCompile\n"
        "cpu_vec_isa.valid_vec_isa_list = lambda: []  # found by compiling\n"
        "AsyncCompile.cpp_pybinding = lambda self, types, source: print(source) or (lambda *arguments: None)\n"
        "def f(x): y = x.clone(); y[1:3] = 5; return (y.softmax(-1) / 3).mean(0)\n"
        "torch.compile(f)(torch.ones(4, 8))\n"
        "assert not hasattr(torch, 'spyre') or not torch.spyre.is_initialized()\n"
    )
    with_us = run_python(code, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    without_us = run_python(code, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert 'extern "C"' in with_us.stdout, with_us.stderr
    assert with_us.stdout == without_us.stdout


def test_no_compiler_runs(run_python):
    child = run_python(
        "import subprocess, torch\n"
        "def banned(*args, **kwargs): raise AssertionError(args)\n"
        "torch._inductor.cpp_builder = None\n"
        "import torch._inductor.codecache as c; c.CppCodeCache.load_async = banned\n"
        "print(torch.compile(lambda x: x * 2 + 1)(torch.ones(3, device='spyre')).sum().item())"
    )
    assert child.stdout.strip() == "9.0", child.stderr
