"""Seeds, states and generators."""

from __future__ import annotations

import pytest
import torch
import torch.utils.checkpoint


def numbers(**options) -> list[float]:
    return torch.rand(8, device="spyre", **options).tolist()


def test_manual_seed_repeats():
    torch.manual_seed(5)
    first = numbers()
    torch.manual_seed(5)
    assert numbers() == first
    torch.spyre.manual_seed(5)
    assert numbers() == first
    torch.spyre.manual_seed_all(6)
    assert numbers() != first
    assert torch.spyre.initial_seed() == 6


def test_state_round_trip():
    torch.spyre.manual_seed(1)
    numbers()
    state = torch.spyre.get_rng_state()
    assert state.device.type == "cpu"
    assert state.dtype == torch.uint8
    first = numbers()
    torch.spyre.set_rng_state(state)
    assert numbers() == first
    torch.spyre.set_rng_state_all([state])
    assert torch.spyre.get_rng_state_all()[0].equal(state)
    with pytest.raises(RuntimeError, match="bytes"):
        torch.spyre.set_rng_state(state[:4].clone())


def test_fork_rng_restores():
    torch.spyre.manual_seed(2)
    first = numbers()
    torch.spyre.manual_seed(2)
    with torch.random.fork_rng(devices=[0], device_type="spyre"):
        numbers()
    assert numbers() == first


def test_own_generator():
    generator = torch.Generator(device="spyre")
    assert generator.device.type == "spyre"
    generator.manual_seed(9)
    first = numbers(generator=generator)
    assert numbers(generator=generator) != first
    copy = generator.clone_state()
    generator.manual_seed(9)
    assert numbers(generator=generator) == first
    assert numbers(generator=copy) != first


def test_the_wrong_generator_raises():
    with pytest.raises(RuntimeError, match="device type for generator"):
        torch.rand(3, device="spyre", generator=torch.Generator())


def test_seed_changes_the_numbers():
    torch.spyre.manual_seed(3)
    first = numbers()
    torch.spyre.seed()
    assert numbers() != first
    torch.spyre.seed_all()


def test_host_ops_follow_the_device_generator():
    """Distributions without a device kernel draw from numbers that follow from the device's seed."""
    rate = torch.full((50,), 3.0, device="spyre")
    torch.manual_seed(4)
    first = torch.poisson(rate).tolist()
    assert torch.poisson(rate).tolist() != first
    torch.manual_seed(4)
    torch.rand(3)
    assert torch.poisson(rate).tolist() == first


def test_device_numbers_leave_the_host_generator_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    numbers()
    torch.poisson(torch.ones(5, device="spyre"))
    assert torch.rand(3).equal(expected)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_draws_the_same_numbers_again(reentrant):
    x = torch.ones(16, 16, device="spyre", requires_grad=True)
    y = torch.utils.checkpoint.checkpoint(torch.nn.Dropout(0.5), x, use_reentrant=reentrant)
    torch.rand(3, device="spyre")
    y.sum().backward()
    assert torch.equal(x.grad, y)
