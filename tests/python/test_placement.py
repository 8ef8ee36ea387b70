"""Memory domains: tensors that directives place, used by everything there is, with the same bits."""

from __future__ import annotations

import json

import pytest
import torch

CARD = {"memory_domains": 4, "capacity": 1 << 30, "min_region": 1 << 26}
"""A card of seven regions for tensors; these domains have two of them each, the last has one."""


@pytest.fixture
def on_domains(run_python, tmp_path):
    """Runs a program on a card with four memory domains and returns what it printed as JSON."""
    card = tmp_path / "card.json"
    card.write_text(json.dumps(CARD))

    def run(program: str, **environment: str):
        child = run_python(program, SPYRE_DEVICE_SPEC=str(card), **environment)
        assert child.returncode == 0, child.stderr
        return json.loads(child.stdout)

    return run


def test_one_domain_serves_every_directive():
    with torch.spyre.memory.directive("interleave"):
        x = torch.ones(1000, device="spyre")
    (piece,) = torch.spyre.memory.pieces(x)
    assert piece["domain"] == 0
    assert piece["size"] == 4096
    assert [row["domain"] for row in torch.spyre.memory.domains()] == [0]


@pytest.mark.parametrize(
    ("policy", "domains", "words"),
    [
        ("spread", [], "no policy 'spread'"),
        ("bind", [], "names no memory domain"),
        ("bind", [7], "no domain 7"),
        ("interleave", [0, 0], "named twice"),
        ("default", [0], "takes no memory domains"),
    ],
)
def test_wrong_directives_are_refused(policy, domains, words):
    with pytest.raises(ValueError, match=words), torch.spyre.memory.directive(policy, domains):
        pass
    (piece,) = torch.spyre.memory.pieces(torch.ones(3, device="spyre"))
    assert piece["domain"] == 0


def test_what_has_no_memory_of_its_own_has_no_pieces():
    eye = torch.eye(3)
    for other in (eye, eye.to("meta"), eye.to_sparse(), eye.to("spyre").to_sparse()):
        with pytest.raises(TypeError):
            torch.spyre.memory.pieces(other)


PLACES = """
import json, threading, torch
m = torch.spyre.memory
def where(tensor): return [[p["domain"], p["size"]] for p in m.pieces(tensor)]
out = {}
with m.directive("interleave"):
    x = torch.arange(1024.0, device="spyre")
    with m.directive("bind", [2]):
        bound = x + 1
    back = x * 2
    thread_saw = []
    thread = threading.Thread(target=lambda: thread_saw.append(where(torch.ones(1024, device="spyre") + 1)))
    thread.start(); thread.join()
after = x + 3
@m.directive("interleave", [3, 1])
def made(): return torch.zeros(1024, device="spyre")
out["interleaved"] = where(x)
out["bound"] = where(bound)
out["back"] = where(back)
out["view"] = where(x[100:200])
out["thread"] = thread_saw[0]
out["after"] = where(after)
out["decorated"] = where(made())
out["sum"] = [x.sum().item(), bound.sum().item(), back.sum().item(), after.sum().item()]
out["domains"] = [[row["domain"], len(row["segments"])] for row in m.domains()]
print(json.dumps(out))
"""


def test_directives_say_where_tensors_are(on_domains):
    out = on_domains(PLACES)
    everywhere = [[domain, 1024] for domain in range(4)]
    assert out["interleaved"] == out["back"] == out["view"] == everywhere
    assert out["bound"] == [[2, 4096]]
    assert out["decorated"] == [[3, 2048], [1, 2048]]
    assert len(out["thread"]) == 1, "a directive is of one thread"
    assert len(out["after"]) == 1, "and of one scope"
    total = 1023 * 1024 / 2
    assert out["sum"] == [total, total + 1024, total * 2, total + 3 * 1024]
    assert out["domains"] == [[0, 2], [1, 2], [2, 2], [3, 1]]


