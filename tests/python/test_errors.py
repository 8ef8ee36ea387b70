"""What CPU raises at a call is raised at the same call, with the same Python type; the device stays usable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

BAD_CALLS = {
    "shapes": lambda d: torch.ones(2, 3, device=d) + torch.ones(4, device=d),
    "matmul": lambda d: torch.ones(2, 3, device=d) @ torch.ones(2, 3, device=d),
    "view": lambda d: torch.ones(2, 3, device=d).view(4),
    "view_of_transposed": lambda d: torch.ones(2, 3, device=d).t().view(6),
    "dimension": lambda d: torch.ones(2, device=d).sum(3),
    "index_rank": lambda d: torch.ones(2, device=d)[0, 0],
    "index": lambda d: torch.ones(2, device=d)[5],
    "item": lambda d: torch.ones(2, device=d).item(),
    "bool": lambda d: bool(torch.ones(2, device=d)),
    "in_place_cast": lambda d: torch.ones(2, dtype=torch.int32, device=d).add_(1.5),
    "in_place_shape": lambda d: torch.ones(2, device=d).add_(torch.ones(3, 2, device=d)),
    "out_type": lambda d: torch.add(torch.ones(2, device=d), 1, out=torch.ones(2, dtype=torch.int32, device=d)),
    "negative_size": lambda d: torch.empty(-1, device=d),
    "cat": lambda d: torch.cat([torch.ones(2, 3, device=d), torch.ones(2, 4, device=d)]),
    "cat into integers": lambda d: torch.cat([torch.ones(2, device=d)], out=torch.ones(2, dtype=torch.int32, device=d)),
    "signbit into integers": lambda d: torch.signbit(
        torch.ones(2, device=d), out=torch.ones(2, dtype=torch.int32, device=d)
    ),
    "searchsorted into the other integers": lambda d: torch.searchsorted(
        torch.ones(2, device=d), torch.ones(0, device=d), out=torch.ones(0, dtype=torch.int32, device=d)
    ),
    "eye": lambda d: torch.eye(3, -3, device=d),
    "gcd into one row": lambda d: torch.ones(1, 3, dtype=torch.int64, device=d).gcd_(
        torch.ones(2, 3, dtype=torch.int64, device=d)
    ),
    "softshrink": lambda d: torch.nn.functional.softshrink(torch.ones(2, device=d), -0.5),
    "arange of bool": lambda d: torch.arange(2, dtype=torch.bool, device=d),
    "reshape": lambda d: torch.ones(6, device=d).reshape(4, 2),
    "squeeze_dim": lambda d: torch.ones(2, device=d).squeeze(4),
    "expand": lambda d: torch.ones(2, device=d).expand(3, 3),
    "bitwise_float": lambda d: torch.ones(2, device=d) & torch.ones(2, device=d),
    "as_strided": lambda d: torch.ones(2, device=d).as_strided((2, 2), (-1, 1)),
    "leaf": lambda d: torch.ones(2, device=d, requires_grad=True).add_(1),
    "argmax_empty": lambda d: torch.ones(0, device=d).argmax(),
    "view_dtype": lambda d: torch.ones(3, dtype=torch.int8, device=d).view(torch.int16),
    "set_size": lambda d: torch.ones(2, device=d).set_(torch.ones(4, device=d).untyped_storage(), -1, (2,), (1,)),
    "stack": lambda d: torch.stack([torch.ones(2, device=d), torch.ones(3, device=d)]),
    "softmax_dim": lambda d: torch.softmax(torch.ones(2, device=d), 4),
    "unsupported_type": lambda d: torch.linalg.inv(torch.ones(2, 2, dtype=torch.int32, device=d)),
    "gather_index": lambda d: torch.ones(3, device=d).gather(0, torch.tensor([5], device=d)).cpu(),
    "scatter_index": lambda d: torch.ones(3, device=d).scatter_(0, torch.tensor([-1], device=d), 2.0).cpu(),
    "embedding_index": lambda d: torch.ones(3, 2, device=d).index_select(0, torch.tensor([3], device=d)).cpu(),
    "singular": lambda d: torch.linalg.inv(torch.zeros(2, 2, device=d)),
    "float_index": lambda d: torch.ones(3, device=d)[torch.ones(2, device=d)],
    "lerp_types": lambda d: torch.lerp(torch.ones(2, device=d), torch.ones(2, device=d, dtype=torch.double), 0.5),
    "heaviside_types": lambda d: torch.heaviside(torch.ones(2, device=d), torch.ones(2, device=d, dtype=torch.double)),
    "probability": lambda d: torch.bernoulli(torch.full((2,), 1.5, device=d)).cpu(),
    "cross_entropy_range": lambda d: F.binary_cross_entropy(2 * torch.ones(2, device=d), torch.ones(2, device=d)).cpu(),
    "division_by_zero": lambda d: integers(d) // 0,
    "division_by_a_number_that_wraps_to_zero": lambda d: integers(d, torch.uint8) % 256,
    "division_by_zeros": lambda d: (integers(d) // (integers(d) * 0)).cpu(),
    "median_of_nothing": lambda d: torch.ones(2, 0, 4, device=d).median(1),
    "mode_of_nothing": lambda d: torch.ones(2, 0, 4, device=d).mode(1),
    "put_deterministically": lambda d: deterministically(
        lambda: torch.ones(3, device=d).put_(integers(d, torch.int64) - 1, torch.ones(3, device=d))
    ),
    "out_that_is_read": lambda d: widen_in_place(torch.ones(3, 1, device=d)),
    "number_of_clamp": lambda d: integers(d, torch.uint8).clamp(max=300),
    "number_of_alpha": lambda d: torch.add(integers(d, torch.int8), integers(d, torch.int8), alpha=300),
    "number_of_masked_fill": lambda d: integers(d, torch.uint8).masked_fill(
        torch.ones(3, dtype=torch.bool, device=d), 300
    ),
}


def deterministically(call: Callable[[], object]) -> object:
    torch.use_deterministic_algorithms(True)
    try:
        return call()
    finally:
        torch.use_deterministic_algorithms(False)


def widen_in_place(x: torch.Tensor) -> torch.Tensor:
    return torch.ldexp(x, torch.ones(3, 2, device=x.device), out=x)


def integers(device: str, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.tensor([1, 2, 3], dtype=dtype, device=device)


def on_ones(device: str, use: Callable[[torch.Tensor], object]) -> object:
    return use(torch.ones(4, device=device))


def put_into_itself(x: torch.Tensor) -> torch.Tensor:
    return x.index_put_((torch.zeros(0, dtype=torch.int64, device=x.device),), x)


def repeated(device: str, *shape: int) -> torch.Tensor:
    """A tensor whose elements are one."""
    return torch.ones(1, device=device).expand(*shape)


SHARED_MEMORY = {
    "add_": lambda d: repeated(d, 4).add_(1),
    "copy_": lambda d: repeated(d, 4).copy_(torch.ones(4, device=d)),
    "normal_": lambda d: repeated(d, 4).normal_(),
    "uniform_": lambda d: repeated(d, 4).uniform_(),
    "bernoulli_": lambda d: repeated(d, 4).bernoulli_(0.5),
    "random_": lambda d: repeated(d, 4).random_(3),
    "exponential_": lambda d: repeated(d, 4).exponential_(),
    "index_copy_": lambda d: repeated(d, 4).index_copy_(0, integers(d), torch.ones(3, device=d)),
    "index_add_": lambda d: repeated(d, 4).index_add_(0, integers(d), torch.ones(3, device=d)),
    "scatter_": lambda d: repeated(d, 4).scatter_(0, integers(d), torch.ones(3, device=d)),
    "put_": lambda d: repeated(d, 4).put_(integers(d), torch.ones(3, device=d)),
    "cat": lambda d: torch.cat([torch.ones(2, device=d)] * 2, out=repeated(d, 4)),
    "cat into a piece": lambda d: on_ones(d, lambda x: torch.cat([x[:2], x[2:]], out=x)),
    "arange": lambda d: torch.arange(4, out=repeated(d, 4)),
    "linspace": lambda d: torch.linspace(0, 1, 4, out=repeated(d, 4)),
    "gather": lambda d: torch.gather(torch.ones(4, device=d), 0, integers(d), out=repeated(d, 3)),
    "gather into itself": lambda d: on_ones(d, lambda x: torch.gather(x, 0, integers(d), out=x[:3])),
    "index_add_ of itself": lambda d: on_ones(d, lambda x: x.index_add_(0, integers(d), x[1:])),
    "rows of itself": lambda d: on_ones(d, lambda x: x.index_put_((integers(d),), x)),
    "nothing of nothing": lambda d: put_into_itself(torch.ones(0, 4, device=d)),
    "shifted copy": lambda d: on_ones(d, lambda x: x[1:].copy_(x[:-1])),
    "shifted add": lambda d: on_ones(d, lambda x: torch.add(x[:-1], 1, out=x[1:])),
}
BAD_CALLS |= {f"shared memory: {name}": call for name, call in SHARED_MEMORY.items()}


def raised(call, device: str) -> type[BaseException] | None:
    try:
        call(device)
    except Exception as error:
        return type(error)
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BAD_CALLS)
def test_the_same_error_as_cpu(name):
    expected = raised(BAD_CALLS[name], "cpu")
    assert expected is not None
    assert raised(BAD_CALLS[name], "spyre") is expected
    assert (torch.ones(2, device="spyre") + 1).tolist() == [2, 2]


def test_isa_that_this_cpu_lacks_is_a_clear_error(run_python):
    flags = Path("/proc/cpuinfo").read_text()
    child = run_python("import torch; print((torch.ones(2, device='spyre') + 1).tolist())", SPYRE_ISA="avx512")
    if "avx512f" in flags:
        assert child.stdout.strip() == "[2.0, 2.0]", child.stderr
    else:
        assert "NotImplementedError" in child.stderr
        assert "avx2" in child.stderr


def test_a_second_look_at_shared_memory_is_as_strict_as_the_first():
    for _ in range(2):
        with pytest.raises(RuntimeError, match="single memory location"):
            repeated("spyre", 4).index_add_(0, integers("spyre"), torch.ones(3, device="spyre"))
    kept = torch.zeros(4, device="spyre").index_add_(0, integers("spyre"), torch.ones(3, device="spyre"))
    assert kept.tolist() == [0, 1, 1, 1]


def test_masked_fill_of_shared_memory_is_deprecated_and_works():
    mask = torch.tensor([True, False, True], device="spyre")
    with pytest.warns(UserWarning, match="expanded"):
        assert repeated("spyre", 3).masked_fill_(mask, 7).tolist() == [7, 7, 7]


OVERLAPPING_RESULTS = {
    "narrow_copy": lambda x, out: torch.narrow_copy(x, 0, 0, 3, out=out),
    "avg_pool3d": lambda x, out: torch._C._nn.avg_pool3d(x, 1, out=out),
    "gelu": lambda x, out: torch._C._nn.gelu(x, out=out),
    "erfcx": lambda x, out: torch.special.erfcx(x, out=out),
    "sum": lambda x, out: torch.sum(x, 0, keepdim=True, out=out[:1]),
}


@pytest.mark.parametrize("name", OVERLAPPING_RESULTS)
def test_results_do_not_go_into_overlapping_elements(name):
    """Some of CPU's kernels would write past their end."""
    out = torch.ones((), device="spyre").expand(3, 2, 2, 2)
    with pytest.raises(RuntimeError, match="single memory location"):
        OVERLAPPING_RESULTS[name](torch.ones(3, 2, 2, 2, device="spyre"), out)
    assert out.tolist() == torch.ones(3, 2, 2, 2).tolist()
