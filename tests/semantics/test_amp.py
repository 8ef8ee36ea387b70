"""Mixed precision: autocast("spyre") by PyTorch's lists, nesting, caching; gradient scaling."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from .same import assert_same, numbers, same, to_host


def model(device: str) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU(), torch.nn.Linear(16, 4)
    ).to(device)


def types_of_results(device: str) -> list[torch.dtype]:
    x, h = numbers(4, 4, device=device), numbers(4, 4, device=device).to(torch.bfloat16)
    with torch.autocast(device, dtype=torch.bfloat16):
        return [
            (x @ x).dtype,
            F.linear(x, x).dtype,
            (x + x).dtype,
            (h + x).dtype,
            torch.einsum("ij,jk", x, x).dtype,
            F.conv1d(x[None], x[None]).dtype,
            F.scaled_dot_product_attention(x[None], x[None], x[None]).dtype,
            x.double().mm(x.double()).dtype,
            torch.mm(x.to(torch.int32), x.to(torch.int32)).dtype,
        ]


def test_products_run_in_the_short_type():
    types = types_of_results("spyre")
    assert types == types_of_results("cpu")
    assert types[:2] == [torch.bfloat16, torch.bfloat16]


def test_sensitive_operators_run_in_float32():
    h = numbers(4, 4, device="spyre").to(torch.float16)
    with torch.autocast("spyre", dtype=torch.float16):
        for result in (h.exp(), h.softmax(0), h.sum(), F.layer_norm(h, (4,)), h.pow(2), F.mse_loss(h, h), h.cumsum(0)):
            assert result.dtype == torch.float32
        assert torch.cat([h, h.float()]).dtype == torch.float32
        assert torch.addcmul(h, h, h.float()).dtype == torch.float32


def test_nesting_disabling_and_leaving():
    x = numbers(4, 4, device="spyre")
    assert not torch.is_autocast_enabled("spyre")
    with torch.autocast("spyre", dtype=torch.float16):
        assert torch.is_autocast_enabled("spyre")
        assert torch.get_autocast_dtype("spyre") == torch.float16
        with torch.autocast("spyre", enabled=False):
            assert (x @ x).dtype == torch.float32
        with torch.autocast("spyre", dtype=torch.bfloat16):
            assert (x @ x).dtype == torch.bfloat16
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert (x @ x).dtype == torch.float16
        assert (x @ x).dtype == torch.float16
    assert (x @ x).dtype == torch.float32


def test_the_cast_of_a_weight_is_made_once(stats):
    layer, x = model("spyre"), numbers(2, 8, device="spyre")
    with torch.autocast("spyre", dtype=torch.bfloat16):
        layer(x)
        first = stats()["dispatches"]
        layer(x)
        second = stats()["dispatches"] - first
    assert second < first


def trained(device: str, dtype: torch.dtype, steps: int = 3) -> list[torch.Tensor]:
    layers = model(device)
    optimizer = torch.optim.AdamW(layers.parameters(), lr=0.01)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=dtype):
            x = numbers(6, 8, device=device, seed=step)
            loss = F.cross_entropy(layers(x), torch.arange(6, device=device) % 4)
        loss.backward()
        optimizer.step()
        losses.append(loss)
    assert all(p.grad.dtype == torch.float32 for p in layers.parameters())
    return to_host([*losses, *layers.parameters()])


def test_training_in_mixed_precision_is_that_of_cpu():
    assert_same(trained("spyre", torch.bfloat16), trained("cpu", torch.bfloat16), rtol=0.05, atol=0.03)


def test_custom_forward_and_backward():
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="spyre", cast_inputs=torch.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type="spyre")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.t(), a.t() @ grad

    x = numbers(3, 3, device="spyre").requires_grad_()
    with torch.autocast("spyre", dtype=torch.float16):
        y = Product.apply(x.half(), x)
    assert y.dtype == torch.float32
    y.sum().backward()
    assert x.grad.dtype == torch.float32


def scaled_steps(device: str) -> tuple[list[float], list[torch.Tensor]]:
    """The third batch overflows: its step is left out, and the scale halves."""
    layers = model(device)
    optimizer = torch.optim.SGD(layers.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler(device, init_scale=1024.0, growth_interval=2)
    scales = []
    for step in range(6):
        optimizer.zero_grad()
        factor = float("inf") if step == 2 else 1.0
        loss = layers(numbers(6, 8, device=device, seed=step)).square().mean() * factor
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(layers.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    state = scaler.state_dict()
    scaler.load_state_dict(state)
    return scales, to_host(list(layers.parameters()))


def test_gradient_scaling_is_that_of_cpu():
    scales, weights = scaled_steps("spyre")
    expected_scales, expected_weights = scaled_steps("cpu")
    assert scales == expected_scales
    assert_same(weights, expected_weights, rtol=1e-4, atol=1e-5)


def test_scaled_steps_run_nothing_on_the_host():
    torch.spyre.reset_stats()
    scaled_steps("spyre")
    assert torch.spyre.stats()["fallbacks"] == {}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("inverse", [1.0, 2.0**-17, 0.3])
def test_gradients_are_unscaled_as_on_cpu(dtype, inverse):
    def run(device):
        gradients = [numbers(5, 3, device=device, dtype=dtype), numbers(7, device=device, dtype=dtype)[::2]]
        found, inverse_scale = torch.zeros(1, device=device), torch.full((1,), inverse, device=device)
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse_scale)
        clean = found.clone()
        gradients[1][1] = float("nan")
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse_scale)
        return gradients, clean, found

    same(run, rtol=0, atol=0)


def test_bad_arguments_of_a_scaler_raise_as_on_cpu():
    def run(device):
        torch._amp_foreach_non_finite_check_and_unscale_(
            [torch.ones(2, device=device)], torch.zeros(2, device=device), torch.ones(1, device=device)
        )

    same(run, raises=True)


@pytest.mark.parametrize("scale", [65536.0, 3.0e38])
@pytest.mark.parametrize("tracker", [0, 1])
@pytest.mark.parametrize("found", [0.0, 1.0])
def test_scales_grow_and_shrink_as_on_cpu(scale, tracker, found):
    def run(device):
        values = torch.tensor(scale, device=device), torch.tensor(tracker, dtype=torch.int32, device=device)
        torch._amp_update_scale_(*values, torch.tensor(found, device=device), 2.1, 0.3, 2)
        return values

    same(run, rtol=0, atol=0)


def test_a_scaler_tells_infinite_gradients():
    x = torch.ones(3, device="spyre", requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=1.0)
    scaler = torch.amp.GradScaler("spyre", init_scale=4.0)
    scaler.scale((x * float("inf")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert x.tolist() == [1, 1, 1]
    assert scaler.get_scale() == 2.0


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
def test_a_type_that_autocast_does_not_know_is_refused_loudly(dtype):
    with pytest.warns(UserWarning, match="not supported"), torch.autocast("spyre", dtype=dtype):
        assert (numbers(2, 2, device="spyre") @ numbers(2, 2, device="spyre")).dtype == torch.float32
