"""scaled_dot_product_attention against CPU, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F
from torch_spyre import metrics

from .compare import compare_gradients, compare_with_cpu, same_error, sample

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
GRADIENT = {"rtol": 1e-4, "atol": 1e-4}
NARROW = {"rtol": 2e-2, "atol": 1e-2}


def causal(q, k, v, *, scale=None, enable_gqa=False):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scale, enable_gqa=enable_gqa)


def heads(queries: int, keys: int, width: int, dtype: torch.dtype = torch.float32, lead: tuple[int, ...] = (2, 3)):
    lengths = (queries, keys, keys)
    return [sample((*lead, n, width), dtype, -1, 1, seed=i) for i, n in enumerate(lengths)]


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = (sample((2, 3, 16, 8), torch.float32, seed=i) for i in range(3))

    def fn(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    compare_with_cpu(fn, q, k, v, strides=False, **CLOSE)
    compare_gradients(fn, q, k, v, **GRADIENT)
    mask = sample((2, 1, 16, 16), torch.bool) | torch.eye(16, dtype=torch.bool)

    def fn(q, k, v, m):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m)

    if not causal:
        compare_with_cpu(fn, q, k, v, mask, strides=False, **CLOSE)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_attention_in_other_types(dtype: torch.dtype) -> None:
    q, k, v = (sample((2, 3, 40, 8), dtype, -1, 1, seed=i) for i in range(3))
    close = {"rtol": 1e-9, "atol": 1e-9} if dtype == torch.float64 else {"rtol": 2e-2, "atol": 1e-2}
    for causal in (False, True):
        compare_with_cpu(
            lambda q, k, v, c=causal: F.scaled_dot_product_attention(q, k, v, is_causal=c, scale=0.3),
            q, k, v, strides=False, **close,
        )  # fmt: skip
    compare_gradients(F.scaled_dot_product_attention, q, k, v, **close)


def test_large_scores_are_not_rounded() -> None:
    """Of operands up to 9, with scores of some hundreds: the result is as near as its type allows."""
    q, k, v = (sample((4, 6, 8), torch.bfloat16, -9, 9, seed=i) for i in range(3))
    exact = F.scaled_dot_product_attention(q.double(), k.double(), v.double())
    found = F.scaled_dot_product_attention(*(t.to("spyre") for t in (q, k, v))).cpu()
    assert (found.double() - exact).abs().max() < 0.04


def test_attention_of_rows_that_see_nothing_is_zero() -> None:
    q, k, v = (sample((2, 16, 8), torch.float32, seed=i).requires_grad_() for i in range(3))
    seen = torch.ones(16, 16, dtype=torch.bool)
    seen[3] = False

    def fn(q, k, v, seen):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)

    compare_with_cpu(fn, q.detach(), k.detach(), v.detach(), seen, strides=False, **CLOSE)
    on_card = [t.detach().to("spyre").requires_grad_() for t in (q, k, v)]
    out = fn(*on_card, seen.to("spyre"))
    assert not out[:, 3].any()
    out.sum().backward()
    assert not on_card[0].grad[:, 3].any(), "and it has no gradient"


def test_probabilities_of_attention() -> None:
    q, k, v = (sample((2, 16, 8), torch.float32, seed=i) for i in range(3))

    def fn(q, k, v):
        return torch.ops.aten._scaled_dot_product_attention_math(q, k, v)

    compare_with_cpu(fn, q, k, v, strides=False, **CLOSE)


@pytest.mark.parametrize(
    ("queries", "keys"), [(1, 5), (2, 2), (31, 31), (33, 33), (100, 64), (40, 90), (512, 512), (513, 513), (700, 300)]
)
def test_causal_attention(queries: int, keys: int) -> None:
    """Blocks of rows and of queries, whole and not; more queries than keys and the other way round."""
    compare_with_cpu(causal, *heads(queries, keys, 20, lead=(2,)), strides=False, **CLOSE)
    compare_with_cpu(causal, *heads(queries, keys, 16, torch.bfloat16, (2,)), strides=False, **NARROW)


def test_causal_attention_of_views() -> None:
    q, k, v = (sample((2, 70, 3, 16), torch.float32, -1, 1, seed=i) for i in range(3))
    compare_with_cpu(lambda *t: causal(*(x.transpose(1, 2) for x in t)), q, k, v, strides=False, **CLOSE)
    compare_with_cpu(lambda *t: causal(*(x[:, ::2, 0] for x in t)), q, k, v, strides=False, **CLOSE)


@pytest.mark.parametrize("scale", [-0.5, 0.0, 2.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_causal_attention_of_any_scale(scale: float, dtype: torch.dtype) -> None:
    """What is hidden stays hidden where minus infinity times the scale would be something else (CPU's is NaN)."""
    q, k, v = heads(40, 40, 16, dtype)
    found = causal(*(t.to("spyre") for t in (q, k, v)), scale=scale).cpu()
    scores = (q.double() @ k.double().mT * scale).masked_fill(torch.ones(40, 40).triu(1).bool(), -torch.inf)
    torch.testing.assert_close(found.double(), scores.softmax(-1) @ v.double(), rtol=1e-2, atol=2e-3)


@pytest.mark.parametrize("length", [64, 1040])
def test_what_is_hidden_is_not_multiplied(length: int) -> None:
    """Infinite keys and values do not reach the queries before them, but for those of their block."""
    q, k, v = heads(length, length, 16, lead=(1,))
    k[:, -1] = v[:, -1] = torch.inf
    found = causal(*(t.to("spyre") for t in (q, k, v))).cpu()
    torch.testing.assert_close(found[:, :32], causal(*(t[:, :32] for t in (q, k, v))), **CLOSE)
    assert found[:, -1].isnan().all()


@pytest.mark.parametrize("differentiable", [False, True])
def test_causal_attention_computes_half(differentiable: bool) -> None:
    """Counted in multiply-adds of the card."""
    q, k, v = (t.to("spyre").requires_grad_(differentiable) for t in heads(1024, 1024, 64, lead=(2,)))
    torch.spyre.synchronize()
    before = metrics.meters()["macs"]
    kept = causal(q, k, v)
    torch.spyre.synchronize()
    assert metrics.meters()["macs"] - before < 0.53 * 2 * q.numel() * 1024
    del kept


def by_definition(q, k, v, is_causal: bool) -> torch.Tensor:
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), -torch.inf)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("queries", "keys"), [(600, 600), (520, 40), (513, 700)])
def test_gradients_of_long_sequences(queries: int, keys: int, is_causal: bool) -> None:
    """Causal ones compute the weights again, block by block."""

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

    q, k, v = heads(queries, keys, 16, lead=(2,))
    compare_gradients(attention, q, k, v, **GRADIENT)
    compare_gradients(attention, *(t.double() for t in (q, k, v)), rtol=1e-9, atol=1e-9)
    short = [t.to(torch.bfloat16) for t in (q, k, v)]
    compare_gradients(attention, *short, rtol=3e-2, atol=2e-2)


