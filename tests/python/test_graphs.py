"""Graphs: what is captured runs at replays alone, with the values of then, and as it would have run eagerly."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import nn

DEVICE = "spyre"
Stats = Callable[[], dict]


def captured(function: Callable[[], torch.Tensor]) -> tuple[torch.spyre.SpyreGraph, torch.Tensor]:
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        result = function()
    return graph, result


def test_replays_read_what_inputs_hold_then() -> None:
    x = torch.arange(4.0, device=DEVICE)
    graph, y = captured(lambda: torch.relu(x * 2 + 1))
    for start in (0.0, 10.0, -10.0):
        x.copy_(torch.arange(start, start + 4))
        graph.replay()
        assert torch.equal(y.cpu(), (x.cpu() * 2 + 1).relu())


def test_the_accelerator_api() -> None:
    """The example of torch.accelerator.Graph's documentation."""
    x = torch.zeros(2000, device=DEVICE)
    stream, graph = torch.Stream(), torch.accelerator.Graph()
    with stream, graph:
        x += 1
    for _ in range(3):
        graph.replay()
    assert torch.equal(x.cpu(), torch.full((2000,), 3.0))
    assert graph.pool() != torch.accelerator.Graph().pool()
    assert torch.accelerator.Graph(pool=graph.pool()).graph_pool == graph.pool()


def test_asking_wakes_a_dormant_device(run_python: Callable) -> None:
    done = run_python(
        """
import torch
graph = torch.accelerator.Graph()
assert not torch.spyre.is_initialized()
assert not torch.spyre.is_current_stream_capturing()
x = torch.ones(3, device="spyre")
with graph:
    assert torch.spyre.is_current_stream_capturing()
    y = x + 1
graph.replay()
print(y.tolist())
"""
    )
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr


def test_replays_record_nothing_and_look_nothing_up(stats: Stats) -> None:
    x = torch.ones(64, 64, device=DEVICE)
    graph, y = captured(lambda: (x @ x).softmax(-1).sum())
    before = stats()
    for _ in range(10):
        graph.replay()
    after = stats()
    assert after["graph_replays"] - before["graph_replays"] == 10
    for counter in ("dispatches", "kernels_compiled"):
        assert after[counter] == before[counter]
    for counter in ("hits", "misses"):
        assert after["plan_cache"][counter] == before["plan_cache"][counter]
    assert y.item() == 64


def read_item(x: torch.Tensor) -> object:
    return x.sum().item()