PROGRAM = """
import contextlib, hashlib, io, json, os, tempfile, torch
import torch.nn.functional as F
from torch_spyre.layouts import SpyreTensorLayout
torch.manual_seed(0)
DIRECTIVE = {directive!r}
scope = torch.spyre.memory.directive(*DIRECTIVE) if DIRECTIVE else contextlib.nullcontext()
found = {{}}
def keep(name, value):
    value = value.detach().cpu().contiguous()
    found[name] = hashlib.sha256(value.view(torch.uint8).numpy().tobytes()).hexdigest()
with scope:
    x = torch.randn(96, 130).to("spyre")
    w = torch.randn(130, 64).to("spyre")
    keep("fused", (x * 2 + 1).exp().tanh())
    keep("rows", F.layer_norm(F.softmax(x, -1), [130]))
    keep("columns", x.sum(0) + x.amax(0))
    keep("product", F.gelu(x @ w + 1))
    keep("library", torch.sort(x, dim=-1)[0])
    keep("index", x[torch.tensor([5, 3, 90], device="spyre")])
    keep("fallback", torch.linalg.qr(x[:64, :64])[1])
    view = x[3:50:2, 5:100].t()
    keep("view", view + view)
    y = x.clone()
    y[10:20].mul_(3)
    y[:, 7] = 1.5
    y.t().add_(1)
    keep("in_place", y)
    keep("random", torch.rand(1000, device="spyre"))
    z = x.cpu().clone(); y.copy_(z); keep("upload", y)
    y[5:9, :3].copy_(torch.ones(4, 3)); keep("partial_upload", y)
    keep("download", x[2:5, 3:9].cpu())
    buffer = io.BytesIO(); torch.save(x, buffer); buffer.seek(0); keep("saved", torch.load(buffer))
    import copy; keep("deepcopy", copy.deepcopy(x))
    u = x.to(torch.float16).to("spyre", device_layout=SpyreTensorLayout([96, 130], torch.float16))
    keep("layout", u + 1); u.add_(1); keep("layout_in_place", u); keep("layout_sum", u.sum(0))
    g = torch.spyre.SpyreGraph()
    a = torch.ones(1000, device="spyre")
    with torch.spyre.graph(g): b = (a * 3).sin()
    a.add_(4); g.replay(); keep("graph", b)
    other = x.to("spyre:1"); keep("to_peer", other + 1); x.copy_(other * 2); keep("from_peer", x)
    big = torch.randn(3 << 20).to("spyre"); keep("big", big.mul(2).add_(1).relu())
    folder = tempfile.mkdtemp() + "/plan"
    torch.spyre.plans.save(folder, lambda t: (t * 2).tanh().sum(0), x)
    keep("plan", torch.spyre.plans.load(folder)(x))
    s = torch.spyre.Stream()
    with torch.spyre.stream(s): c = x * 5
    torch.spyre.current_stream().wait_stream(s); keep("streams", c + x)
    model = torch.nn.Sequential(torch.nn.Linear(130, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)).to("spyre")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad(); model(x).square().mean().backward(); optimizer.step()
    keep("trained", model[0].weight)
    x.resize_(96 * 260); keep("resized", x[:100])
    if DIRECTIVE and DIRECTIVE[0] == "interleave":
        domains = DIRECTIVE[1] if len(DIRECTIVE) > 1 else [0, 1, 2, 3]
        for tensor in (y, c, model[0].weight, model[0].weight.grad, b, big, u):
            placed = [piece["domain"] for piece in torch.spyre.memory.pieces(tensor)]
            assert placed == domains, (tensor.shape, placed)
torch.spyre.synchronize()
print(json.dumps(found))
"""


def test_everything_takes_interleaved_tensors_with_the_same_bits(on_domains):
    plain = on_domains(PROGRAM.format(directive=None), AIU_WORLD_SIZE="2")
    assert len(plain) == 26
    for directive in [("interleave",), ("interleave", [2, 0]), ("bind", [1]), ("preferred", [3])]:
        assert on_domains(PROGRAM.format(directive=directive), AIU_WORLD_SIZE="2") == plain, directive


TRAFFIC = """
import json, torch
m = torch.spyre.memory
def modelled(*directive):
    with m.directive(*directive):
        x = torch.zeros(1 << 20, device="spyre")
        y = torch.zeros(1 << 20, device="spyre")
        torch.spyre.synchronize()
        with torch.spyre.timeline("{path}"):
            y.copy_(x).add_(x)
            torch.spyre.synchronize()
    report = torch.spyre.report()
    return report["compute"]["domain_bytes"], report["modelled_us"], sorted({{k["rule"] for k in report["kernels"]}})
directives = {{"default": ("default",), "all": ("interleave",), "two": ("interleave", [0, 1]), "one": ("bind", [3])}}
found = {{name: modelled(*directive) for name, directive in directives.items()}}
found["what_if"] = torch.spyre.what_if(memory_domains=1)["modelled_us"]
print(json.dumps(found))
"""


def test_traffic_is_counted_and_priced_by_domain(on_domains, tmp_path):
    found = on_domains(TRAFFIC.format(path=tmp_path / "t.json"))
    size = 4 << 20
    assert found["all"][0] == found["default"][0] == [2 * size // 4] * 4
    assert found["two"][0] == [size, size, 0, 0]
    assert found["one"][0] == [0, 0, 0, 2 * size]
    assert found["all"][1] == found["default"][1] == found["what_if"] < found["two"][1] < found["one"][1]
    assert found["one"][2] == found["two"][2] == ["memory_domain"]


FULL = """
import json, torch
m = torch.spyre.memory
room = m.domains()[1]["free"]
half = int(room * 0.4) // 4
out = []
with m.directive("bind", [1]):
    held = [torch.zeros(half, device="spyre") for _ in range(2)]
    torch.spyre.synchronize()
    try:
        torch.zeros(half, device="spyre").cpu()
    except torch.OutOfMemoryError as error:
        out.append(str(error))
with m.directive("preferred", [1]):
    soft = torch.zeros(half, device="spyre")
    out.append(m.pieces(soft)[0]["domain"])
del held
with m.directive("bind", [1]):
    out.append(m.pieces(torch.zeros(half, device="spyre"))[0]["domain"])
print(json.dumps(out))
"""


def test_a_full_domain_is_an_error_for_those_bound_to_it(on_domains):
    message, soft, again = on_domains(FULL)
    assert "bind memory domains 1" in message
    assert soft != 1
    assert again == 1


REPLAYED = """
import json, torch
m = torch.spyre.memory
def step(x): return (x * 2 + 1).relu()
out = []
for directive in (("default",), ("interleave",), ("default",), ("bind", [2])) * 2:
    with m.directive(*directive):
        x = torch.ones(4096, device="spyre")
        y = step(x)
        del x
        out.append([[p["domain"] for p in m.pieces(y)], y.sum().item()])
print(json.dumps(out))
"""


def test_plans_know_directives(on_domains):
    """A result is not put into the memory of an operand that is placed otherwise, however often it is planned."""
    out = on_domains(REPLAYED)
    assert out == [[[0], 12288], [[0, 1, 2, 3], 12288], [[0], 12288], [[2], 12288]] * 2
