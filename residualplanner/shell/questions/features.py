"""How often people are interested in each attribute, sets of attributes drawn by that, and what was asked before.

Source: docs/adaptive-projection.md eqs. (j) to (l).
"""

import math
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from residualplanner.ground import checks
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.method.domain.domain import Domain
from residualplanner.method.workload.workload import Workload

#: So many draws in succession that are left out, or came before, end the search for another set.
_TRIES = 10**5


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
    masses: checks.FloatArray

    def __init__(self, domain: Domain, masses: ArrayLike) -> None:
        checks.require_type(
            "FeatureDistribution", "domain", domain, Domain, "write FeatureDistribution(domain, masses)"
        )
        given = checks.require_numbers("masses must be numbers, one for each attribute", masses)
        if given.shape != (len(domain),):
            raise WorkloadError(f"one mass for each attribute: got {len(domain)} attributes, masses of {given.shape}")
        if not (np.isfinite(given) & (given > 0)).all():
            raise WorkloadError("masses must be positive and finite")
        scaled = np.ldexp(given, -np.frexp(given.max(initial=0.0))[1])  # their sum may be more than a float holds
        if not (scaled > 0).all():
            raise WorkloadError("the least mass is 0 beside the largest, so far are they apart; bring them nearer")
        object.__setattr__(self, "domain", domain)
        object.__setattr__(self, "masses", checks.frozen(scaled / scaled.sum()))

    @classmethod
    def uniform(cls, domain: Domain) -> Self:
        """Every attribute is as probable as every other."""
        checks.require_type("FeatureDistribution.uniform", "domain", domain, Domain, "write uniform(domain)")
        return cls(domain, np.ones(len(domain)))

    @classmethod
    def zipf(cls, domain: Domain, *, seed: int | None = None) -> Self:
        """The i-th most probable attribute has a mass in proportion to ``1 / i``.

        Args:
            domain: the schema.
            seed: of the order of the attributes, which is random; nothing private depends on it.
        """
        return cls(domain, 1 / (1 + _ranks("zipf", domain, seed)))

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
        if not 0 < checks.float_of(q) < 1:
            raise WorkloadError(f"q must lie strictly between 0 and 1, got {checks.value_text(q)}")
        return cls(domain, (1 - q) ** _ranks("geometric", domain, seed))

    def drifted(self, amount: float, *, seed: int | None = None) -> "FeatureDistribution":
        """The same masses, moved to other attributes: interests change.

        Args:
            amount: gamma; 0 changes nothing, 1/2 gives the masses to random attributes, and 1 reverses their order.
            seed: of what is random about it.

        Raises:
            WorkloadError: the amount is not between 0 and 1; the seed is no integer from 0.

        Source: docs/adaptive-projection.md eq. (k).

        Example:
            >>> now = FeatureDistribution(Domain({"a": 2, "b": 2, "c": 2}), [0.6, 0.3, 0.1])
            >>> now.drifted(1).masses.round(3)
            array([0.1, 0.3, 0.6])
        """
        if not 0 <= checks.float_of(amount) <= 1:
            raise WorkloadError(f"amount must be a number from 0 to 1, got {checks.value_text(amount)}")
        _require_seed(seed)
        count = len(self.masses)
        by_mass = np.argsort(-self.masses, kind="stable")
        ranks = np.arange(count)
        random = np.random.default_rng(seed).random(count)
        # Ranks weigh 1, 0 and -1 at amounts 0, 1/2 and 1, and chance weighs what they leave
        keys = (1 - 2 * amount) * (count - 1 - ranks) / max(1, count - 1) + (1 - abs(1 - 2 * amount)) * random
        moved = np.empty(count)
        moved[by_mass] = self.masses[by_mass][np.argsort(-keys, kind="stable")]
        return FeatureDistribution(self.domain, moved)


def _require_seed(seed: object) -> None:
    if not (seed is None or checks.is_integer(seed)):
        raise WorkloadError(f"seed must be an integer from 0, or None, got {checks.value_text(seed)}")