@pytest.mark.parametrize(
    "wait",
    [
        read_item,
        lambda x: x.cpu(),
        print,
        lambda x: bool(x[0] > 0),
        lambda x: x.nonzero(),
        lambda x: x[(None,) * 12].cumsum(-1),  # deeper than the device's tensors
        lambda x: x.copy_(torch.zeros(4)),
        lambda _: torch.spyre.synchronize(),
        lambda _: torch.accelerator.synchronize(),
        lambda _: torch.spyre.current_stream().synchronize(),
    ],
    ids=["item", "cpu", "print", "bool", "nonzero", "host", "upload", "synchronize", "accelerator", "stream"],
)
def test_what_needs_values_now_is_refused(wait: Callable[[torch.Tensor], object]) -> None:
    x = torch.ones(4, device=DEVICE)
    graph, seen = torch.spyre.SpyreGraph(), []

    def program() -> None:
        with torch.spyre.graph(graph):
            seen.append(x + 1)
            wait(seen[0])

    with pytest.raises(RuntimeError, match="captur"):
        program()
    (y,) = seen
    assert not torch.spyre.is_current_stream_capturing()
    with pytest.raises(RuntimeError, match="nothing has been captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="recorded into a graph"):
        y.cpu()
    assert torch.equal((x + 1).cpu(), torch.full((4,), 2.0))


def test_a_refused_operation_leaves_the_capture_as_it_is() -> None:
    x = torch.ones(4, device=DEVICE)
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        y = x + 1
        with pytest.raises(RuntimeError, match="capture"):
            y.sum().item()
        y = y * 3
    graph.replay()
    assert y.tolist() == [6.0] * 4


def test_results_are_unknown_until_a_replay() -> None:
    x = torch.ones(4, device=DEVICE)
    graph, y = captured(lambda: x + 1)
    for use in (y.cpu, lambda: y + 1, y.sum):
        with pytest.raises(RuntimeError, match="replay the graph first"):
            use()
    graph.replay()
    assert (y + 1).tolist() == [3.0] * 4


def test_misuse_says_what_to_do() -> None:
    x = torch.ones(4, device=DEVICE)
    graph, other = torch.spyre.SpyreGraph(), torch.spyre.SpyreGraph()
    with pytest.raises(RuntimeError, match="nothing has been captured"):
        graph.replay()
    with pytest.raises(RuntimeError, match="capture_begin"):
        graph.capture_end()
    with torch.spyre.graph(graph):
        with pytest.raises(RuntimeError, match="another graph"):
            other.capture_begin()
        x += 1
    with pytest.raises(RuntimeError, match="reset"):
        graph.capture_begin()
    with torch.spyre.graph(other), pytest.raises(RuntimeError, match="cannot become a part"):
        graph.replay()
    graph.reset()
    with torch.spyre.graph(graph):
        x += 10
    graph.replay()
    assert x.tolist() == [11.0] * 4


def test_a_graph_may_end_while_it_captures() -> None:
    x = torch.ones(4, device=DEVICE)
    graph = torch.spyre.SpyreGraph()
    graph.capture_begin()
    x += 1
    del graph
    assert not torch.spyre.is_current_stream_capturing()
    assert x.tolist() == [1.0] * 4


def test_inputs_and_constants_outlive_their_names() -> None:
    def program() -> torch.Tensor:
        return torch.ones(3, device=DEVICE) + torch.tensor([1.0, 2.0, 3.0], device=DEVICE)

    weights = [torch.full((3,), 5.0, device=DEVICE)]
    graph, y = captured(lambda: program() * weights[0])
    weights.clear()
    junk = [torch.full((3,), 7.0, device=DEVICE).cpu() for _ in range(20)]
    assert len(junk) == 20
    graph.replay()
    assert y.tolist() == [10.0, 15.0, 20.0]


def test_random_numbers_are_those_of_eager_runs() -> None:
    net = nn.Sequential(nn.Linear(8, 64), nn.Dropout(0.5)).to(DEVICE)
    x = torch.randn(2, 8).to(DEVICE)

    def program() -> torch.Tensor:
        return net(x) + torch.rand(64, device=DEVICE)

    torch.manual_seed(5)
    expected = [program().cpu() for _ in range(3)]
    torch.manual_seed(5)
    graph, y = captured(program)
    for wanted in expected:
        graph.replay()
        assert torch.equal(y.cpu(), wanted)
    torch.manual_seed(6)
    other = program().cpu()
    torch.manual_seed(6)
    graph.replay()
    assert torch.equal(y.cpu(), other)


def test_random_numbers_that_no_replay_could_repeat_are_refused() -> None:
    x = torch.empty(8, device=DEVICE)
    graph = torch.spyre.SpyreGraph()
    generator = torch.Generator(DEVICE)
    with torch.spyre.graph(graph), pytest.raises(RuntimeError, match="default generator alone"):
        x.uniform_(generator=generator)
    graph.reset()
    graph.capture_begin()
    torch.manual_seed(3)
    x.uniform_()
    with pytest.raises(RuntimeError, match="seeded inside"):
        graph.capture_end()
    assert not torch.spyre.is_current_stream_capturing()


def test_checkpointed_dropout_is_recomputed_alike() -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(64, device=DEVICE, requires_grad=True)

    def program(inner: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(inner.sin(), 0.5).cos()

    graph = torch.spyre.SpyreGraph()
    x.grad = torch.zeros_like(x)
    with torch.spyre.graph(graph):
        x.grad.zero_()
        checkpoint(program, x, use_reentrant=False).sum().backward()
    torch.manual_seed(11)
    graph.replay()
    replayed = x.grad.cpu()
    torch.manual_seed(11)
    x.grad.zero_()
    program(x).sum().backward()
    assert torch.equal(replayed, x.grad.cpu())


@pytest.mark.parametrize("stream", [None, "other"])
def test_streams_inside_keep_program_order(stream: str | None) -> None:
    x = torch.ones(4, device=DEVICE)
    chosen = torch.spyre.Stream() if stream else None
    graph, side = torch.spyre.SpyreGraph(), torch.spyre.Stream()
    with torch.spyre.graph(graph, stream=chosen):
        y = x + 1
        with torch.spyre.stream(side):
            z = y * 3
        torch.spyre.current_stream().wait_stream(side)
        z = z - x
        assert torch.spyre.current_stream() == (chosen or torch.spyre.default_stream())
    graph.replay()
    assert z.tolist() == [5.0] * 4


def test_other_threads_go_on() -> None:
    x, theirs = torch.ones(4, device=DEVICE), torch.full((4,), 3.0, device=DEVICE)
    found: list[object] = []

    def work() -> None:
        found.append((theirs * 2).tolist())
        try:
            (y * 2).tolist()
        except RuntimeError as refused:
            found.append(str(refused))

    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        y = x + 1
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    graph.replay()
    assert y.tolist() == [2.0] * 4
    assert found[0] == [6.0] * 4
    assert "is used by a graph that is being recorded" in str(found[1])


def test_a_capture_ends_where_it_began() -> None:
    graph = torch.spyre.SpyreGraph()
    graph.capture_begin()
    found: list[str] = []

    def work() -> None:
        for end in (graph.capture_end, graph.reset):
            try:
                end()
            except RuntimeError as refused:
                found.append(str(refused))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    graph.capture_end()
    assert ["begun by another thread" in text for text in found] == [True, True]
    graph.replay()


def test_faults_of_replays_are_raised_at_the_next_wait() -> None:
    table, index = torch.arange(5.0, device=DEVICE), torch.tensor([1, 2], device=DEVICE)
    graph, y = captured(lambda: table[index])
    index.copy_(torch.tensor([1, 7]))
    graph.replay()
    with pytest.raises(IndexError, match="out of"):
        torch.spyre.synchronize()
    index.copy_(torch.tensor([4, 0]))
    graph.replay()
    assert y.tolist() == [4.0, 0.0]


def test_tensors_in_sticks() -> None:
    layout = torch.spyre.SpyreTensorLayout([64, 128], torch.float16)
    x = torch.randn(64, 128).half()
    tiled = x.to(DEVICE).to(device_layout=layout) if hasattr(torch.spyre, "SpyreTensorLayout") else None
    assert tiled is not None
    graph, y = captured(lambda: (tiled * 2).sum(0))
    graph.replay()
    assert torch.equal(y.cpu(), (x.to(DEVICE) * 2).sum(0).cpu())


def test_dumps_as_text(tmp_path) -> None:
    x = torch.ones(4, device=DEVICE)
    graph, _ = captured(lambda: x.exp() + 1)
    graph.enable_debug_mode()
    graph.debug_dump(str(tmp_path / "graph.txt"))
    text = (tmp_path / "graph.txt").read_text()
    assert "exp" in text
    assert "add" in text
    with pytest.raises(RuntimeError, match="cannot write"):
        graph.debug_dump(str(tmp_path / "nowhere" / "graph.txt"))


def test_memory_comes_back() -> None:
    x = torch.ones(1 << 20, device=DEVICE)
    torch.spyre.synchronize()
    before = torch.spyre.memory_allocated()
    graph, y = captured(lambda: (x + 1) * 2)
    graph.replay()
    assert torch.spyre.memory_allocated() - before == 4 << 20
    del y
    assert torch.spyre.memory_allocated() - before == 4 << 20, "the graph writes it"
    graph.reset()
    assert torch.spyre.memory_allocated() == before


def test_other_threads_draw_on() -> None:
    """What they drew while a graph was captured does not come again after it."""
    torch.manual_seed(7)
    expected = [torch.rand(4, device=DEVICE).tolist() for _ in range(3)]
    torch.manual_seed(7)
    found = [torch.rand(4, device=DEVICE).tolist()]
    graph = torch.spyre.SpyreGraph()
    with torch.spyre.graph(graph):
        torch.rand(4, device=DEVICE)
        thread = threading.Thread(target=lambda: found.append(torch.rand(4, device=DEVICE).tolist()))
        thread.start()
        thread.join()
    found.append(torch.rand(4, device=DEVICE).tolist())
    assert found == expected
