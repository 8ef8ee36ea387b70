"""Device layouts of inputs: graphs are compiled for them, descriptors tell them, and who has none pays nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch_spyre import _C
from torch_spyre._layout_use import no_layout_yet
from torch_spyre.layouts import SpyreTensorLayout

#: By order of dimensions, the last of which lies in the sticks.
LAYOUTS = {order: SpyreTensorLayout([64, 96], [96, 1], torch.float16, order) for order in ((0, 1), (1, 0))}


def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return ((x + y) * 2).sum(0)


def operands() -> list[torch.Tensor]:
    return [*torch.randn(2, 64, 96, generator=torch.Generator().manual_seed(0)).half()]


def lying(x: torch.Tensor, order: tuple[int, int] | None) -> torch.Tensor:
    return x.to("spyre") if order is None else x.to("spyre", device_layout=LAYOUTS[order])


@pytest.fixture
def described(tmp_path: Path) -> Callable[[Callable[[], Any]], dict[str, str]]:
    """What compiling leaves: the text of stickify, by kernel."""

    def run(call: Callable[[], Any]) -> dict[str, str]:
        for path in tmp_path.iterdir():
            path.unlink()
        with torch._inductor.config.patch(force_disable_caches=True), torch.spyre.config(dump=str(tmp_path)):
            call()
        return {path.name.split(".")[0]: path.read_text() for path in tmp_path.glob("*.stickify.txt")}

    return run


def test_another_layout_is_another_graph_and_each_is_kept() -> None:
    compiled = torch.compile(program)
    x, y = operands()
    counters.clear()
    for _ in range(2):
        for order in (None, (1, 0), (0, 1)):
            given = lying(x, order)
            assert torch.equal(compiled(given, y.to("spyre")).cpu(), program(given, y.to("spyre")).cpu())
    assert counters["stats"]["unique_graphs"] == 3


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_descriptors_tell_the_layout_of_the_call(described: Any) -> None:
    compiled = torch.compile(program)
    x, y = operands()
    for order, sticks in ((None, "device [2, 64, 64] by [64, 96, 1]"), ((1, 0), "device [1, 96, 64] by [6144, 1, 96]")):
        (text,) = described(lambda order=order: compiled(lying(x, order), y.to("spyre"))).values()
        assert len(re.findall(rf"arg._1: .*{re.escape(sticks)}", text)) == (2 if order is None else 1)
        assert ("ReStickifyOpHBM" in text) == (order is not None)
    assert not described(lambda: compiled(lying(x, (1, 0)), y.to("spyre")))


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_a_weight_that_lies_as_products_want_it_is_not_restickified(described: Any) -> None:
    x = torch.randn(8, 64).half().to("spyre")
    linear = nn.Linear(64, 128).half()
    for device_layouts in (False, True):
        layer = linear.to("spyre", device_layouts=device_layouts)
        compiled = torch.compile(lambda x, layer=layer: F.linear(x, layer.weight))
        (text,) = described(lambda compiled=compiled: compiled(x)).values()
        assert ("= ReStickifyOpHBM" in text) != device_layouts


@pytest.mark.filterwarnings("ignore:dynamo_pgo force disabled")
def test_backward_graphs_know_the_layouts_of_what_was_saved(described: Any) -> None:
    x, y = operands()
    compiled = torch.compile(lambda x, y: x * x * y)
    for order, sticks in ((None, "[2, 64, 64] by [64, 96, 1]"), ((1, 0), "[1, 96, 64] by [6144, 1, 96]")):
        left, right = lying(x, order).requires_grad_(), y.to("spyre")
        texts = described(lambda left=left, right=right: compiled(left, right).sum().backward())
        inputs = [line for text in texts.values() for line in text.splitlines() if "primals_1:" in line]
        assert len(inputs) == 2
        assert all(sticks in line for line in inputs)


def test_views_lie_as_their_base() -> None:
    compiled = torch.compile(lambda x: x * 2 + 1)
    x = operands()[0]
    counters.clear()
    for order in ((0, 1), (1, 0)):
        part = lying(x, order)[8:24].t()
        assert torch.equal(compiled(part).cpu(), (part * 2 + 1).cpu())
    assert counters["stats"]["unique_graphs"] == 2


def test_a_guard_tells_layouts_apart() -> None:
    x = operands()[0]
    tensors = {order: lying(x, order) for order in (None, *LAYOUTS)}
    for wanted, tensor in tensors.items():
        lies_so = _C.layout_guard(LAYOUTS.get(wanted))
        assert [lies_so(one) for one in tensors.values()] == [order == wanted for order in tensors]
        assert not lies_so(x)
        assert not lies_so(1)
        assert lies_so(tensor.t())


def test_recompiling_for_a_layout_says_so() -> None:
    x, y = operands()
    compiled = torch.compile(program)
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(x.to("spyre"), y.to("spyre"))
        with pytest.raises(torch._dynamo.exc.RecompileError, match="has the device layout: the card's own choice"):
            compiled(lying(x, (1, 0)), y.to("spyre"))


CACHED = """
import torch
from torch._dynamo.utils import counters
from torch_spyre.layouts import SpyreTensorLayout
x = torch.arange(6144.0).half().view(64, 96)
layout = SpyreTensorLayout([64, 96], [96, 1], torch.float16, [1, 0])
program = lambda x: ((x + 1) * 2).amax(0)
def hits(given, autograd_cache):
    torch._dynamo.reset()
    counters.clear()
    with torch._functorch.config.patch(enable_autograd_cache=autograd_cache):
        assert torch.equal(torch.compile(program)(given).cpu(), program(x))
    return int(counters["inductor" if not autograd_cache else "aot_autograd"][
        "fxgraph_cache_hit" if not autograd_cache else "autograd_cache_hit"])