def test_gradients_do_not_keep_the_weights() -> None:
    """What a step of 2,048 tokens takes of the card beside its operands is less than its scores."""
    torch.spyre.synchronize()
    torch.spyre.empty_cache()
    before = torch.spyre.memory_reserved()
    q, k, v = (t.to("spyre").requires_grad_() for t in heads(2048, 2048, 16, lead=(2,)))
    causal(q, k, v).square().sum().backward()
    torch.spyre.synchronize()
    assert torch.spyre.memory_reserved() - before < 2 * 2048 * 2048 * 4


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("negative", range(3))
def test_operands_with_a_pending_sign(negative: int, dtype: torch.dtype) -> None:
    """As `z.conj().imag` is: no product takes the memory for the values."""

    def turned(attention, *operands):
        return attention(*(torch._neg_view(t) if i == negative else t for i, t in enumerate(operands)))

    close = CLOSE if dtype == torch.float32 else NARROW
    for attention in (causal, F.scaled_dot_product_attention):
        compare_with_cpu(lambda *t, a=attention: turned(a, *t), *heads(40, 40, 16, dtype), strides=False, **close)


def test_second_gradients_of_operands_that_depend_on_each_other() -> None:
    def second(attention, x: torch.Tensor, program) -> torch.Tensor:
        x = x.requires_grad_()
        (first,) = torch.autograd.grad(program(attention, x).square().sum(), x, create_graph=True)
        return torch.stack((first.detach(), *torch.autograd.grad(first.square().sum(), x)))

    given = heads(520, 520, 8, torch.float64, (1,))[0]
    for program in (lambda a, x: a(x, x, x), lambda a, x: a(x * 2, x * 6, x)):
        found = second(causal, given.to("spyre"), program)
        expected = second(lambda *t: by_definition(*t, True), given.clone(), program)
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-8, atol=1e-8)


