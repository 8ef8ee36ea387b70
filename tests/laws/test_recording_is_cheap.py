"""What a steady loop must not do again, read from counters: judge shapes, make buffers, hash keys."""

from __future__ import annotations

import torch


def growth(stats, body, names):
    before = stats()
    body()
    after = stats()
    return {name: after[name] - before[name] for name in names}


def loop(x: torch.Tensor, scale: float) -> float:
    for step in range(40):
        x = torch.sigmoid(x * scale + step).sub_(0.5)
    return x.sum().item()


def test_a_steady_loop_is_ruled_once_and_predicted(stats):
    x = torch.linspace(0, 1, 24, device="spyre").reshape(4, 6)
    for _ in range(3):
        loop(x, 0.9)
    grown = growth(stats, lambda: [loop(x, 0.1 * n) for n in range(10)], ["rulings_made", "buffers_made"])
    assert grown == {"rulings_made": 0, "buffers_made": 0}
    before = stats()
    for n in range(10):
        loop(x, 0.1 * n)
    after = stats()
    hits = after["plan_cache"]["hits"] - before["plan_cache"]["hits"]
    assert hits >= 10
    assert after["plans_predicted"] - before["plans_predicted"] == hits


def test_new_shapes_are_ruled_anew_and_known_ones_are_not(stats):
    def use(sizes):
        return torch.ones(sizes, device="spyre") + 1

    kept = [use(n) for n in (3, 5, 7)]
    assert growth(stats, lambda: [use(n) for n in (3, 5, 7)], ["rulings_made"])["rulings_made"] == 0
    assert growth(stats, lambda: use(11), ["rulings_made"])["rulings_made"] == 1
    del kept


def test_programs_of_many_sizes_are_ruled_once(stats):
    inputs = [torch.ones(n, 3, device="spyre") for n in range(1, 257)]

    def step() -> None:
        for x in inputs:
            _ = ((x * 2 + 1) * x).relu()

    step()
    assert growth(stats, step, ["rulings_made"])["rulings_made"] < 50  # 1,024 calls; few sets take more than they hold


def test_composite_operators_rule_their_own_operations_once(stats):
    x = torch.linspace(0, 1, 24, device="spyre").reshape(4, 6)
    composites = [
        lambda: torch.softmax(x, -1),
        lambda: torch.log_softmax(x, -1),
        lambda: torch.nn.functional.layer_norm(x, (6,)),
        lambda: torch.addmm(x[0, :4], x, x.t(), beta=0.5),
    ]
    for composite in composites:
        composite()
        assert growth(stats, composite, ["rulings_made"]) == {"rulings_made": 0}
