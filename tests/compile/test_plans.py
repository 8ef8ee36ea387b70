"""Launch plans: what is saved gives the same bits when it is loaded, and what does not fit is refused by name."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F
from torch_spyre import plans
from torch_spyre.plans.__main__ import main


class Block(torch.nn.Module):
    """A bit of everything: products, a norm, an activation, a gather, constants, a tied weight."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(11, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.inner = torch.nn.Linear(8, 16)
        self.register_buffer("scale", torch.tensor([0.5, 2.0]))

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = F.gelu(self.inner(self.norm(self.tokens(ids)))) * self.scale[1]
        logits = hidden[..., :8] @ self.tokens.weight.t()
        return logits.softmax(-1), logits.topk(3).indices


def mutate(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x[:, 1:].transpose(0, 1)


def bits(tensor: torch.Tensor) -> bytes:
    return tensor.cpu().contiguous().numpy().tobytes()


def compiled(function: Callable, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    with torch.no_grad():
        result = torch.compile(function, fullgraph=True)(*inputs)
    return result if isinstance(result, tuple) else (result,)


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "plan"


@pytest.mark.parametrize(
    ("function", "make"),
    [
        (lambda x: (x * 2 + 1).relu().sum(-1), lambda: torch.randn(6, 5)),
        (lambda x: x.half().softmax(0), lambda: torch.randn(6, 5)),
        (lambda x: x.amax(1) - x.amin(1), lambda: torch.randn(6, 5)),
        (lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3, device=x.device)).tanh(), lambda: torch.randn(2, 3, 8, 8)),
        (lambda x: torch.where(x > 0, x, float("-inf")).cumsum(0), lambda: torch.randn(4, 4)),
        (lambda x: torch.cat([x, x.flip(0)]), lambda: torch.arange(6).view(3, 2)),
        (lambda x: x.t() + 1, lambda: torch.randn(3, 4).t()),
        (mutate, lambda: torch.randn(4, 4)),
    ],
)
def test_a_loaded_plan_gives_the_bits_of_compiled_code(folder, function, make) -> None:
    given = make().to("spyre")
    plans.save(folder, function, given)
    torch._dynamo.reset()
    ours, theirs = (given.clone(memory_format=torch.preserve_format) for _ in range(2))
    result = plans.load(folder)(ours)
    for got, expected in zip([result, ours], [*compiled(function, theirs), theirs], strict=True):
        assert (got.dtype, got.shape, got.stride()) == (expected.dtype, expected.shape, expected.stride())
        assert bits(got) == bits(expected)


def test_a_module_comes_with_its_parameters_under_their_names(folder) -> None:
    block = Block().to("spyre")
    ids = torch.tensor([[1, 4, 9]], device="spyre")
    text = plans.save(folder, block, ids, name="block")
    assert text.launch_spec.kernel_name == "block"
    assert {"tokens.weight", "norm.bias", "scale"} <= {arg.name for arg in text.parameters}
    expected = compiled(block, ids)
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.zero_()
    for got, wanted in zip(plans.load(folder)(ids), expected, strict=True):
        assert bits(got) == bits(wanted)


def test_another_process_loads_a_plan_without_inductor_and_without_the_function(folder, run_python) -> None:
    x = torch.randn(4, 4, device="spyre")
    plans.save(folder, lambda x: x.exp() @ x, x)
    program = f"""
import sys, torch
from torch_spyre import plans
plan = plans.load({str(folder)!r})
print(plan(torch.eye(4, device="spyre")).sum().item())
assert "torch._inductor.compile_fx" not in sys.modules, "compiled"
"""
    done = run_python(program)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(float(torch.eye(4).exp().sum()))


