"""Where a row runs: how that place makes inputs, compiles functions, waits for results and hands them back.

Every place draws the same numbers from numpy, in the order in which the row asks, so that all compute the same thing.
"""

from __future__ import annotations

import functools
import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy

TINY = 16


class Place(ABC):
    """Confined to the process that measures one row."""

    compiles = False  # whether users of this place write compiled() around their functions

    def __init__(self, tiny: bool = False) -> None:
        self.tiny = tiny
        self.random = numpy.random.default_rng(0)

    def shrink(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """In tiny runs, which try the suite itself, large arrays are cut to a few rows."""
        if not self.tiny or numpy.prod(shape) < 1 << 23:
            return shape
        return (max(TINY, shape[0] // 256), *shape[1:])

    def normal(self, *shape: int, dtype: str = "float32", scale: float = 1.0) -> Any:
        numbers = self.random.standard_normal(self.shrink(shape), dtype=numpy.float32)
        return self.array(numbers if scale == 1.0 else numbers * numpy.float32(scale), dtype)

    def integers(self, high: int, *shape: int) -> Any:
        return self.array(self.random.integers(0, high, shape), "int64")

    @abstractmethod
    def array(self, numbers: numpy.ndarray, dtype: str) -> Any:
        """`numbers` as an array of this place."""

    @abstractmethod
    def start(self) -> None:
        """What happens once in a process, before any row: not part of a row's cost."""

    @abstractmethod
    def wait(self, held: Any) -> None:
        """Returns when `held`, the result of a step, is computed."""

    @abstractmethod
    def numbers(self, held: Any) -> list[numpy.ndarray]:
        """The results as float64, in order."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function` as this place would have a user write it: unchanged, but for peers that compile."""
        return function

    def without_gradients(self, step: Callable[[], Any]) -> Callable[[], Any]:
        return step

    def counters(self, _step: Callable[[], Any]) -> dict[str, float]:
        """What the place can tell about steady steps, counted, not timed."""
        return {}


def flat(held: Any) -> list[Any]:
    if isinstance(held, (tuple, list)):
        return [leaf for part in held for leaf in flat(part)]
    return [] if held is None else [held]


class TorchPlace(Place):
    """PyTorch on one device."""

    def __init__(self, device: str = "cpu", tiny: bool = False) -> None:
        super().__init__(tiny)
        import torch

        self.torch, self.device = torch, device

    def array(self, numbers: numpy.ndarray, dtype: str) -> Any:
        return self.torch.from_numpy(numbers).to(getattr(self.torch, dtype)).to(self.device)

    def module(self, module: Any) -> Any:
        return module.to(self.device)

    def start(self) -> None:
        self.torch.ones(1).to(self.device)

    def wait(self, held: Any) -> None:
        pass

    def numbers(self, held: Any) -> list[numpy.ndarray]:
        leaves = [leaf if isinstance(leaf, self.torch.Tensor) else self.torch.tensor(leaf) for leaf in flat(held)]
        return [leaf.detach().cpu().double().numpy() for leaf in leaves]

    def without_gradients(self, step: Callable[[], Any]) -> Callable[[], Any]:
        return self.torch.inference_mode()(step)


class SpyrePlace(TorchPlace):
    """The device of this project."""

    def __init__(self, tiny: bool = False) -> None:
        super().__init__("spyre", tiny)

    def start(self) -> None:
        super().start()
        self.torch.spyre.synchronize()

    def wait(self, _held: Any) -> None:
        self.torch.spyre.synchronize()

    def counters(self, step: Callable[[], Any]) -> dict[str, float]:
        """Per step, over a few; of a process that has never set its counters back, also what it compiled in all."""
        spyre, rounds = self.torch.spyre, 3
        self.wait(None)
        compiled = spyre.stats()["kernels_compiled"]
        spyre.reset_stats()
        for _ in range(rounds):
            held = step()
            self.wait(held)
            del held
        stats = spyre.stats()
        plans = stats["plan_cache"]
        asked = plans["hits"] + plans["misses"]
        return {
            "plan_hit_rate": plans["hits"] / asked if asked else 1.0,
            "kernels_since_start": compiled,
            "kernels_compiled": stats["kernels_compiled"],
            "dispatches": stats["dispatches"] / rounds,
            "flushes": sum(stats["flushes"].values()) / rounds,
            "kernel_launches": stats["kernel_launches"] / rounds,
            "library_launches": stats["library_launches"] / rounds,
            "fallbacks": sum(stats["fallbacks"].values()) / rounds,
        }


class SpyreCompilePlace(SpyrePlace):
    """torch.compile on the device of this project."""

    compiles = True

    def __init__(self, tiny: bool = False) -> None:
        super().__init__(tiny)
        importlib.import_module("torch._inductor.compile_fx")
        importlib.import_module("torch_spyre.inductor").register()

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.torch.compile(function)


class CompilePlace(TorchPlace):
    """torch.compile with Inductor's C++ code."""

    compiles = True

    def __init__(self, tiny: bool = False) -> None:
        super().__init__("cpu", tiny)
        importlib.import_module("torch._inductor.compile_fx")

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return self.torch.compile(function)


class LazyTensorPlace(TorchPlace):
    """PyTorch's own lazy tensors on their TorchScript backend."""

    def __init__(self, tiny: bool = False) -> None:
        super().__init__("lazy", tiny)
        self.backend = importlib.import_module("torch._lazy.ts_backend")

    def start(self) -> None:
        self.backend.init()
        super().start()

    def without_gradients(self, step: Callable[[], Any]) -> Callable[[], Any]:
        return self.torch.no_grad()(step)  # its views cannot be made in inference mode

    def wait(self, _held: Any) -> None:
        self.torch._lazy.mark_step()
        self.torch._lazy.wait_device_ops()


class JaxPlace(Place):
    """jax.jit on CPU."""

    compiles = True

    def __init__(self, tiny: bool = False) -> None:
        super().__init__(tiny)
        import jax

        self.jax = jax

    def array(self, numbers: numpy.ndarray, dtype: str) -> Any:
        return self.jax.numpy.asarray(numbers).astype(dtype if dtype != "int64" else "int32")

    def start(self) -> None:
        self.jax.block_until_ready(self.jax.numpy.ones(1) + 1)

    def wait(self, held: Any) -> None:
        self.jax.block_until_ready(held)

    def numbers(self, held: Any) -> list[numpy.ndarray]:
        return [numpy.asarray(leaf.astype("float32"), dtype=numpy.float64) for leaf in flat(held)]

    def compiled(self, function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        return self.jax.jit(function, **options)


PLACES: dict[str, Callable[..., Place]] = {
    "spyre": SpyrePlace,
    "spyre-compile": SpyreCompilePlace,
    "avx2": SpyrePlace,
    "eager": functools.partial(TorchPlace, "cpu"),
    "compile": CompilePlace,
    "lazy_ts": LazyTensorPlace,
    "jax": JaxPlace,
}
