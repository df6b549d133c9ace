"""Sets of attributes drawn at random, whose probability is known exactly.

Source: docs/adaptive-projection.md eq. (i).
"""

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import FloatArray, entry_named, float_of, is_integer, require_type, value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import count_text
from residualplanner.shell.questions.features import FeatureDistribution, require_seed

#: So many draws in succession that are left out, or came before, end the search for another set.
_TRIES = 10**5
#: So many draws are made together.
_BATCH = 256
#: Draws sets (m, k) of attributes from masses (d,).
_Law = Callable[[FloatArray, int, int, np.random.Generator], NDArray[np.int64]]


def sample_sets(
    distribution: FeatureDistribution,
    order: int,
    count: int,
    *,
    replace: bool = False,
    law: str = "product",
    max_cells: int | None = None,
    seed: int | None = None,
) -> list[tuple[str, ...]]:
    """Draw sets of attributes that queries may be about.

    Args:
        distribution: how probable each attribute is.
        order: k, how many attributes each set has.
        count: how many sets.
        replace: whether a set may come several times; else each comes once, as if draws that repeat were left out.
        law: "product": the probability of a set is in proportion to the product of its masses; "successive": one
            attribute after the other is drawn from those that are left, which is another law.
        max_cells: leave out sets whose table has more cells.
        seed: nothing private depends on it.

    Returns:
        Sets of names, each in the order of the domain.

    Raises:
        WorkloadError: there are fewer such sets than asked for, or so few that 100,000 draws found no other; an
            argument is invalid.

    Cost: O(d k) for each draw; sets are not enumerated.
    Source: docs/adaptive-projection.md eq. (i).

    Example:
        >>> from residualplanner import Domain
        >>> interests = FeatureDistribution(Domain({"a": 2, "b": 2, "c": 2}), [1, 1, 1e-9])
        >>> sample_sets(interests, 2, 1, seed=0)
        [('a', 'b')]
    """
    remedy = "write sample_sets(FeatureDistribution.uniform(domain), 2, 10)"
    require_type("sample_sets", "distribution", distribution, FeatureDistribution, remedy)
    if max_cells is not None and not float_of(max_cells) > 0:
        raise WorkloadError(f"max_cells must be positive, or None, got {value_text(max_cells)}")
    require_seed(seed)
    for name, value in (("order", order), ("count", count)):
        if not is_integer(value, least=1):
            raise WorkloadError(f"{name} must be an integer, at least 1, got {value_text(value)}")
    drawn_by, domain = entry_named("law", law, LAWS), distribution.domain
    if order > len(domain):
        raise WorkloadError(f"order={order}, but the domain has only {count_text(len(domain), 'attribute')}")
    if not replace and count > math.comb(len(domain), order):
        raise WorkloadError(f"there are {math.comb(len(domain), order):,} sets of {order} attributes; ask for no more")
    draws = _draws(distribution.masses, order, drawn_by, np.random.default_rng(seed))
    found: dict[tuple[int, ...], None] = {}
    drawn: list[tuple[int, ...]] = []
    for tries, one in enumerate(draws):
        names = [domain.names[position] for position in one]
        fits = max_cells is None or domain.cells(names) <= max_cells
        if fits and (replace or one not in found):
            found[one] = None
            drawn.append(one)
            if len(drawn) == count:
                break
        if tries >= _TRIES * (len(drawn) + 1):
            raise WorkloadError(
                "too few sets of attributes fit, or are probable enough to be found; ask for fewer, allow larger "
                "tables with max_cells, or write replace=True"
            )
    return [tuple(domain.names[position] for position in one) for one in drawn]


def _draws(masses: FloatArray, order: int, law: _Law, generator: np.random.Generator) -> Iterator[tuple[int, ...]]:
    """Independent draws without end."""
    while True:
        yield from map(tuple, np.sort(law(masses, order, _BATCH, generator), axis=1).tolist())


def _product(masses: FloatArray, order: int, draws: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Sets (draws, order) whose probability is in proportion to the product of their masses.

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


def _successive(masses: FloatArray, order: int, draws: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Sets (draws, order) drawn attribute by attribute: those with the largest sums of log mass and Gumbel noise."""
    keys = np.log(masses) + generator.gumbel(size=(draws, len(masses)))
    return np.argpartition(-keys, order - 1, axis=1)[:, :order].astype(np.int64)


LAWS: dict[str, _Law] = {"product": _product, "successive": _successive}
