"""Graphs: a program that is recorded once and replayed. The device's own class is torch.accelerator.Graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch.utils import _pytree

from ._engine import engine
from .streams import StreamContext

__all__ = ["SpyreGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]

Pool = tuple[int, int]
Mode = Literal["default", "global", "thread_local", "relaxed"]
Tensors = tuple[torch.Tensor | None, ...]


def _choose(graph: torch.accelerator.Graph, pool: Pool | None, capture_error_mode: Mode | None) -> None:
    if pool is not None:
        graph.graph_pool = pool
    if capture_error_mode is not None:
        graph.capture_error_mode = capture_error_mode


class SpyreGraph(torch.accelerator.Graph):
    """torch.accelerator.Graph under the name that torch.cuda.CUDAGraph has here."""

    def capture_begin(self, pool: Pool | None = None, capture_error_mode: Mode | None = None) -> None:
        """From here on the thread's work on its current device is recorded and not run."""
        _choose(self, pool, capture_error_mode)
        super().capture_begin()


class graph:  # noqa: N801
    """As torch.cuda.graph: with torch.spyre.graph(g): … captures what is done inside.

    An exception inside leaves the graph empty.
    `stream` is current inside. Graphs need no pool of their own: what nobody can see gets its memory at the replay,
    from the stream that it runs on.
    """

    def __init__(
        self,
        spyre_graph: torch.accelerator.Graph,
        pool: Pool | None = None,
        stream: torch.Stream | None = None,
        capture_error_mode: Mode | None = None,
    ) -> None:
        self._graph = spyre_graph
        self._stream = StreamContext(stream)
        _choose(spyre_graph, pool, capture_error_mode)

    def __enter__(self) -> None:
        self._stream.__enter__()
        try:
            self._graph.capture_begin()
        except BaseException:
            self._stream.__exit__()
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._graph.capture_end()
            else:
                self._graph.reset()
        finally:
            self._stream.__exit__()


def graph_pool_handle() -> Pool:
    """A pool that graphs may share. They share memory as it is, so it only satisfies programs that ask for one."""
    return SpyreGraph().pool()


def is_current_stream_capturing() -> bool:
    """Whether what the thread does on its current device becomes part of a graph."""
    return bool(engine().is_capturing(engine().current_device()))


def make_graphed_callables(
    callables: Callable[..., Any] | tuple[Callable[..., Any], ...],
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: Pool | None = None,
) -> Any:
    """Callables that replay graphs of `callables`, forward and backward, for arguments of the samples' shapes.

    `sample_args` is a tuple of tensors for one callable, a tuple of such tuples for a tuple of them. A module is
    changed in place: its forward() replays in the mode, training or not, in which it was captured.
    """
    if not isinstance(callables, tuple):
        return make_graphed_callables((callables,), (sample_args,), num_warmup_iters, allow_unused_input, pool)[0]
    if len(callables) != len(sample_args):
        raise ValueError(
            f"make_graphed_callables: {len(callables)} callables need as many sample_args; got {len(sample_args)}"
        )
    return tuple(
        _graphed(function, arguments, num_warmup_iters, allow_unused_input)
        for function, arguments in zip(callables, sample_args, strict=True)
    )


def _graphed(
    function: Callable[..., Any], arguments: tuple[Any, ...], warmup_iterations: int, allow_unused: bool
) -> Callable[..., Any]:
    flat, structure = _pytree.tree_flatten(arguments)
    if not all(isinstance(x, torch.Tensor) and x.device.type == "spyre" for x in flat):
        raise TypeError("make_graphed_callables: sample_args must hold tensors on spyre only")
    parameters = [p for p in function.parameters() if p.requires_grad] if isinstance(function, torch.nn.Module) else []
    # What autograd, allocators and caches do only at first: not part of the graph.
    for _ in range(warmup_iterations):
        results = [x for x in _pytree.tree_leaves(function(*arguments)) if x.requires_grad]
        wanted = [x for x in (*flat, *parameters) if x.requires_grad]
        if results and wanted:
            ones = [torch.ones_like(x) for x in results]
            torch.autograd.grad(results, wanted, ones, allow_unused=allow_unused)
    replay = _Replay(function, arguments, flat, parameters, allow_unused)

    def graphed(*given: Any) -> Any:
        leaves, shape = _pytree.tree_flatten(given)
        if shape != structure:
            raise TypeError("graphed callable: the arguments are not structured as the samples were")
        return replay(leaves)

    if not isinstance(function, torch.nn.Module):
        return graphed
    eager, mode = function.forward, function.training

    def forward(*given: Any) -> Any:
        return graphed(*given) if function.training == mode else eager(*given)

    function.forward = forward
    return function


class _Replay:
    """One callable's graphs, and the tensors that they read and write."""

    def __init__(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        inputs: Sequence[torch.Tensor],
        parameters: Sequence[torch.Tensor],
        allow_unused: bool,
    ) -> None:
        self._inputs, self._parameters = inputs, parameters
        self._forward, self._backward = SpyreGraph(), SpyreGraph()
        with graph(self._forward):
            outputs, self._structure = _pytree.tree_flatten(function(*arguments))
        seeded = [x for x in outputs if x.requires_grad]
        sources = [*inputs, *parameters]
        wanted = [x for x in sources if x.requires_grad]
        self._seeds: Tensors = tuple(torch.empty_like(x) if x.requires_grad else None for x in outputs)
        found: Sequence[torch.Tensor | None] = ()
        if seeded and wanted:
            with graph(self._backward):
                found = torch.autograd.grad(
                    seeded, wanted, [x for x in self._seeds if x is not None], allow_unused=allow_unused
                )
        gradients = iter(found)
        self._gradients: Tensors = tuple(next(gradients, None) if x.requires_grad else None for x in sources)
        self._outputs = tuple(x.detach() for x in outputs)

    def __call__(self, given: Sequence[torch.Tensor]) -> Any:
        for sample, tensor in zip(self._inputs, given, strict=True):
            if tensor.shape != sample.shape or tensor.dtype != sample.dtype or tensor.device != sample.device:
                raise ValueError(
                    f"graphed callable: got {tensor.dtype} {list(tensor.shape)} on {tensor.device}; the graph is for "
                    f"{sample.dtype} {list(sample.shape)} on {sample.device}"
                )
        outputs = _Replayed.apply(self, *given, *self._parameters)  # type: ignore[no-untyped-call]
        return _pytree.tree_unflatten(outputs, self._structure)

    def run_forward(self, given: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        for sample, tensor in zip(self._inputs, given, strict=False):
            _fill(sample, tensor)
        self._forward.replay()
        return tuple(x.detach() for x in self._outputs)

    def run_backward(self, seeds: Sequence[torch.Tensor | None]) -> Tensors:
        for sample, tensor in zip(self._seeds, seeds, strict=True):
            if sample is not None and tensor is not None:
                _fill(sample, tensor)
        self._backward.replay()
        return tuple(None if x is None else x.detach() for x in self._gradients)


def _fill(target: torch.Tensor, source: torch.Tensor) -> None:
    if target.data_ptr() != source.data_ptr():
        with torch.no_grad():
            target.copy_(source)


class _Replayed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, replay: _Replay, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.replay = replay
        return replay.run_forward(given)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *seeds: torch.Tensor | None) -> tuple[Any, ...]:
        return (None, *ctx.replay.run_backward(seeds))
