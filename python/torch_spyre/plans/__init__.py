"""Launch plans in folders: what a function does on the card, written down once, launched without compiling.

    torch.spyre.plans.save("plan", model, x)
    plan = torch.spyre.plans.load("plan")
    y = plan(x)

`python -m torch_spyre.plans` lists, shows, binds, launches and verifies them.
"""

from __future__ import annotations

from .capture import save
from .errors import PlanError
from .folder import read_plan
from .launch import Plan, bind, load

__all__ = ["Plan", "PlanError", "bind", "load", "read_plan", "save"]