def _ranks(maker: str, domain: Domain, seed: int | None) -> checks.FloatArray:
    checks.require_type(f"FeatureDistribution.{maker}", "domain", domain, Domain, f"write {maker}(domain)")
    _require_seed(seed)
    return np.random.default_rng(seed).permutation(len(domain)).astype(np.float64)


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

    Source: docs/adaptive-projection.md eq. (l).

    Example:
        >>> domain = Domain({"a": 2, "b": 3, "c": 4})
        >>> known, past = Workload(domain, [("a", "b"), ("a", "c")]), Workload(domain, [("a", "c"), ("b", "c")])
        >>> with_history(known, past, history_weight=0.25).weights.tolist()
        [0.75, 1.0, 0.25]
    """
    for name, given in (("prespecified", prespecified), ("historical", historical)):
        checks.require_type("with_history", name, given, Workload, "make one with Workload(domain, queries)")
    if not 0 <= checks.float_of(history_weight) <= 1:
        raise WorkloadError(f"history_weight must be between 0 and 1, got {checks.value_text(history_weight)}")
    one = _times(prespecified, 1 - history_weight) + _times(historical, 0)
    other = _times(prespecified, 0) + _times(historical, history_weight)
    if history_weight in (0, 1):  # a query without weight would still be a candidate for measuring
        return historical if history_weight else prespecified
    pairs = zip(one.blocks, other.blocks, strict=True)
    blocks = [replace(mine, weights=mine.weights + its.weights) for mine, its in pairs]
    return Workload.from_blocks(one.domain, blocks, one.kinds)


def _times(workload: Workload, factor: float) -> Workload:
    blocks = [replace(block, weights=factor * block.weights) for block in workload.blocks]
    return Workload.from_blocks(workload.domain, blocks, workload.kinds)


def sample_sets(
    distribution: FeatureDistribution,
    order: int,
    count: int,
    *,
    replace: bool = False,
    max_cells: int | None = None,
    seed: int | None = None,
) -> list[tuple[str, ...]]:
    """Draw sets of attributes that queries may be about, in proportion to the product of their masses.

    Args:
        distribution: how probable each attribute is.
        order: k, how many attributes each set has.
        count: how many sets.
        replace: whether a set may come several times; else each comes once, as if draws that repeat were left out.
        max_cells: leave out sets whose table has more cells.
        seed: nothing private depends on it.

    Returns:
        Sets of names, each in the order of the domain.

    Raises:
        WorkloadError: there are fewer such sets than asked for, or so few that 100,000 draws found no other; an
            argument is invalid.

    Cost: O(d k) for each draw; sets are not enumerated.
    Source: docs/adaptive-projection.md eq. (k).

    Example:
        >>> from residualplanner import Domain
        >>> interests = FeatureDistribution(Domain({"a": 2, "b": 2, "c": 2}), [1, 1, 1e-9])
        >>> sample_sets(interests, 2, 1, seed=0)
        [('a', 'b')]
    """
    remedy = "write sample_sets(FeatureDistribution.uniform(domain), 2, 10)"
    checks.require_type("sample_sets", "distribution", distribution, FeatureDistribution, remedy)
    if max_cells is not None and not checks.float_of(max_cells) > 0:
        raise WorkloadError(f"max_cells must be positive, or None, got {checks.value_text(max_cells)}")
    _require_seed(seed)
    checks.require_integer("order", order)
    checks.require_integer("count", count)
    domain = distribution.domain
    if order > len(domain):
        raise WorkloadError(f"order={order}, but the domain has only {count_text(len(domain), 'attribute')}")
    if not replace and count > math.comb(len(domain), order):
        raise WorkloadError(f"there are {math.comb(len(domain), order):,} sets of {order} attributes; ask for no more")
    generator = np.random.default_rng(seed)
    batches = (np.sort(_draws(distribution.masses, order, 256, generator), axis=1) for _ in repeat(None))
    found, drawn = set[tuple[str, ...]](), list[tuple[str, ...]]()
    for tries, one in enumerate(draw for batch in batches for draw in batch.tolist()):
        names = tuple(domain.names[position] for position in one)
        if (max_cells is None or domain.cells(names) <= max_cells) and (replace or names not in found):
            found.add(names)
            drawn.append(names)
            if len(drawn) == count:
                break
        if tries >= _TRIES * (len(drawn) + 1):
            raise WorkloadError(
                "too few sets of attributes fit, or are probable enough to be found; ask for fewer, allow larger "
                "tables with max_cells, or write replace=True"
            )
    return drawn


def _draws(masses: checks.FloatArray, order: int, draws: int, generator: np.random.Generator) -> checks.IntArray:
    """Sets (draws, order) of attributes, each with a probability in proportion to the product of its masses.

    With e[j, i] the elementary symmetric polynomial of degree j of the first i masses, and j attributes still to be
    found among the first i, the i-th is among them with probability p_i e[j - 1, i - 1] / e[j, i].  Logarithms are
    taken, because products of small masses are too small for floats.
    """
    logs = np.log(masses)
    e = np.full((order + 1, len(masses) + 1), -np.inf)
    e[0] = 0
    for i, log in enumerate(logs, start=1):
        e[1:, i] = np.logaddexp(e[1:, i - 1], log + e[:-1, i - 1])
    left = np.full(draws, order)
    is_in = np.zeros((draws, len(masses)), dtype=np.bool_)
    for i in range(len(masses), 0, -1):
        # e[j, i] is 0 only where j > i, which cannot come up: the i-th is taken with certainty where j = i
        may = (left > 0) & (left < i)
        chance = np.exp(logs[i - 1] + e[left - 1, i - 1] - np.where(may, e[left, i], 0), where=may, out=np.zeros(draws))
        is_in[:, i - 1] = generator.random(draws) < np.where(left == i, 1, chance)
        left -= is_in[:, i - 1]
    return np.nonzero(is_in)[1].reshape(draws, order)
