"""What programs bring along: subclasses, modes, default devices, fake and meta tensors, own operators, threads."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from .same import assert_same, numbers, outcome, same


class Tagged(torch.Tensor):
    """__torch_function__ alone: stays what it is through operators."""


class Wrapped(torch.Tensor):
    """__torch_dispatch__: holds another tensor, counts calls."""

    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), dtype=inner.dtype, device=inner.device
        )

    def __init__(self, inner):
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        args, kwargs = tree_map_only(Wrapped, lambda t: t.inner, (args, kwargs or {}))
        return tree_map_only(torch.Tensor, Wrapped, func(*args, **kwargs))


def subclasses(device):
    x = numbers(3, device=device).as_subclass(Tagged)
    y = (x * 2 + 1).sum()
    parameter = torch.nn.Parameter(numbers(3, device=device).as_subclass(Tagged))
    (parameter * x).sum().backward()
    return type(y).__name__, y.as_subclass(torch.Tensor), type(x[1:]).__name__, type(parameter.grad).__name__


def wrappers(device):
    x = Wrapped(numbers(3, 3, device=device))
    y = (x @ x).relu().sum(0)
    y.add_(1)
    return type(y).__name__, y.inner, y.device.type == device


def dispatch_modes(device):
    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Watch():
        x = torch.ones(3, device=device)
        (x * 2).relu_().sum()
    return seen


def function_modes(device):
    class Double(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            result = func(*args, **(kwargs or {}))
            return result * 2 if func is torch.exp else result

    with Double():
        return torch.exp(numbers(3, device=device))


def default_device(device):
    torch.set_default_device(device)
    try:
        made = [
            torch.ones(2),
            torch.arange(3),
            torch.nn.Linear(2, 2).weight,
            torch.tensor([1.0]),
            torch.randn(2),
            torch.eye(2),
        ]
        elsewhere = torch.ones(2, device="cpu")
        return [t.device.type == device for t in made], elsewhere.device.type, made[1] * 2
    finally:
        torch.set_default_device(None)


def device_contexts(device):
    with torch.device(device):
        x = torch.zeros(2)
        with torch.device("cpu"):
            y = torch.zeros(2)
        layer = torch.nn.Linear(2, 2)
    return x.device.type == device, y.device.type, layer.weight.device.type == device, torch.zeros(1).device.type


def meta_tensors(device):
    with torch.device("meta"):
        layer = torch.nn.Linear(3, 2)
    layer = layer.to_empty(device=device)
    torch.nn.init.ones_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    return layer(numbers(4, 3, device=device)), torch.empty_like(numbers(2, device=device), device="meta").device.type


def meta_and_real(device):
    return torch.ones(2, device="meta") + torch.ones(2, device=device)


def fake_tensors(device):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        x = torch.empty(3, 4, device=device)
        y = torch.nn.functional.conv1d(x[None], torch.empty(2, 3, 3, device=device)).relu().sum(-1)
        z = mode.from_tensor(numbers(4, 3, device=device)) @ x
        attention = torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])
        results = [y, z, attention, x.sort(), torch.cat([x, x]), x.t().contiguous()]
        from torch.utils._pytree import tree_leaves

        return [(t.device.type == device, tuple(t.shape), t.stride(), t.dtype) for t in tree_leaves(results)]


def own_operators(device):
    with torch.library._scoped_library("spyre_tests", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.define("shift_(Tensor(a!) x, float by) -> Tensor(a!)")
        library.impl("twice", lambda x: x * 2, "CPU")
        library.impl("shift_", lambda x, by: x.add_(by), "CPU")
        x = numbers(3, device=device)
        return torch.ops.spyre_tests.twice(x), torch.ops.spyre_tests.shift_(x[1:], 3.0), x


def own_operators_in_python(device):
    @torch.library.custom_op("spyre_tests::spread", mutates_args=("out",))
    def spread(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
        out.copy_(x.expand_as(out))
        return x.sum()

    @torch.library.custom_op("spyre_tests::cube", mutates_args=())
    def cube(x: torch.Tensor) -> torch.Tensor:
        return x * x * x

    cube.register_autograd(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, setup_context=save)
    x, out = numbers(3, device=device).requires_grad_(), torch.zeros(2, 3, device=device)
    with torch.no_grad():
        total = spread(x, out)
    cube(x).sum().backward()
    return total, out, x.grad


def save(ctx, inputs, output):  # noqa: ARG001 (PyTorch passes them by name)
    ctx.save_for_backward(*inputs)


def compiled(backend):
    def program(device):
        torch._dynamo.reset()

        @torch.compile(backend=backend)
        def f(x, w):
            y = torch.nn.functional.gelu(x @ w)
            y[0] += 1
            if y.shape[0] > 2:
                y = y.softmax(-1)
            return y.sum(0), y

        results = []
        for n in (4, 2):
            x, w = numbers(n, 3, device=device), numbers(3, 5, device=device, seed=1).requires_grad_()
            total, y = f(x, w)
            (total * total).sum().backward()
            results += [total, y, w.grad]
        return results

    return program


PROGRAMS = [
    subclasses,
    wrappers,
    dispatch_modes,
    function_modes,
    default_device,
    device_contexts,
    meta_tensors,
    fake_tensors,
    own_operators,
    own_operators_in_python,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program):
    same(program, rtol=1e-5, atol=1e-6)


def test_meta_and_real_do_not_mix():
    same(meta_and_real, raises=outcome(meta_and_real, "cpu") is RuntimeError)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compilers(backend):
    same(compiled(backend), rtol=1e-4, atol=1e-5)


def train(device: str, seed: int, results: dict[int, list[torch.Tensor]]) -> None:
    generator = torch.Generator().manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    for p in model.parameters():
        p.data = torch.randn(p.shape, generator=generator) / 4
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for step in range(10):
        optimizer.zero_grad()
        loss = model(numbers(16, 8, device=device, seed=step)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    results[seed] = [torch.tensor(losses), *(p.detach().cpu() for p in model.parameters())]


def test_threads_each_with_a_model():
    expected: dict[int, list[torch.Tensor]] = {}
    for seed in range(4):
        train("cpu", seed, expected)
    found: dict[int, list[torch.Tensor]] = {}
    threads = [threading.Thread(target=train, args=("spyre", seed, found)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for seed in range(4):
        assert_same(found[seed], expected[seed], rtol=1e-3, atol=1e-4)


def test_errors_stay_in_their_thread():
    errors: list[Exception] = []

    def wrong() -> None:
        try:
            torch.ones(3, device="spyre")[torch.tensor([9], device="spyre")].cpu()
        except IndexError as error:
            errors.append(error)

    thread = threading.Thread(target=wrong)
    thread.start()
    thread.join()
    assert len(errors) == 1
    assert torch.ones(2, device="spyre").tolist() == [1, 1]
