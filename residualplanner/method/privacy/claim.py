"""Claims of privacy: what one person may change, and every sentence on it in messages, files and reports.

Source: docs/mathematics.md sections 1 and 8.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import get_args

from residualplanner.ground.checks import Number, is_integer, value_text
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import (
    Notion,
    decimal_text_down,
    decimal_text_up,
    rounded_up,
    short_text_down,
    suggestion,
)
from residualplanner.method.privacy._exact import float_up, root_up, working_digits
from residualplanner.method.privacy.budget import Budget, approx_dp, gdp, pcost, zcdp
from residualplanner.method.privacy.curves import Holding, Noise, NoiseGuarantees, law_of

_CHANGES = {"add-remove": "adding or removing", "replace": "replacing"}


@dataclass(frozen=True, slots=True)
class Neighbors:
    """What may differ between two data sets that the release must not tell apart.

    Attributes:
        notion: "add-remove" (one data set has more records) or "replace" (records have other values; the number of
            records is public).
        records_per_person: the most records that one person contributes, all of which may change; at least 1.  It is a
            promise about the data, which is not checked.
        largest_weight: how often each of them counts at most; weighted records are added or removed.

    Raises:
        BudgetError: another notion, or not an integer of records.

    Example:
        >>> print(Neighbors("replace", 3).words)
        replacing up to 3 records
    """

    notion: Notion = "add-remove"
    records_per_person: int = 1
    largest_weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not isinstance(self.notion, str) or self.notion not in get_args(Notion):
            problem = f"neighbors must be one of {list(get_args(Notion))}"
            raise BudgetError(f"{problem}, got {value_text(self.notion)}{suggestion(self.notion, get_args(Notion))}")
        records = self.records_per_person
        if not is_integer(records, least=1) or records > 10**6:
            raise BudgetError(f"records_per_person must be an integer from 1 to 1,000,000, got {value_text(records)}")
        object.__setattr__(self, "records_per_person", int(records))

    @property
    def has_public_total(self) -> bool:
        """Whether the number of records is public, as data sets have equally many if they are neighbors."""
        return self.notion == "replace"

    @property
    def cost_factor(self) -> Fraction:
        """How much more all records of a person cost than one of weight 1: k w squared, when all fall into one cell.

        Source: eqs. (101) and (102).
        """
        return (self.records_per_person * self.largest_weight) ** 2

    @property
    def cost_factor_up(self) -> float:
        """The same as a float, rounded up."""
        return float_up(self.cost_factor)

    @property
    def words(self) -> str:
        """The change that the privacy statement is about."""
        count = "one record" if self.records_per_person == 1 else f"up to {self.records_per_person} records"
        return self.words_of(count)

    def words_of(self, what: str) -> str:
        """The change of something else than records in words, such as all of somebody's in several tables."""
        return f"{_CHANGES[self.notion]} {what}"


#: The delta at which epsilon is given where the budget does not name one.
DELTA = "1e-6"
#: A cost is beyond reason where epsilon is above this, at this delta; and what is said of it.
MOST_EPSILON, DELTA_OF_MOST = 10, "1e-9"
CAUTION = f"Epsilon is {{}} at delta {DELTA_OF_MOST}: above {MOST_EPSILON}, a budget hardly protects anyone."


