"""Budgets as they are typed on the command line, and as they are written in a spec."""

from collections.abc import Callable

from residualplanner.ground.errors import BudgetError
from residualplanner.method.privacy import Budget, approx_dp, gdp, pcost, require_discrete, zcdp

#: By the names of its numbers what makes a budget.
_BUDGETS: dict[tuple[str, ...], Callable[..., Budget]] = {("epsilon", "delta"): approx_dp}
_BUDGETS |= {(make.__name__,): make for make in (zcdp, gdp, pcost)}


def budget_of_text(text: str) -> Budget:
    """The budget that was typed; BudgetError where it is none, or does not hold for the noise that commands draw."""
    parts = [part.partition("=") for part in text.split(",")]
    make = _BUDGETS.get(tuple(name.strip() for name, _, _ in parts))
    if make is None:
        forms = "zcdp=1, pcost=1 or epsilon=1,delta=1e-9"
        raise BudgetError(f"a budget is written as {forms}, with decimal points; got {text[:80]!r}")
    budget = make(*(value.strip() for _, _, value in parts))
    require_discrete(budget, spelled=typed_text)
    return budget


def typed_text(budget: Budget) -> str:
    """A budget as it is typed."""
    return ",".join(f"{name}={number}" for name, number in _numbers(budget).items())


def table_text(budget: Budget) -> str:
    """A budget as a spec has it."""
    table = ", ".join(f'{name} = "{number}"' for name, number in _numbers(budget).items())
    return f"{{ {table} }}" if len(budget.given) == 1 else f"{{ {budget.notion} = {{ {table} }} }}"


def _numbers(budget: Budget) -> dict[str, str]:
    names = (budget.notion,) if len(budget.given) == 1 else ("epsilon", "delta")
    return dict(zip(names, budget.given, strict=True))
