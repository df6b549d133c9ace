"""How often people are interested in each attribute, how that drifts, and what was asked before.

Source: docs/adaptive-projection.md eqs. (j) and (k).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground.checks import FloatArray, float_of, frozen, is_integer, require_type, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class FeatureDistribution:
    """How probable it is that a query is about each attribute.

    Attributes:
        domain: the schema.
        masses (d,): of the attributes, positive, in the order of the domain; they add up to 1.

    Raises:
        WorkloadError: masses are of the wrong number, not all positive and finite, or so far apart that floats hold no
            ratio of them.

    Example:
        >>> domain = Domain({"age": 85, "sex": 2, "race": 5})
        >>> FeatureDistribution(domain, [2, 1, 1]).masses
        array([0.5 , 0.25, 0.25])
    """

    domain: Domain
    masses: FloatArray

    def __init__(self, domain: Domain, masses: ArrayLike) -> None:
        require_type("FeatureDistribution", "domain", domain, Domain, "write FeatureDistribution(domain, masses)")
        try:
            given = np.array(masses, dtype=np.float64)
        except (TypeError, ValueError):
            raise WorkloadError("masses must be numbers, one for each attribute") from None
        if given.shape != (len(domain),):
            raise WorkloadError(f"one mass for each attribute: got {len(domain)} attributes, masses of {given.shape}")
        if not (np.isfinite(given) & (given > 0)).all():
            raise WorkloadError("masses must be positive and finite")
        scaled = np.ldexp(given, -np.frexp(given.max(initial=0.0))[1])  # their sum may be more than a float holds
        _require_present(scaled)
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "masses", frozen(scaled / scaled.sum()))

    @classmethod
    def uniform(cls, domain: Domain) -> Self:
        """Every attribute is as probable as every other."""
        require_type("FeatureDistribution.uniform", "domain", domain, Domain, "write uniform(domain)")
        return cls(domain, np.ones(len(domain)))

    @classmethod
    def zipf(cls, domain: Domain, *, exponent: float = 1.0, seed: int | None = None) -> Self:
        """The i-th most probable attribute has a mass in proportion to ``i**-exponent``.

        Args:
            domain: the schema.
            exponent: positive; the paper leaves it open.
            seed: of the order of the attributes, which is random; nothing private depends on it.
        """
        _require_positive("exponent", exponent)
        return cls._ranked(domain, lambda ranks: np.asarray((ranks + 1) ** -exponent), seed)

    @classmethod
    def geometric(cls, domain: Domain, *, q: float = 0.25, seed: int | None = None) -> Self:
        """The i-th most probable attribute has a mass in proportion to ``(1 - q)**(i - 1)``.

        Args:
            domain: the schema.
            q: between 0 and 1; 1/4 in the code of the paper.
            seed: of the order of the attributes, which is random; nothing private depends on it.

        Example:
            >>> masses = FeatureDistribution.geometric(Domain({"a": 2, "b": 2, "c": 2}), q=0.5, seed=1).masses
            >>> sorted(masses.round(4).tolist())
            [0.1429, 0.2857, 0.5714]
        """
        if not 0 < float_of(q) < 1:
            raise WorkloadError(f"q must lie strictly between 0 and 1, got {value_text(q)}")
        return cls._ranked(domain, lambda ranks: np.asarray((1 - q) ** ranks), seed)

    @classmethod
    def _ranked(cls, domain: Domain, mass: Callable[[FloatArray], FloatArray], seed: int | None) -> Self:
        require_type("FeatureDistribution", "domain", domain, Domain, "write zipf(domain) or geometric(domain)")
        require_seed(seed)
        masses = mass(np.random.default_rng(seed).permutation(len(domain)).astype(np.float64))
        _require_present(masses)
        return cls(domain, masses)

    def drifted(self, amount: float, *, seed: int | None = None) -> "FeatureDistribution":
        """The same masses, moved to other attributes: interests change.

        Args:
            amount: gamma; 0 changes nothing, 1/2 gives the masses to random attributes, and 1 reverses their order.
            seed: of what is random about it.

        Raises:
            WorkloadError: the amount is not between 0 and 1; the seed is no integer from 0.

        Source: docs/adaptive-projection.md eq. (j).

        Example:
            >>> now = FeatureDistribution(Domain({"a": 2, "b": 2, "c": 2}), [0.6, 0.3, 0.1])
            >>> now.drifted(1).masses.round(3)
            array([0.1, 0.3, 0.6])
        """
        if not 0 <= float_of(amount) <= 1:
            raise WorkloadError(f"amount must be a number from 0 to 1, got {value_text(amount)}")
        require_seed(seed)
        count = len(self.masses)
        by_mass = np.argsort(-self.masses, kind="stable")
        ranks = np.arange(count)
        random = np.random.default_rng(seed).random(count)
        keys = (1 - 2 * amount) * (count - 1 - ranks) / max(1, count - 1) + (1 - abs(1 - 2 * amount)) * random
        moved = np.empty(count)
        moved[by_mass] = self.masses[by_mass][np.argsort(-keys, kind="stable")]
        return FeatureDistribution(self.domain, moved)

    def distance(self, other: "FeatureDistribution") -> float:
        """The total variation between two distributions over the same attributes: half the sum of all differences.

        Raises:
            WorkloadError: they are over different domains.
        """
        remedy = "write distance(interests.drifted(0.3))"
        require_type("FeatureDistribution.distance", "other", other, FeatureDistribution, remedy)
        if self.domain != other.domain:
            raise WorkloadError("only distributions over the same domain can be compared")
        return float(np.abs(self.masses - other.masses).sum() / 2)


def require_seed(seed: object) -> None:
    """Raise WorkloadError unless a seed is None, or an integer from 0."""
    if not (seed is None or is_integer(seed)):
        raise WorkloadError(f"seed must be an integer from 0, or None, got {value_text(seed)}")


def _require_present(masses: FloatArray) -> None:
    """Raise WorkloadError where a mass is 0 beside the largest."""
    if not (masses > 0).all():
        raise WorkloadError("the least mass is 0 beside the largest, so far are they apart; bring them nearer together")


def _require_positive(name: str, value: float) -> None:
    if not 0 < float_of(value) < np.inf:
        raise WorkloadError(f"{name} must be positive and finite, got {value_text(value)}")


def with_history(prespecified: Workload, historical: Workload, *, history_weight: float) -> Workload:
    """The queries of both workloads, weighted by how much the known and the historical ones matter.

    A relaxed projection of the answers then has the smallest (1 - lambda) * loss(prespecified) + lambda *
    loss(historical), where lambda is ``history_weight``.

    Args:
        prespecified: the queries that will be asked.
        historical: queries of the past, from which those of the future are expected to differ little.
        history_weight: lambda, from 0 (only the prespecified queries matter) to 1 (only the historical ones).

    Returns:
        A workload with the weights of the first times 1 - lambda and those of the second times lambda; a query of both
        has the sum.

    Raises:
        WorkloadError: the workloads are of different domains, or lambda is not between 0 and 1.

    Source: docs/adaptive-projection.md eq. (k).

    Example:
        >>> domain = Domain({"a": 2, "b": 3, "c": 4})
        >>> known, past = Workload(domain, [("a", "b"), ("a", "c")]), Workload(domain, [("a", "c"), ("b", "c")])
        >>> with_history(known, past, history_weight=0.25).weights.tolist()
        [0.75, 1.0, 0.25]
    """
    for name, given in (("prespecified", prespecified), ("historical", historical)):
        require_type("with_history", name, given, Workload, "make one with Workload(domain, queries)")
    if not 0 <= float_of(history_weight) <= 1:
        raise WorkloadError(f"history_weight must be between 0 and 1, got {value_text(history_weight)}")
    one = _times(prespecified, 1 - history_weight) + _times(historical, 0)
    other = _times(prespecified, 0) + _times(historical, history_weight)
    if history_weight in (0, 1):  # a query without weight would still be a candidate for measuring
        return historical if history_weight else prespecified
    pairs = zip(one.blocks, other.blocks, strict=True)
    blocks = [replace(mine, weights=mine.weights + its.weights) for mine, its in pairs]
    return Workload.from_blocks(one.domain, blocks, one.kinds)


def _times(workload: Workload, factor: float) -> Workload:
    """The same queries with weights ``factor`` times as large."""
    blocks = [replace(block, weights=factor * block.weights) for block in workload.blocks]
    return Workload.from_blocks(workload.domain, blocks, workload.kinds)