@dataclass(frozen=True, slots=True)
class PrivacyClaim:
    """What may be claimed of Gaussian noise with a given privacy cost.

    Attributes:
        pcost: the exact privacy cost, spent or allowed.
        change: the difference between neighbors, in words.
        noise: "discrete", or "gaussian" for continuous noise in real numbers.
        stated: the budget that the cost is within, if there is one.

    Example:
        >>> PrivacyClaim(Fraction(1), "adding or removing one record").summary
        '0.5-zCDP: rho 0.5, epsilon 5.222 at delta 1e-6, under adding or removing one record'
    """

    pcost: Fraction
    change: str
    noise: Noise = "discrete"
    stated: Budget | None = None

    @property
    def rho(self) -> Fraction:
        """The exact rho of the zCDP that holds.  Source: eq. (2)."""
        return self.pcost / 2

    @property
    def delta(self) -> str:
        """The delta that the sentences name, as an exact string."""
        return next(iter(self._stated_deltas), DELTA)

    @property
    def holdings(self) -> tuple[Holding, ...]:
        """The notions of privacy that hold for this noise, apart from (epsilon, delta)."""
        return self._law.holdings(self.pcost)

    @property
    def curve(self) -> str:
        """The origin of epsilon, in words."""
        return self._law.curve.words

    @property
    def statement(self) -> str:
        """The limit as it was stated, if it holds for this noise; else in rho-zCDP, rounded up."""
        if self.stated is not None and self.noise in self.stated.proved_for:
            return self.stated.statement
        return f"{rounded_up(self.rho)}-zCDP"

    @property
    def summary(self) -> str:
        """The limit as it was stated and in the other notions that hold, rounded up, with the neighbors it is about."""
        held = ", ".join(f"{holding.parameter} {rounded_up(holding.value)}" for holding in self.holdings)
        return f"{self.statement}: {held}, epsilon {self._epsilon_text} at delta {self.delta}, under {self.change}"

    @property
    def promise(self) -> str:
        """The meaning of the limit, in a sentence."""
        most = f"a factor of e^{self._epsilon_text}, plus {self.delta}"
        return f"{self._law.condition}{self.change} changes the probability of any set of outcomes by at most {most}"

    @property
    def planned(self) -> str:
        """The promise of a plan of this cost, in a sentence."""
        return self._law.worded(self._law.plan, self.pcost, self.change)

    @property
    def released(self) -> str:
        """The sentence that may be signed for a release of this cost, or the reason why there is none."""
        return self._law.worded(self._law.release, self.pcost, self.change)

    @property
    def caution(self) -> str:
        """The sentence that a cost beyond reason gets wherever it is stated; empty for others."""
        epsilon = self.epsilon(DELTA_OF_MOST)
        return "" if epsilon <= MOST_EPSILON else CAUTION.format(rounded_up(epsilon))

    @property
    def facts(self) -> dict[str, str | float]:
        """The same as numbers, rounded up, by name."""
        return {
            "statement": self.statement,
            "pcost": float_up(self.pcost),
            **{
                each.parameter: float_up(each.value) if isinstance(each.value, Fraction) else each.value
                for each in self.holdings
            },
            "epsilon": self.epsilon(self.delta),
            "delta": self.delta,
        }

    def epsilon(self, delta: Number) -> float:
        """An upper bound on the epsilon of this noise at ``delta``.

        Raises:
            BudgetError: ``delta`` is not a number strictly between 0 and 1.

        Source: eq. (4), and eq. (3) for continuous noise.
        """
        return self._law.curve.epsilon(self.pcost, delta)

    def epsilons(self, deltas: Iterable[str]) -> tuple[tuple[str, float], ...]:
        """Epsilon at the stated delta and at others, the largest delta first."""
        texts: dict[Fraction, str] = {}
        for delta in (*self._stated_deltas, *deltas):
            texts.setdefault(Fraction(delta), delta)
        return tuple((texts[exact], self.epsilon(exact)) for exact in sorted(texts, reverse=True))

    @property
    def _law(self) -> NoiseGuarantees:
        return law_of(self.noise)

    @property
    def _stated_deltas(self) -> tuple[str, ...]:
        return () if self.stated is None else self.stated.given[1:]

    @property
    def _epsilon_text(self) -> str:
        return rounded_up(self.epsilon(self.delta))


def claim_of_budget(budget: Budget, neighbors: Neighbors, *, noise: Noise | None = None) -> PrivacyClaim:
    """What may be claimed of all that a budget, of a plan or a ledger, allows for neighbors.

    Noise is by default discrete where the budget holds for that, else continuous.
    """
    return PrivacyClaim(budget.pcost_exact, neighbors.words, noise or budget.proved_for[0], budget)


def python_text(budget: Budget) -> str:
    """A budget as it is written in Python, its numbers exact: ``zcdp("1/2")``."""
    numbers = ", ".join(f'"{text}"' for text in budget.given)
    return f"{budget.notion}({numbers})"


