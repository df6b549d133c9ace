"""Correlations and linear regressions of amounts from the tables of a release, with their error from noise alone.

Source: eqs. (143) and (144); intervals by `simulated`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from residualplanner.ground.checks import FloatArray, frozen, require_type
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.method.domain.labels import label_text
from residualplanner.method.queries.identity import Identity
from residualplanner.method.queries.kind import Kind
from residualplanner.method.workload.query import QueryLike, kinds_by_name
from residualplanner.more.amounts.moments import Moments
from residualplanner.release.comparisons import ComparedTable
from residualplanner.release.release import Release
from residualplanner.release.simulations import SimulatedStatistic, simulated

#: A correlation is at most this in size where it is transformed, so that this is a number.
_MOST = 1 - 1e-12


def moments(domain: Domain, attributes: Sequence[str], by: QueryLike = ()) -> list[dict[str, Kind]]:
    """The queries that `correlation` and `regression` are made of: of all pairs of attributes, by group.

    Args:
        domain: the schema.
        attributes: at least two; those with amounts have ``squares=True``.
        by: the attributes that make the groups; with kinds where they are not plain values.

    Raises:
        WorkloadError: there are fewer than two attributes, or one of them makes the groups, too.
        DomainError: the domain lacks an attribute.

    Source: eq. (143).

    Example:
        >>> import residualplanner as rp
        >>> pay, age = rp.Numeric(0, 40, squares=True), rp.Numeric(15, 75, squares=True)
        >>> domain = rp.Domain({"job": 2, "pay": pay, "age": age})
        >>> moments(domain, ["pay", "age"], by=["job"])
        [{'job': Identity(), 'pay': Moments(), 'age': Moments()}]
    """
    if isinstance(attributes, str):
        raise WorkloadError(f'give a list of attributes, such as ["pay", "age"], got {attributes!r}')
    groups = kinds_by_name(domain, by)
    if len(set(attributes)) < 2 or len(set(attributes)) < len(attributes) or set(attributes) & set(groups):
        raise WorkloadError(f"moments are of two attributes or more that make no groups, got {list(attributes)}")
    kinds = {name: Identity() if domain[name].numeric is None else Moments() for name in attributes}
    return [groups | {name: kinds[name] for name in pair} for pair in combinations(attributes, 2)]


def correlation(
    release: Release, one: str, other: str, by: QueryLike = (), *, level: float = 0.95, simulations: int = 200
) -> ComparedTable:
    """The correlation of the amounts of two attributes, by group, with its error from noise alone.

    It is of the records with both amounts.  Intervals are by simulation of the noise, of Fisher's transform; where
    noise leaves no correlation computable, they are all that is possible.

    Args:
        release: unbiased tables, from `reconstruct`, of a workload with the queries of `moments`.
        one: an attribute with amounts.
        other: another one.
        by: the attributes that make the groups, as of `moments`.
        level: the confidence level of the intervals.
        simulations: how many, at least 50.

    Raises:
        WorkloadError: an attribute has no amounts; the release does not answer the query; its tables are not unbiased.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eq. (143); Fisher (1915).

    Example:
        >>> import pandas as pd, residualplanner as rp
        >>> domain = rp.Domain({"pay": rp.Numeric(0, 40, squares=True), "age": rp.Numeric(15, 75, squares=True)})
        >>> plan = rp.select(rp.Workload(domain, moments(domain, ["pay", "age"])), budget=rp.zcdp(0.5))
        >>> records = pd.DataFrame({"pay": [10, 20, 30, 20] * 500, "age": [20, 40, 60, 50] * 500})
        >>> found = correlation(rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1)), "pay", "age")
        >>> bool(found.low < records.corr().loc["pay", "age"] < found.high)
        True
    """
    require_type("correlation", "release", release, Release, "write correlation(reconstruct(measurement), one, other)")
    domain = release.plan.domain
    (query,) = correlation_queries(domain, one, other, by)
    table = release[query]
    axes = [table.names.index(name) for name in (one, other)]

    def transformed(each: Release) -> FloatArray:
        return np.arctanh(_correlation(np.moveaxis(each[query].estimate, axes, (0, 1))))

    found = simulated(release, transformed, level=level, simulations=simulations)
    groups = {name: labels for name, labels in zip(table.names, table.labels, strict=True) if name not in (one, other)}
    return _table(f"correlation of {one} and {other}", groups, found, np.tanh)


def regression(
    release: Release, outcome: str, on: Sequence[str], *, level: float = 0.95, simulations: int = 200
) -> ComparedTable:
    """The coefficients of a linear regression of amounts on attributes, with their error from noise alone.

    An attribute with amounts has one coefficient, in units of the outcome for each unit of its own; another one has a
    coefficient for each value but the first, what the outcome is more there than with the first.  Each sum of products
    is of the records with both amounts, so where amounts are missing, it matters that they are missing at random.

    Args:
        release: unbiased tables, from `reconstruct`, of a workload with the queries of ``moments(domain, [outcome,
            *on])``.
        outcome: an attribute with amounts.
        on: the attributes that explain it.
        level: the confidence level of the intervals.
        simulations: how many, at least 50.

    Returns:
        The intercept, and the coefficients; NaN, with an interval without ends, where noise hides a term.

    Raises:
        WorkloadError: the outcome has no amounts; the release does not answer a query; its tables are not unbiased.
        BudgetError: ``level`` is not between 0 and 1.

    Source: eq. (144).

    Example:
        >>> import pandas as pd, residualplanner as rp
        >>> domain = rp.Domain({"job": ["cook", "waiter"], "pay": rp.Numeric(0, 40, squares=True)})
        >>> plan = rp.select(rp.Workload(domain, moments(domain, ["pay", "job"])), budget=rp.zcdp(0.5))
        >>> records = pd.DataFrame({"job": ["cook", "waiter"] * 1000, "pay": [30, 10, 20, 20] * 500})
        >>> found = regression(rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1)), "pay", ["job"])
        >>> found.labels, found.estimate.round().tolist()
        ((('intercept', 'job: waiter'),), [25.0, -10.0])
    """
    require_type("regression", "release", release, Release, "write regression(reconstruct(measurement), outcome, on)")
    domain = release.plan.domain
    queries = regression_queries(domain, outcome, on)

    found = simulated(release, lambda each: _coefficients(each, queries), level=level, simulations=simulations)
    terms = ("intercept", *(term for name in on for term in _terms_of(domain[name]).names))
    return _table(f"regression of {outcome} on {', '.join(on)}", {"term": terms}, found, np.asarray)


def correlation_queries(domain: Domain, one: str, other: str, by: QueryLike = ()) -> list[dict[str, Kind]]:
    """What `correlation` is made of; errors as its own."""
    _require_amounts(domain, "correlate", one, other)
    return moments(domain, [one, other], by)


def regression_queries(domain: Domain, outcome: str, on: Sequence[str]) -> list[dict[str, Kind]]:
    """What `regression` is made of; errors as its own."""
    _require_amounts(domain, "explain", outcome)
    return moments(domain, on if isinstance(on, str) else [outcome, *on])


def _require_amounts(domain: Domain, verb: str, *names: str) -> None:
    for name in names:
        if domain[name].numeric is None:
            raise WorkloadError(f"{name!r} has no amounts to {verb}; declare Numeric(low, high, squares=True)")


def _table(
    title: str,
    axes: Mapping[str, tuple[object, ...]],
    found: SimulatedStatistic,
    back: Callable[[FloatArray], FloatArray],
) -> ComparedTable:
    """A table of what was simulated, turned back from the scale of the simulation."""
    estimate, low, high = map(back, (found.estimate, found.low, found.high))
    # Where noise may nearly hide a term, simulations have no standard deviation to speak of: that of the middle ones.
    std_err = (high - low) / (2 * margin_factor(found.level))
    every = (frozen(np.asarray(each)) for each in (estimate, std_err, low, high))
    names, labels, errors = tuple(axes), tuple(axes.values()), "of noise alone, by simulation"
    return ComparedTable(title, "", names, labels, found.level, False, 0.0, errors, *every)


def _correlation(sums: FloatArray) -> FloatArray:
    """The correlations (groups..) of the sums (3, 3, groups..) of products; NaN where there is none.  Eq. (143)."""
    count = np.where(sums[0, 0] > 0, sums[0, 0], np.nan)
    means = sums[1, 0] / count, sums[0, 1] / count
    variances = sums[2, 0] / count - means[0] ** 2, sums[0, 2] / count - means[1] ** 2
    covariance = sums[1, 1] / count - means[0] * means[1]
    with np.errstate(all="ignore"):
        found = covariance / np.sqrt(variances[0] * variances[1])
    is_one = (variances[0] > 0) & (variances[1] > 0)
    return np.where(is_one, np.clip(found, -_MOST, _MOST), np.nan)


class _Terms(NamedTuple):
    """What a regression has of an attribute, as sums over the rows of its kind."""

    names: list[str]
    counted: FloatArray  # (rows,)
    linear: FloatArray  # (terms, rows)
    squares: FloatArray  # (terms, terms, rows)
    half: float  # a term is this times t, and ``middle``
    middle: float


def _terms_of(attribute: Attribute) -> _Terms:
    """Of amounts t; of other values a term for each but the first, which is 1 for it and 0 elsewhere."""
    if attribute.numeric is not None:
        (count, linear, square), kind = np.eye(3), Moments().on(attribute)
        return _Terms([attribute.name], count, linear[None], square[None, None], kind.half, kind.middle)
    every = np.eye(attribute.size)
    names = [f"{attribute.name}: {label_text(label)}" for label in attribute.value_labels[1:]]
    squares = np.einsum("ir,ij->ijr", every, every)[1:, 1:]
    return _Terms(names, np.ones(attribute.size), every[1:], squares, half=1.0, middle=0.0)


def _coefficients(release: Release, queries: Sequence[Mapping[str, Kind]]) -> FloatArray:
    """The coefficients of the first attribute of the first query on all others; NaN where noise leaves none.

    Those of t on t become those of amounts on amounts.  Source: eq. (144).
    """
    domain = release.plan.domain
    outcome = next(iter(queries[0]))
    sums = {}
    for query in queries:
        one, other = query
        sums[one, other] = release[query].estimate
        sums[other, one] = sums[one, other].T
    with_outcome = {name: table for (first, name), table in sums.items() if first == outcome}
    terms = {name: _terms_of(domain[name]) for name in with_outcome}
    first, *_ = with_outcome
    total = with_outcome[first] @ terms[first].counted  # the count, and the sum, of all outcomes
    alone = [with_outcome[name] @ terms[name].linear.T for name in terms]  # (3, terms): counts, and sums of outcomes
    blocks = [
        [
            terms[one].squares @ with_outcome[one][0]
            if one == other
            else terms[one].linear @ sums[one, other] @ terms[other].linear.T
            for other in terms
        ]
        for one in terms
    ]
    border = np.concatenate([each[0] for each in alone])
    gram = np.block([[total[:1, None], border[None]], [border[:, None], np.block(blocks)]])
    products = np.concatenate([total[1:2], *(each[1] for each in alone)])
    explained = Moments().on(domain[outcome])
    of_terms = [(each.half, each.middle) for each in terms.values() for _ in each.names]
    halves, middles = np.transpose([(1.0, 0.0), *of_terms])
    found = _solved(gram, products) * explained.half / halves
    found[0] += explained.middle - np.nansum(found * middles)
    return np.asarray(found)


def _solved(gram: FloatArray, products: FloatArray) -> FloatArray:
    """The solution of the normal equations; NaN where what is left of a term beside the others has no positive sum."""
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        return np.full(len(products), np.nan)
    # 1 over a diagonal entry is the sum of squares of what the other terms leave of a term: noise may hide it.
    return np.asarray(np.where(np.diagonal(inverse) > 0, inverse @ products, np.nan))
