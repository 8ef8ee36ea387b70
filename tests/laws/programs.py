"""Small deterministic programs, and the digest of their bits: what law 2 compares between ways of running them.

`python -m tests.laws.programs` prints one JSON object, name -> digest, for the environment it was started in.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

Tensors = list[torch.Tensor]
Program = Callable[[str], Tensors]
PROGRAMS: dict[str, Program] = {}
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)


def program(body: Program) -> Program:
    PROGRAMS[body.__name__] = body
    return body


def values(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32, scale: float = 1.0) -> torch.Tensor:
    """Normal numbers, made on CPU so that they do not depend on the device."""
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(seed)) * scale).to(dtype)


def specials(dtype: torch.dtype) -> torch.Tensor:
    """Every pair of numbers that arithmetic treats specially, flattened into one column and one row."""
    info = torch.finfo(dtype)
    listed = [0.0, -0.0, 1.0, -1.0, float("inf"), -float("inf"), float("nan"), info.max, info.tiny, info.tiny / 4, 0.1]
    return torch.tensor(listed, dtype=dtype)


@program
def arithmetic(device: str) -> Tensors:
    out = []
    for dtype in FLOATS:
        x, y = values(129, 33, dtype=dtype).to(device), values(33, seed=1, dtype=dtype).to(device)
        z = (x * y + 0.1) / (y.abs() + 1) - x * 3
        out += [
            z,
            (z - x).abs().sqrt(),
            torch.maximum(z, x).clamp(-1, 1),
            torch.lerp(x, z, 0.3),
            torch.addcmul(x, z, y),
            torch.fmod(x, y.abs() + 1),
        ]
    return out


@program
def special_numbers(device: str) -> Tensors:
    out = []
    for dtype in FLOATS:
        x = specials(dtype).to(device)
        row, column = x, x.unsqueeze(1)
        out += [row + column, row * column, row / column, torch.maximum(row, column), torch.minimum(row, column)]
        out += [row < column, row == column, torch.where(row > column, row, column)]
        out += [x.exp(), x.log(), x.sqrt(), x.rsqrt(), x.sigmoid(), x.tanh(), x.erf(), x.floor(), x.round()]
        out += [torch.pow(row, column), torch.atan2(row, column), x.to(torch.float16), x.isnan()]
    return out


@program
def transcendentals(device: str) -> Tensors:
    out = []
    for dtype in FLOATS:
        x = values(4099, dtype=dtype, scale=4).to(device)
        out += [f(x) for f in (torch.exp, torch.sin, torch.cos, torch.tanh, torch.erf, torch.sigmoid, torch.expm1)]
        out += [x.abs().log(), x.abs().log1p(), torch.atan(x), torch.sinh(x / 4), x.abs().pow(1.3)]
        out += [F.gelu(x), F.gelu(x, approximate="tanh"), F.silu(x), F.softplus(x), F.elu(x), F.mish(x)]
    return out


@program
def integers(device: str) -> Tensors:
    out = []
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
        x, y = values(71, 5, scale=40).to(dtype).to(device), values(5, seed=2, scale=9).to(dtype).to(device)
        out += [x + y, x * y, x - 3, x & y, x | y, x ^ y, ~x, x // (y | 1), x % (y | 1), x << 2, x >> 1]
        out += [x.sum(0), x.amax(1), x.argmin(1), (x > y).any(0), x.to(torch.float32) / 3]
    return out


@program
def views_and_writes(device: str) -> Tensors:
    x = values(6, 7, 8).to(device)
    y = x.transpose(0, 2)[1:5, ::2]
    y.mul_(2).add_(x[:4, :4, :6].clone())
    x[2] = x[1] + x[3]
    x[:, 3].fill_(0.25)
    z = x.reshape(-1)[5:330:3].clone()
    x.select(2, 1).copy_(x.select(2, 2))
    dead = x.exp() * 7
    del dead
    return [x, y, z, x.expand(2, 6, 7, 8).contiguous(), x.unfold(1, 3, 2) + 1, x.flip(0), torch.cat([x, x[:1]])]


@program
def reductions(device: str) -> Tensors:
    out = []
    for dtype in FLOATS:
        x = values(37, 5, 101, dtype=dtype).to(device)
        for dims in (0, 1, 2, (0, 2), (0, 1), (1, 2), (0, 1, 2)):
            out += [x.sum(dims), x.mean(dims), x.amax(dims), x.amin(dims)]
        out += [x.prod(1), x.var(2), x.std((0, 1)), x.norm(), x.argmax(2), x.argmin(), (x > 3).any(2), (x > -9).all(0)]
    out += [values(3, 200_001).to(device).sum(1), values(200_001).to(device).sum(), values(70_001, 3).to(device).sum(0)]
    return out


@program
def row_programs(device: str) -> Tensors:
    out = []
    for dtype in FLOATS:
        x = values(65, 77, dtype=dtype).to(device)
        shift = (x - x.amax(1, keepdim=True)).exp()
        out += [F.softmax(x, 1), F.log_softmax(x, 1), shift / shift.sum(1, keepdim=True), F.softmax(x, 0)]
        out += [
            F.layer_norm(x, (77,)),
            F.layer_norm(x * 2 + 1, (77,), x[0], x[1]),
            x * torch.rsqrt((x * x).mean(1, True)),
        ]
    return out


@program
def long_chain(device: str) -> Tensors:
    x = values(5000).to(device)
    y = x.clone()
    for step in range(200):
        y = (y * 0.99 + x * 0.01).tanh() if step % 5 == 0 else y * 1.01 - 0.002
    return [y]


@program
def random_numbers(device: str) -> Tensors:
    torch.manual_seed(7)
    x = torch.rand(1001, device=device)
    unused = torch.randn(50, device=device)
    del unused
    y = torch.randn(33, 9, device=device)
    z = torch.empty(100, device=device).bernoulli_(0.3)
    return [x, y, z, F.dropout(y, 0.5), torch.randint(0, 1000, (77,), device=device), torch.rand(5, device=device)]


@program
def products(device: str) -> Tensors:
    a, b = values(65, 130).to(device), values(130, 47, seed=1).to(device)
    batch = values(3, 20, 30).to(device)
    half = [a.half() @ b.half(), b.half().T @ a.half().T]  # bfloat16: see decision 12
    out = [*half, a @ b, torch.addmm(b[0], a, b), batch @ batch.transpose(1, 2), F.relu(a @ b + 1).sum(0), b.T @ a.T]
    image = values(2, 3, 9, 9).to(device)
    return [*out, F.conv2d(image, values(4, 3, 3, 3, seed=3).to(device), padding=1), F.max_pool2d(image, 2)]


@program
def training(device: str) -> Tensors:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 5))
    model = model.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    x, y = values(16, 20).to(device), torch.arange(16).remainder(5).to(device)
    for _ in range(4):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def digest(tensors: Tensors) -> str:
    """Of shapes, types and bits; every NaN counts as the same number only if its bits are the same."""
    total = hashlib.sha256()
    for tensor in tensors:
        host = tensor.detach().cpu().contiguous()
        total.update(f"{tuple(host.shape)} {host.dtype} ".encode())
        total.update(host.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def attempt(name: str) -> str:
    """The digest of one program, or how it failed: one that fails does not hide the others."""
    try:
        return digest(PROGRAMS[name]("spyre"))
    except Exception as error:
        return f"failed: {type(error).__name__}: {error}"


def digests(names: list[str]) -> dict[str, str]:
    return {name: attempt(name) for name in names}


def differences(found: dict[str, str], expected: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Programs whose bits differ, or that failed on either side."""
    return {
        name: (found[name], expected[name])
        for name in found
        if found[name] != expected[name] or found[name].startswith("failed")
    }


if __name__ == "__main__":
    print(json.dumps(digests(sys.argv[1:] or list(PROGRAMS))))