def test_gradients_of_some_operands() -> None:
    given = heads(600, 600, 16, lead=(2,))
    for wanted in range(3):
        q, k, v = (t.to("spyre").requires_grad_(i == wanted) for i, t in enumerate(given))
        operands = [t.clone().requires_grad_(i == wanted) for i, t in enumerate(given)]
        (found,) = torch.autograd.grad(causal(q, k, v).square().sum(), (q, k, v)[wanted])
        (expected,) = torch.autograd.grad(causal(*operands).square().sum(), operands[wanted])
        torch.testing.assert_close(found.cpu(), expected, **GRADIENT)


@pytest.mark.parametrize("is_causal", [False, True])
def test_second_gradients_of_long_sequences(is_causal: bool) -> None:
    """Which CPU's fused kernel does not have."""

    def second(attention, *operands):
        own = [t.detach().requires_grad_() for t in operands]
        first = torch.autograd.grad(attention(*own).square().sum(), own, create_graph=True)
        return torch.autograd.grad(sum(g.square().sum() for g in first), own)

    given = [t.double() for t in heads(520, 520, 8, lead=(1,))]
    found = second(lambda *t: F.scaled_dot_product_attention(*t, is_causal=is_causal), *(t.to("spyre") for t in given))
    expected = second(lambda *t: by_definition(*t, is_causal), *given)
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shared", [1, 2, 3, 6])
def test_heads_that_share_keys(shared: int) -> None:
    q, (_, k, v) = heads(40, 40, 16, lead=(2, 6))[0], heads(40, 40, 16, lead=(2, 6 // shared))
    for is_causal in (False, True):
        compare_with_cpu(
            lambda *t, c=is_causal: F.scaled_dot_product_attention(*t, is_causal=c, enable_gqa=True),
            q, k, v, strides=False, **CLOSE,
        )  # fmt: skip
    compare_gradients(lambda *t: causal(*t, enable_gqa=True), q, k, v, **GRADIENT)


def test_heads_that_cannot_share_keys() -> None:
    q, (_, k, v) = heads(8, 8, 4, lead=(2, 6))[0], heads(8, 8, 4, lead=(2, 4))
    same_error(lambda q, k, v: causal(q, k, v, enable_gqa=True), q, k, v)
    compare_with_cpu(lambda q, k, v: causal(q, k, v, enable_gqa=True), q[:, :0], k, v, strides=False)


def test_operands_that_do_not_fit() -> None:
    """Of two devices, of two types: PyTorch's own checks."""
    q, k, v = heads(8, 8, 4)
    with pytest.raises(RuntimeError, match="same device type"):
        causal(q.to("spyre"), k, v)
    same_error(causal, q, k.double(), v)
    same_error(causal, q, k[..., :3], v)


def test_probabilities_of_causal_attention() -> None:
    for length in (20, 600):
        q, k, v = heads(length, length, 16, lead=(2,))
        compare_with_cpu(
            lambda *t: torch.ops.aten._scaled_dot_product_attention_math(*t, None, 0.0, True),
            q, k, v, strides=False, **CLOSE,
        )  # fmt: skip


def test_traced_attention_is_traced_whole() -> None:
    """No product is recorded behind the tracer's back, in any type."""

    def program(q, k, v):
        return causal(q, k, v).relu()

    for dtype in (torch.float32, torch.bfloat16):
        q, k, v = (t.to("spyre") for t in heads(40, 40, 8, dtype))
        traced = make_fx(program)(q, k, v)
        assert sum("bmm" in str(node.target) for node in traced.graph.nodes) == 2
        others = [t.flip(0) for t in (q, k, v)]
        torch.testing.assert_close(traced(*others).cpu(), program(*others).cpu(), **NARROW)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_transforms_of_causal_attention() -> None:
    q, k, v = heads(40, 40, 8, lead=(2,))
    compare_with_cpu(torch.func.vmap(causal), *heads(40, 40, 8), strides=False, **CLOSE)
    compare_with_cpu(torch.func.grad(lambda *t: causal(*t).sum()), q, k, v, strides=False, **GRADIENT)
    compare_with_cpu(
        lambda q, k, v: torch.func.jvp(lambda q: causal(q, k, v), (q,), (k,))[1], q, k, v, strides=False, **GRADIENT
    )
