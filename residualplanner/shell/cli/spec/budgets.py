"""Budgets as they are typed, such as zcdp=0.5, pcost=1, or epsilon=1,delta=1e-9; and the names of losses."""

import re
from collections.abc import Callable, Mapping
from typing import Literal

from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import suggestion
from residualplanner.method.privacy import Budget, approx_dp, gdp, pcost, require_discrete, zcdp

#: The losses that have a name on the command line.
LossName = Literal["sum", "max", "sqrt", "equal"]

_BUDGETS: Mapping[tuple[str, ...], Callable[..., Budget]] = {
    ("zcdp",): zcdp,
    ("gdp",): gdp,
    ("pcost",): pcost,
    ("epsilon", "delta"): approx_dp,
}
#: A comma between digits, as many countries write decimals; and how much of a text is shown.
_DECIMAL_COMMA, _LONGEST = re.compile(r"(?<=\d),(?=\d)"), 80
#: The names of a budget's numbers, by its notion.
_NAMES = {make.__name__: names for names, make in _BUDGETS.items()}
_WRITTEN = {"zcdp": "zcdp=1", "rho": "zcdp=1", "pcost": "pcost=1"} | dict.fromkeys(
    ("epsilon", "delta", "approx_dp"), "epsilon=1,delta=1e-9"
)


def budget_of_text(text: str) -> Budget:
    """The budget that was typed.

    Example:
        >>> budget_of_text("zcdp=1/2"), budget_of_text("epsilon=1,delta=1e-9")
        (zcdp(1/2), approx_dp(1, 1e-9))
    """
    parts = [part.partition("=") for part in text.split(",")]
    make = _maker(text)
    if make is None:
        with_points = _DECIMAL_COMMA.sub(".", text)
        is_meant = len(text) <= _LONGEST and _maker(with_points) is not None
        meant = f"; did you mean {with_points}?" if is_meant else suggestion(parts[0][0].strip(), _WRITTEN)
        raise BudgetError(
            f"a budget is written as zcdp=1, pcost=1 or epsilon=1,delta=1e-9; got {text[:_LONGEST]!r}{meant}"
        )
    budget = make(*(value.strip() for _, _, value in parts))
    require_drawable_budget(budget)
    return budget


def _maker(text: str) -> Callable[..., Budget] | None:
    """What makes the budget of a text, by the names in it."""
    return _BUDGETS.get(tuple(part.partition("=")[0].strip() for part in text.split(",")))


def typed_text(budget: Budget) -> str:
    """A budget as it is typed.

    Example:
        >>> typed_text(zcdp("1/2")), typed_text(approx_dp("1", "1e-9"))
        ('zcdp=1/2', 'epsilon=1,delta=1e-9')
    """
    return ",".join(f"{name}={number}" for name, number in numbers_by_name(budget).items())


def numbers_by_name(budget: Budget) -> dict[str, str]:
    """The numbers that a budget was stated with."""
    return dict(zip(_NAMES[budget.notion], budget.given, strict=True))


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
