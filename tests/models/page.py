"""python -m tests.models.page: trains each model for some steps and writes docs/models.md: what a steady step costs."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

import torch

from .zoo import NAMES, loss_of, make_inputs, make_model

PAGE = Path(__file__).resolve().parents[2] / "docs" / "models.md"
WARM_STEPS, STEADY_STEPS = 3, 4
#: Why a model's steady steps differ from each other.
REASONS = {"mixtral": "how many tokens each expert sees is data"}

HEAD = f"""# Models

Every model of `tests/models/zoo.py`, small and with random weights: forward, loss, backward and a step of AdamW,
unchanged code. Results, gradients and generated text are held to CPU by `tests/models/test_architectures.py`; what this
page says, by `tests/models/test_page.py`. Written by

```
.venv/bin/python -m tests.models.page
```

A row is a step in the steady state: the mean of {STEADY_STEPS} after {WARM_STEPS} to warm up. Each step reads its loss.

| model | kernels and library calls | flushes | plan hits | compiled kernels | on the host |
| --- | --- | --- | --- | --- | --- |
"""


@dataclass(frozen=True)
class Steady:
    """What the steps after the first few did, in all."""

    launches: int
    flushes: int
    hits: int
    misses: int
    compiled: int
    on_host: tuple[str, ...]

    @property
    def hit_rate(self) -> float:
        return self.hits / max(self.hits + self.misses, 1)


def measured(name: str) -> Steady:
    model = make_model(name).train().to("spyre")
    inputs = {key: value.to("spyre") for key, value in make_inputs(name).items()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        loss = loss_of(model, inputs)
        loss.backward()
        optimizer.step()
        loss.item()

    for _ in range(WARM_STEPS):
        step()
    torch.spyre.synchronize()
    torch.spyre.reset_stats()
    for _ in range(STEADY_STEPS):
        step()
    torch.spyre.synchronize()
    counted = torch.spyre.stats()
    return Steady(
        launches=counted["kernel_launches"] + counted["library_launches"],
        flushes=sum(counted["flushes"].values()),
        hits=counted["plan_cache"]["hits"],
        misses=counted["plan_cache"]["misses"],
        compiled=counted["kernel_cache"]["misses"],
        on_host=tuple(sorted(op for op, n in counted["fallbacks"].items() if n)),
    )


def row(name: str, steady: Steady) -> str:
    each = lambda count: f"{count / STEADY_STEPS:.0f}"  # noqa: E731
    on_host = ", ".join(f"`{op.removeprefix('aten::')}`" for op in steady.on_host)
    reason = f": {REASONS[name]}" if name in REASONS and steady.misses else ""
    hits = f"{steady.hit_rate:.0%}{reason}"
    cells = [name, each(steady.launches), each(steady.flushes), hits, str(steady.compiled), on_host]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name in NAMES:
        rows.append(row(name, measured(name)))
        print(rows[-1], flush=True)
    PAGE.write_text(HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    sys.exit(main())
