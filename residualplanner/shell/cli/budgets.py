"""Budgets as they are typed on the command line, and written by it."""

from collections.abc import Callable

from residualplanner.ground.errors import BudgetError
from residualplanner.method.privacy import Budget, approx_dp, gdp, pcost, require_discrete, zcdp

_BUDGETS: dict[tuple[str, ...], Callable[..., Budget]] = {("epsilon", "delta"): approx_dp}
_BUDGETS |= {(make.__name__,): make for make in (zcdp, gdp, pcost)}
#: How much of a text is shown.
_LONGEST = 80
#: The names of a budget's numbers, by its notion.
_NAMES = {make.__name__: names for names, make in _BUDGETS.items()}


def budget_of_text(text: str) -> Budget:
    """The budget that was typed."""
    parts = [part.partition("=") for part in text.split(",")]
    make = _BUDGETS.get(tuple(name.strip() for name, _, _ in parts))
    if make is None:
        forms = "zcdp=1, pcost=1 or epsilon=1,delta=1e-9"
        raise BudgetError(f"a budget is written as {forms}, with decimal points; got {text[:_LONGEST]!r}")
    budget = make(*(value.strip() for _, _, value in parts))
    require_drawable_budget(budget)
    return budget


def typed_text(budget: Budget) -> str:
    """A budget as it is typed."""
    return ",".join(f"{name}={number}" for name, number in zip(_NAMES[budget.notion], budget.given, strict=True))


def require_drawable_budget(budget: Budget) -> None:
    """Raise BudgetError, which says what to type, unless a budget holds for the noise that commands draw."""
    require_discrete(budget, spelled=typed_text)
