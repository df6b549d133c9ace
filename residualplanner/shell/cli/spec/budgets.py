"""Budgets as they are typed, such as zcdp=0.5, pcost=1, or epsilon=1,delta=1e-9; and the names of losses."""

from collections.abc import Callable, Mapping
from typing import Literal

from residualplanner.ground.errors import BudgetError
from residualplanner.method.privacy import Budget, approx_dp, gdp, pcost, require_discrete, zcdp

#: The losses that have a name on the command line.
LossName = Literal["sum", "max", "sqrt", "equal"]

_BUDGETS: Mapping[tuple[str, ...], Callable[..., Budget]] = {
    ("zcdp",): zcdp,
    ("gdp",): gdp,
    ("pcost",): pcost,
    ("epsilon", "delta"): approx_dp,
}
#: How much of a text is shown.
_LONGEST = 80
#: The names of a budget's numbers, by its notion.
_NAMES = {make.__name__: names for names, make in _BUDGETS.items()}


def budget_of_text(text: str) -> Budget:
    """The budget that was typed.

    Example:
        >>> budget_of_text("zcdp=1/2"), budget_of_text("epsilon=1,delta=1e-9")
        (zcdp(1/2), approx_dp(1, 1e-9))
    """
    parts = [part.partition("=") for part in text.split(",")]
    make = _BUDGETS.get(tuple(name.strip() for name, _, _ in parts))
    if make is None:
        forms = "zcdp=1, pcost=1 or epsilon=1,delta=1e-9"
        raise BudgetError(f"a budget is written as {forms}, with decimal points; got {text[:_LONGEST]!r}")
    budget = make(*(value.strip() for _, _, value in parts))
    require_drawable_budget(budget)
    return budget


def typed_text(budget: Budget) -> str:
    """A budget as it is typed.

    Example:
        >>> typed_text(zcdp("1/2")), typed_text(approx_dp("1", "1e-9"))
        ('zcdp=1/2', 'epsilon=1,delta=1e-9')
    """
    return ",".join(f"{name}={number}" for name, number in zip(_NAMES[budget.notion], budget.given, strict=True))


def require_drawable_budget(budget: Budget) -> None:
    """Raise BudgetError, which says what to type, unless a budget holds for the noise that commands draw."""
    require_discrete(budget, spelled=typed_text)


def complete_budget(incomplete: str) -> list[tuple[str, str]]:
    """The words that a budget may begin with, and their meanings, for shells that complete words."""
    words = {
        "zcdp=": "rho of zero-concentrated differential privacy, such as zcdp=0.5",
        "pcost=": "the privacy cost, twice rho, such as pcost=1",
        "epsilon=": "with delta, such as epsilon=1,delta=1e-9",
    }
    return [(word, meaning) for word, meaning in words.items() if word.startswith(incomplete)]