plain, chosen = x.to("spyre"), x.to("spyre", device_layout=layout)
print([[hits(given, cache) for cache in (False, True)] for given in ({order})])
"""


def test_graphs_on_disk_are_for_one_layout(run_python: Any, tmp_path: Path) -> None:
    """Both caches: Inductor's, and AOTAutograd's before it."""
    children = [
        run_python(CACHED.format(order=order), TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
        for order in ("plain, plain", "plain, chosen, chosen")
    ]
    told = [json.loads(child.stdout or "null") for child in children]
    assert told == [[[0, 0], [1, 1]], [[1, 1], [0, 0], [1, 1]]], children


UNNAMED = """
import json, torch
from torch._dynamo.utils import counters
calls = []
def program(x, y):
    return (x * 2 + y).sum(0)
compiled = torch.compile(program)
x, y = torch.ones(64, 96, device="spyre", dtype=torch.float16), torch.ones(96, device="spyre", dtype=torch.float16)
compiled(x, y)
def graphs():
    return counters["stats"]["unique_graphs"]
def layout_checks():
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list(program)
    return [str(entry.guard_manager).count("has the device layout") for entry in entries]
told = [(graphs(), layout_checks())]
layout = torch.spyre.SpyreTensorLayout([64, 96], [96, 1], torch.float16, [1, 0])
tiled = x.to("spyre", device_layout=layout)
assert torch.equal(compiled(tiled, y).cpu(), program(tiled, y).cpu())
told.append((graphs(), layout_checks()))
compiled(x, y)
told.append((graphs(), layout_checks()))
print(json.dumps(told))
"""


def test_without_a_layout_in_the_process_no_call_checks_one(run_python: Any) -> None:
    """The first layout that is named ends what was compiled without such checks."""
    child = run_python(UNNAMED, TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
    assert child.returncode == 0, child.stderr
    # What was dropped stays in Dynamo's list, at its end.
    assert json.loads(child.stdout) == [[1, [0]], [2, [2, 0]], [3, [2, 2, 0]]]


def test_naming_a_layout_ends_the_time_before() -> None:
    assert SpyreTensorLayout is not None
    assert no_layout_yet() is None
