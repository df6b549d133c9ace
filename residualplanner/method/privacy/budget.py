"""A privacy budget: an exact upper limit on the privacy cost of a release, and its promises.

Source: eqs. (2), (3) and (4).
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from residualplanner.ground.checks import Number
from residualplanner.ground.errors import BudgetError, FileFormatError
from residualplanner.ground.words import fraction_text
from residualplanner.method.privacy._exact import MAX_BITS, ROUNDING, float_up, given_text, read_allowance, read_delta
from residualplanner.method.privacy.curves import Noise, law_of, mu_of_cost

_STATEMENTS = {"pcost": "pcost {}", "zcdp": "{}-zCDP", "gdp": "{}-GDP", "approx_dp": "({}, {})-DP"}
_KEYS = ("pcost", "notion", "given", "noise")
_RATIONAL = re.compile(r"[1-9][0-9]{0,2999}/[1-9][0-9]{0,2999}")


@dataclass(frozen=True, slots=True, repr=False)
class Budget:
    """An exact upper limit on the privacy cost; made by ``zcdp``, ``gdp``, ``approx_dp`` or ``pcost``.

    Two budgets are equal if they have the same limit and were stated in the same way.

    Attributes:
        pcost_exact: the largest privacy cost allowed, > 0: 2 * rho for rho-zCDP, mu ** 2 for mu-GDP.
        notion: how the budget was stated: "pcost", "zcdp", "gdp" or "approx_dp".
        given: the numbers it was stated with, as strings.
        noise: for "approx_dp", the noise its (epsilon, delta) is for, "discrete" or "gaussian"; otherwise None.
    """

    pcost_exact: Fraction
    notion: str
    given: tuple[str, ...]
    noise: Noise | None = None

    def __post_init__(self) -> None:
        limit = self.pcost_exact
        if not isinstance(limit, Fraction) or not 0 < limit <= sys.float_info.max:
            raise BudgetError("a budget's privacy cost must be an exact fraction, positive and at most 1.79e308")
        if not max(limit.numerator.bit_length(), limit.denominator.bit_length()) <= MAX_BITS:
            raise BudgetError("a budget's privacy cost has too many digits; state it with fewer")
        if self.notion not in _STATEMENTS:
            raise BudgetError(f"notion must be one of {list(_STATEMENTS)}, got {self.notion!r}")
        count = _STATEMENTS[self.notion].count("{}")
        if len(self.given) != count or not all(isinstance(text, str) for text in self.given):
            raise BudgetError(f"a budget stated as {self.notion!r} is given by {count} numbers as strings")
        if (self.notion == "approx_dp") != (self.noise is not None):
            raise BudgetError("noise belongs to a budget stated as 'approx_dp' and to no other")
        if self.noise is not None:
            law_of(self.noise)

    def __repr__(self) -> str:
        noise = "" if self.noise in (None, "discrete") else f", noise={self.noise!r}"
        return f"{self.notion}({', '.join(self.given)}{noise})"

    @property
    def statement(self) -> str:
        """The budget as the user stated it, in words, and its noise where that is not every kind."""
        return self.worded(*self.given)

    def worded(self, *numbers: str) -> str:
        """The statement with other numbers in place of its own."""
        words = _STATEMENTS[self.notion].format(*numbers)
        return words if "discrete" in self.proved_for else f"{words} for continuous noise"

    @property
    def proved_for(self) -> tuple[Noise, ...]:
        """The kinds of noise for which the statement holds when the cost is within the limit.

        GDP and the curve of continuous noise are proved for continuous noise only.
        """
        is_continuous = self.notion == "gdp" or self.noise == "gaussian"
        return ("gaussian",) if is_continuous else ("discrete", "gaussian")

    @property
    def pcost(self) -> float:
        """The privacy cost allowed, rounded up to a float.  Source: eq. (2)."""
        return float_up(self.pcost_exact)

    @property
    def rho(self) -> float:
        """The rho of the zCDP this budget promises, rounded up to a float."""
        return float_up(self.pcost_exact / 2)

    @property
    def mu(self) -> float:
        """The mu of the GDP this budget promises for continuous Gaussian noise, rounded up to a float."""
        return mu_of_cost(self.pcost_exact)

    def epsilon(self, delta: Number, *, noise: Noise = "discrete") -> float:
        """Return the epsilon this budget promises at ``delta``, rounded up, at least 0.

        Args:
            delta: strictly between 0 and 1; a float is read as the smaller of its binary value and its spelling.
            noise: "discrete" for the curve of zCDP, true of any noise this library adds; "gaussian" for the exact and
                smaller curve of continuous Gaussian noise.

        Raises:
            BudgetError: ``delta`` is out of range, or ``noise`` is unknown.

        Guarantees: never below the exact value, and at most 1e-9 above it relative.
        Source: eq. (4) for "discrete", eq. (3) for "gaussian".

        Example:
            >>> budget = zcdp(0.5)
            >>> round(budget.epsilon(1e-6), 3), round(budget.epsilon(1e-6, noise="gaussian"), 3)
            (5.222, 4.887)
        """
        return law_of(noise).curve.epsilon(self.pcost_exact, delta)

    def delta(self, epsilon: Number, *, noise: Noise = "discrete") -> float:
        """Return the delta this budget promises at ``epsilon``, rounded up, at most 1.

        Args:
            epsilon: at least 0; a float is read as the smaller of its binary value and its decimal spelling.
            noise: as in ``epsilon``.

        Raises:
            BudgetError: ``epsilon`` or ``noise`` is not one of these.

        Guarantees: never below the exact value, and at most 1e-9 above it relative.
        Source: eq. (4) for "discrete", eq. (3) for "gaussian".

        Example:
            >>> f"{zcdp(0.5).delta(5):.3e}"
            '2.896e-06'
        """
        return law_of(noise).curve.delta(self.pcost_exact, epsilon)

    def to_json(self) -> dict[str, object]:
        """Return a plain dict with the exact limit as "num/den"."""
        limit = fraction_text(self.pcost_exact)
        return {"pcost": limit, "notion": self.notion, "given": list(self.given), "noise": self.noise}

    @classmethod
    def from_json(cls, obj: object) -> Self:
        """Return the budget that ``to_json`` wrote; FileFormatError if it is none, or its statement allows less.

        Guarantees: the limit read does not exceed the one that a budget stated the same way has.
        """
        if not isinstance(obj, Mapping) or set(obj) != set(_KEYS):
            raise FileFormatError(f"a budget must be an object with the keys {list(_KEYS)} and no others")
        limit, notion, given, noise = (obj[key] for key in _KEYS)
        if not isinstance(limit, str) or not _RATIONAL.fullmatch(limit):
            raise FileFormatError("a budget's pcost must be a positive rational written as 'num/den'")
        if not isinstance(notion, str) or not isinstance(given, list):
            raise FileFormatError("a budget's notion must be a string, and its given numbers a list of strings")
        try:
            budget = cls(Fraction(limit), notion, tuple(given), noise)
            made = {"pcost": pcost, "zcdp": zcdp, "gdp": gdp}.get(budget.notion)
            again = approx_dp(*given, noise=budget.noise or "discrete") if made is None else made(*given)
        except BudgetError as error:
            raise FileFormatError(f"a budget in the file is not valid: {error}") from error
        # A float means the smaller of its two readings, its string the decimal one: a rounding below is right.
        if not again.pcost_exact * (1 - ROUNDING) <= budget.pcost_exact <= again.pcost_exact:
            raise FileFormatError(f"a budget's pcost is not what its statement, {budget.statement}, allows")
        return budget


def pcost(c: Number) -> Budget:
    """Return the budget of privacy cost ``c``, the largest diagonal entry of the privacy cost matrix.

    Args:
        c: > 0; int, Fraction, Decimal and str are exact, a float is read as the smaller of its binary value and its
            decimal spelling.

    Raises:
        BudgetError: ``c`` is out of range or not a number.

    Source: eq. (2).

    Example:
        >>> pcost(1).rho
        0.5
    """
    exact = read_allowance("pcost", c)
    return Budget(exact, "pcost", (given_text(c, exact),))


def zcdp(rho: Number) -> Budget:
    """Return the budget of rho-zCDP, ``pcost = 2 * rho``, with rho read as in ``pcost``.

    Source: eq. (2).

    Example:
        >>> zcdp(0.5).pcost
        1.0
    """
    exact = read_allowance("rho", rho)
    return Budget(2 * exact, "zcdp", (given_text(rho, exact),))


def gdp(mu: Number) -> Budget:
    """Return the budget of mu-GDP, ``pcost = mu ** 2``, for continuous noise only, with mu read as in ``pcost``.

    Discrete noise is not mu-GDP.  A plan with this budget can be studied, and measured with ``noise="gaussian"`` for
    research; `measure` refuses it for discrete noise.  ``zcdp(mu ** 2 / 2)`` allows the same noise of either kind.

    Source: eq. (2).

    Example:
        >>> gdp("0.3").pcost_exact
        Fraction(9, 100)
    """
    exact = read_allowance("mu", mu)
    return Budget(exact**2, "gdp", (given_text(mu, exact),))


def approx_dp(epsilon: Number, delta: Number, *, noise: Noise = "discrete") -> Budget:
    """Return the largest budget that implies (epsilon, delta)-DP.

    Args:
        epsilon: > 0, read as in ``pcost``.
        delta: strictly between 0 and 1, read likewise.
        noise: "discrete" to use the curve of zCDP, true of any noise this library adds; "gaussian" to use the exact
            curve of continuous Gaussian noise, which allows a larger budget but does not hold for discrete noise:
            `measure` refuses such a budget for it.

    Raises:
        BudgetError: an argument is out of range or not a number, or both are too small for any budget to be found.

    Guarantees: the budget's privacy cost is rounded down, by at most 1e-14 relative.
    Cost: about two milliseconds for discrete noise, a few tens for continuous.
    Source: eq. (4) for "discrete", eq. (3) for "gaussian".

    Example:
        >>> budget = approx_dp(1, 1e-6)
        >>> budget, round(budget.rho, 6), budget.epsilon(1e-6)
        (approx_dp(1, 1e-06), 0.024356, 0.9999999999999996)
    """
    limit = law_of(noise).curve.largest_cost(epsilon, delta)
    given = given_text(epsilon, read_allowance("epsilon", epsilon)), given_text(delta, read_delta(delta))
    return Budget(limit, "approx_dp", given, noise)