def require_discrete(budget: Budget, *, spelled: Callable[[Budget], str] = python_text) -> None:
    """Raise BudgetError unless a budget's statement holds for discrete noise; say which budgets to write instead.

    ``spelled`` gives a budget as it is written where this one was.
    """
    if "discrete" in budget.proved_for:
        return
    same = zcdp(short_text_down(budget.pcost_exact / 2))  # the same noise, or less by the rounding of rho
    claim = PrivacyClaim(same.pcost_exact, "", stated=budget)
    epsilon = rounded_up(claim.epsilon(claim.delta))
    options = f"{spelled(same)} for the same noise (epsilon {epsilon} at delta {claim.delta})"
    if budget.given[1:]:
        promise = approx_dp(*budget.given)
        costs = f"pcost {rounded_up(promise.pcost_exact)} in place of {rounded_up(budget.pcost_exact)}"
        options = f"{spelled(promise)} for the same promise ({costs}), or {options}"
    raise BudgetError(f"a budget of {budget.statement} does not hold for discrete noise; write {options}")


# A privacy cost in the words of a budget: what has been spent of it, and what may still be spent.


#: By how much an epsilon is made smaller at first where it allows more than a cost, relative to it.
_STEP = Fraction(1, 10**12)
_MAKERS: dict[str, Callable[..., Budget]] = {"pcost": pcost, "zcdp": zcdp, "gdp": gdp}
#: The number of a notion with one at a privacy cost: not above, and not below the exact one.
_BELOW: dict[str, Callable[[Fraction], Fraction]] = {
    "pcost": lambda cost: cost,
    "zcdp": lambda cost: cost / 2,
    # The root with 200 decimals: the integer root of an integer is rounded down.
    "gdp": lambda cost: Fraction(math.isqrt(cost.numerator * 10**400 // cost.denominator), 10**200),
}
_ABOVE = _BELOW | {"gdp": lambda cost: Fraction(root_up(cost))}


def cost_text_up(cost: Fraction, like: Budget) -> str:
    """A privacy cost that has been spent, as the statement of a budget that covers it, with six digits."""
    if like.noise is None:
        with working_digits():
            return like.worded(decimal_text_up(_ABOVE[like.notion](cost)) if cost else "0")
    delta = like.given[1]
    epsilon = law_of(like.noise).curve.epsilon(cost, delta) if cost else 0.0
    return like.worded(decimal_text_up(Fraction(epsilon)) if epsilon else "0", delta)


def cost_text_down(cost: Fraction, like: Budget) -> str:
    """A privacy cost that may be spent, as the statement of a budget that does not exceed it, with six digits."""
    found = _largest(cost, like, decimal_text_down)
    return like.worded("0", *like.given[1:]) if found is None else found.statement


def budget_within(cost: Fraction, like: Budget) -> Budget:
    """The largest budget that is stated as another one is, and allows no more than a privacy cost > 0.

    It is stated in at most twelve digits or as a short fraction: smaller by less than 1e-10, relative; of (epsilon,
    delta) with the other's delta and noise.  BudgetError where no epsilon above 0 allows so little at this delta.
    """
    found = _largest(cost, like, short_text_down)
    if found is None:
        problem = f"{cost_text_down(cost, pcost(1))} is too little to be stated as (epsilon, {like.given[1]})-DP"
        raise BudgetError(f'{problem} with an epsilon above 0; write budget=pcost("{short_text_down(cost)}")')
    return found


def _largest(cost: Fraction, like: Budget, written: Callable[[Fraction], str]) -> Budget | None:
    """The largest budget of a number that ``written`` rounds down; None if there is none."""
    if not cost:
        return None
    if like.noise is None:
        return _MAKERS[like.notion](written(_BELOW[like.notion](cost)))
    delta, step = like.given[1], _STEP
    epsilon = Fraction(law_of(like.noise).curve.epsilon(cost, delta))
    while epsilon > 0:
        found = approx_dp(written(epsilon), delta, noise=like.noise)
        if found.pcost_exact <= cost:
            return found
        epsilon, step = epsilon * (1 - step), min(step * 4, Fraction(1, 2))
        if step == Fraction(1, 2) and not epsilon > Fraction(1, 10**6):
            return None  # at this delta, however small epsilon is, more is allowed
    return None