def test_the_same_plan_has_the_same_bytes(tmp_path) -> None:
    x = torch.randn(4, 4, device="spyre")
    for name in ("a", "b"):
        torch._dynamo.reset()
        plans.save(tmp_path / name, torch.nn.functional.gelu, x)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert all((tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes() for name in files)


def test_a_second_launch_compiles_no_kernel_and_makes_no_plan(folder, stats) -> None:
    x = torch.randn(32, 32, device="spyre")
    plans.save(folder, lambda x: (x + 1).softmax(-1), x)
    torch.spyre.synchronize()
    plan = plans.load(folder)
    plan(x).cpu()
    torch.spyre.reset_stats()
    plan(x).cpu()
    assert stats()["kernels_compiled"] == 0
    assert stats()["plan_cache"]["misses"] == 0


def test_inputs_that_do_not_fit_are_refused_by_name(folder) -> None:
    plans.save(folder, lambda x: x + 1, torch.randn(2, 3, device="spyre"))
    plan = plans.load(folder)
    for given, told in (
        ((), "expected 1 inputs; got 0"),
        ((torch.randn(3, 2, device="spyre"),), r"input_0: shape: expected '\(2, 3\)'; got \(3, 2\)"),
        ((torch.randn(2, 3, device="spyre").half(),), "input_0: dtype: expected 'float32'; got 'float16'"),
        ((torch.randn(3, 2, device="spyre").t(),), "input_0: strides"),
        ((torch.randn(2, 3),), "input_0: device"),
    ):
        with pytest.raises(plans.PlanError, match=told.replace("'", "'?")):
            plan(*given)


def test_what_no_plan_holds_is_refused(folder) -> None:
    x = torch.randn(2, device="spyre")
    with pytest.raises(plans.PlanError, match="a function returns one"):
        plans.save(folder, lambda x: (x, 1), x)
    with pytest.raises(plans.PlanError, match="tensor on cpu"):
        plans.save(folder, lambda x, y: x + y, x, torch.tensor(1.0))
    assert not folder.exists()
    folder.mkdir()
    (folder / "mine").touch()
    with pytest.raises(FileExistsError, match="a folder of its own"):
        plans.save(folder, torch.sin, x)


def run(*arguments: object, capsys) -> tuple[int, str, str]:
    try:
        code = main([str(argument) for argument in arguments])
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_command_line(tmp_path, capsys) -> None:
    folder, x = tmp_path / "plan", torch.randn(4, 4)
    plans.save(folder, lambda x: x.relu() @ x, x.to("spyre"), name="product")
    given, results = tmp_path / "x.pt", tmp_path / "y.pt"
    torch.save([x], given)
    told = f"{folder}: product(float32[4, 4]) -> float32[4, 4]: 1 kernels, 1 calls\n"
    assert run("list", tmp_path, capsys=capsys)[:2] == (0, told)
    code, text, _ = run("show", folder, capsys=capsys)
    assert code == 0
    assert "aten::mm" in text
    assert "relu.float32" in text
    assert run("bind", folder, "-i", given, capsys=capsys)[:2] == (0, "0: input_0 = float32[4, 4]\n")
    code, text, _ = run("launch", folder, "-i", given, "-o", results, capsys=capsys)
    assert code == 0
    assert "modelled time: " in text
    torch.testing.assert_close(torch.load(results)[0], x.relu() @ x)
    assert run("verify", folder, capsys=capsys)[:2] == (0, "output_0: equal\n")
    assert run("verify", folder, "-i", given, "-o", results, "--exact", capsys=capsys)[:2] == (0, "output_0: equal\n")


def test_exit_codes(tmp_path, capsys) -> None:
    folder, x = tmp_path / "plan", torch.randn(4)
    plans.save(folder, lambda x: x + 1, x.to("spyre"))
    torch.save([x], tmp_path / "x.pt")
    torch.save([x + 1.1], tmp_path / "wrong.pt")
    torch.save([x, x], tmp_path / "two.pt")
    (tmp_path / "noise.pt").write_bytes(b"noise")
    verify = ("verify", folder, "-i", tmp_path / "x.pt", "-o")
    assert run(*verify, tmp_path / "wrong.pt", capsys=capsys)[0] == 1
    assert run(*verify, tmp_path / "two.pt", capsys=capsys)[0] == 1
    assert run("bind", folder, "-i", tmp_path / "two.pt", capsys=capsys)[0] == 1
    assert run("bind", folder, "-i", tmp_path / "noise.pt", capsys=capsys)[0] == 1
    for usage in ((), ("run", folder), ("show",), ("show", tmp_path / "none"), ("bind", folder)):
        assert run(*usage, capsys=capsys)[0] == 2
    (folder / "plan.json").write_text("{}")
    code, _, told = run("show", folder, capsys=capsys)
    assert code == 1
    assert "plan.json" in told
    assert run("list", tmp_path, capsys=capsys)[0] == 1


def test_the_module_runs_as_a_program(tmp_path) -> None:
    import sys

    command = [sys.executable, "-m", "torch_spyre.plans", "list", str(tmp_path)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0


def test_launch_spec_says_what_a_launcher_needs(folder) -> None:
    plans.save(folder, lambda x: x.half().softmax(-1), torch.randn(2, 64, device="spyre"))
    spec = json.loads((folder / "launch_spec.json").read_text())
    assert {key: spec[key] for key in ("version", "bundle_symbolic_args", "symbol_kinds")} == {
        "version": 1,
        "bundle_symbolic_args": True,
        "symbol_kinds": [],
    }
    assert [(arg["role"], arg["dtype"], arg["shape"]) for arg in spec["args"]] == [
        ("input", "float32", [2, 64]),
        ("output", "float16", [2, 64]),
    ]
    assert spec["args"][1]["layout"]["device_size"] == [1, 2, 64]
