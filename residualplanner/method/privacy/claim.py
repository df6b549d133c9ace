"""Claims of privacy: every sentence on it in messages, files and reports is made here."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from residualplanner.ground.checks import Number
from residualplanner.ground.errors import BudgetError
from residualplanner.ground.words import rounded_up, short_text_down
from residualplanner.method.privacy._exact import float_up
from residualplanner.method.privacy.budget import Budget, approx_dp, zcdp
from residualplanner.method.privacy.curves import Holding, Noise, NoiseGuarantees, law_of
from residualplanner.method.privacy.neighbors import Neighbors

#: The delta at which epsilon is given where the budget does not name one.
DELTA = "1e-6"
#: A cost is beyond reason where epsilon is above this, at this delta.
_MOST_EPSILON, _DELTA_OF_MOST = 10, "1e-9"


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
        """The meaning of the limit, in a sentence.

        Example:
            >>> claim_of_budget(approx_dp("1", "1e-9"), Neighbors("replace")).promise
            'replacing one record changes the probability of any set of outcomes by at most a factor of e^1, plus 1e-9'
        """
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
        """The sentence that a cost beyond reason gets wherever it is stated; empty for others.

        Example:
            >>> [PrivacyClaim(Fraction(cost), "adding or removing one record").caution for cost in (1, 10)]
            ['', 'Epsilon is 24.41 at delta 1e-9: above 10, a budget hardly protects anyone.']
        """
        epsilon = self.epsilon(_DELTA_OF_MOST)
        if epsilon <= _MOST_EPSILON:
            return ""
        found = f"Epsilon is {rounded_up(epsilon)} at delta {_DELTA_OF_MOST}"
        return f"{found}: above {_MOST_EPSILON}, a budget hardly protects anyone."

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
    """What may be claimed of all that a budget allows.

    Args:
        budget: of a plan or a ledger.
        neighbors: the data sets that it must not let anyone distinguish.
        noise: the noise that is or will be drawn; by default discrete where the budget holds for that, else continuous.

    Example:
        >>> from residualplanner.method.privacy import gdp
        >>> [claim_of_budget(budget, Neighbors()).noise for budget in (zcdp("0.5"), gdp("1"))]
        ['discrete', 'gaussian']
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
    options = (
        f"{spelled(same)} for the same noise (epsilon {rounded_up(claim.epsilon(claim.delta))} at delta {claim.delta})"
    )
    if budget.given[1:]:
        promise = approx_dp(*budget.given)
        costs = f"pcost {rounded_up(promise.pcost_exact)} in place of {rounded_up(budget.pcost_exact)}"
        options = f"{spelled(promise)} for the same promise ({costs}), or {options}"
    raise BudgetError(f"a budget of {budget.statement} does not hold for discrete noise; write {options}")
