"""The one error of this package."""

from __future__ import annotations


class PlanError(ValueError):
    """A folder that is no plan, tensors that a plan does not take, or a function that cannot become one."""

    @classmethod
    def at(cls, where: str, expected: str, got: object) -> PlanError:
        """What a field should have been."""
        shown = repr(got)
        return cls(f"{where}: expected {expected}; got {shown if len(shown) <= 80 else shown[:77] + '...'}")
