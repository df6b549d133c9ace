"""A privacy audit: many runs of the real mechanism on two neighboring tables, and an adversary who tells them apart.

The adversary knows the plan, both tables and the method, sees one result, and guesses which table it came from.  Its
success bounds the privacy loss from below.  Two figures follow:

- mu: the distance between its mean scores, in standard deviations.  For the best adversary and continuous Gaussian
  noise that is sqrt(2 rho); for the discrete noise of the plans that are audited it differs from that by less than can
  be measured.  It is an estimate, not a claim of the library, which for discrete noise claims zCDP alone.
- epsilon at a delta of 0.01, with no assumption about the mechanism: Clopper and Pearson's exact bounds on the rates of
  right and wrong guesses hold with probability 1 - 1e-6, so a bound above the claim disproves the claim.

The mechanism runs in bulk: one call answers for a stack of equal tables, 100,000 runs at a time, by the very functions
that `measure` uses.
"""

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

from residualplanner.gate.discrete_gaussian import ByteSource, InsecureTestBits
from residualplanner.gate.measurement.answers import Residuals
from residualplanner.gate.measurement.discrete import integer_answers
from residualplanner.gate.measurement.measure import measure
from residualplanner.gate.measurement.precision import lattice_divisors, precision_of
from residualplanner.gate.sources.opening import open_source
from residualplanner.method.bases.basis import Basis
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.domain.domain import Domain
from residualplanner.method.kron.axis_maps import ProductMap, rebuilding, tables_of_residuals
from residualplanner.method.losses import DescribedLoss
from residualplanner.method.plan.plan import Plan
from residualplanner.method.privacy import zcdp
from residualplanner.method.queries.runs import Prefix
from residualplanner.method.strategy.basis_groups import BasisGroups, basis_groups
from residualplanner.method.strategy.strategy import varying_strategy
from residualplanner.method.workload.workload import Workload
from residualplanner.release.reconstruct import reconstruct

Scores = NDArray[np.float64]

DELTA = 1e-2
#: How improbable a false alarm is: of the bound on epsilon, and of mu by five standard errors (5.7e-7).
FALSE_ALARM = 1e-6
STANDARD_ERRORS = 5
RUNS_AT_A_TIME = 100_000


@dataclass(frozen=True)
class Audit:
    """What an adversary achieved.

    Attributes:
        runs: on each side.
        mu: how far apart the scores of the two sides are, in standard deviations.
        mu_error: its standard error.
        epsilon: what epsilon is at least at delta = 0.01, with probability 1 - 1e-6.
    """

    runs: int
    mu: float
    mu_error: float
    epsilon: float

    def contradicts(self, mu: float) -> bool:
        """Whether the noise protects less than mu-GDP: the scores are too far apart, or epsilon is too large."""
        return self.mu > mu + STANDARD_ERRORS * self.mu_error or self.epsilon > gaussian_epsilon(mu)


def gaussian_epsilon(mu: float, delta: float = DELTA) -> float:
    """The epsilon of mu-GDP at ``delta``, eq. (3), by bisection."""
    low, high = 0.0, mu * mu / 2 + 10 * mu
    for _ in range(200):
        middle = (low + high) / 2
        if norm.cdf(mu / 2 - middle / mu) - math.exp(middle) * norm.cdf(-mu / 2 - middle / mu) > delta:
            low = middle
        else:
            high = middle
    return high


def audit(before: Scores, after: Scores, *, mu: float) -> Audit:
    """What scores say, where an adversary who believes in ``mu`` guesses "after" above a threshold.

    Args:
        before (n,): scores on one table, of standard normal distribution if the claim is exact.
        after (n,): scores on its neighbor, then higher by mu.
        mu: sets the threshold, before the scores are seen.
    """
    runs = len(before)
    deviation = math.sqrt((before.var() + after.var()) / 2)
    found = float(after.mean() - before.mean()) / deviation
    threshold = best_threshold(mu, runs)
    epsilon = epsilon_at_least(int((after > threshold).sum()), int((before > threshold).sum()), runs)
    return Audit(runs, found, math.sqrt(2 / runs + found**2 / (4 * runs)), epsilon)


def epsilon_at_least(right: int, wrong: int, runs: int) -> float:
    """The bound on epsilon from how often an event came on either side; each rate errs with half the false alarm."""
    rate_right = beta.ppf(FALSE_ALARM / 2, right, runs - right + 1) if right else 0.0
    rate_wrong = beta.isf(FALSE_ALARM / 2, wrong + 1, runs - wrong) if wrong < runs else 1.0
    return math.log((rate_right - DELTA) / rate_wrong) if rate_right > DELTA + rate_wrong else 0.0


def best_threshold(mu: float, runs: int) -> float:
    """Where the bound is largest for scores that are as expected."""
    thresholds = np.linspace(0, mu + 4, 401)
    bounds = [epsilon_at_least(*(round(runs * norm.sf(t - shift)) for shift in (mu, 0)), runs) for t in thresholds]
    return float(thresholds[int(np.argmax(bounds))])


def expected_epsilon(mu: float, runs: int, *, errors: float = 0.0) -> float:
    """The bound for scores that are as expected, or whose counts fall short by so many standard errors."""
    threshold = best_threshold(mu, runs)
    right, wrong = (runs * norm.sf(threshold - shift) for shift in (mu, 0))
    return epsilon_at_least(
        max(0, round(right - errors * math.sqrt(right))), min(runs, round(wrong + errors * math.sqrt(wrong))), runs
    )


@dataclass(frozen=True)
class Experiment:
    """A plan, a small table over its whole domain, and one that a neighbor would have.

    Attributes:
        plan: what is audited.
        table: counts over all attributes, in fractions of a record where its values are amounts: times D of (104).
        neighbor: the same, changed by what the claim says is protected.
        measured: the numbers of the sets that are measured; each once, or the mechanism is another.
        precision (m,): of every set of the plan's closure.
    """

    plan: Plan
    table: NDArray[np.int64]
    neighbor: NDArray[np.int64]
    measured: tuple[int, ...]
    precision: NDArray[np.float64]

    @classmethod
    def adding(cls, plan: Plan, record: Sequence[int], *, times: int = 1) -> "Experiment":
        """A table without a record, and with it ``times`` times."""
        change = np.zeros(plan.domain.sizes, dtype=np.int64)
        change[tuple(record)] = times * denominator_of(plan)
        return cls._changed(plan, change)

    @classmethod
    def adding_entries(cls, plan: Plan, records: Sequence[Sequence[int]]) -> "Experiment":
        """A table without some records, and with them, counted as sources count them.

        Each is a row of codes and amounts; where the domain has weights, the record's is last.
        """
        every = np.arange(len(plan.domain))[None]
        return cls._changed(plan, open_source(np.array(records), plan.domain).count([every])[0][0])

    @classmethod
    def _changed(cls, plan: Plan, change: NDArray[np.int64]) -> "Experiment":
        table = np.arange(math.prod(plan.domain.sizes), dtype=np.int64).reshape(plan.domain.sizes) % 4
        table = table * denominator_of(plan)
        sets = tuple(range(len(plan.closure)))
        return cls(plan, table, table + change, sets, precision_of(plan.noise_variances))

    @property
    def mu(self) -> float:
        """What the plan claims for one record more or less: sqrt(2 rho)."""
        return math.sqrt(self.plan.pcost)

    def replacing(self, record: Sequence[int], by: Sequence[int]) -> "Experiment":
        """The neighbor has one record replaced."""
        neighbor = self.table.copy()
        neighbor[tuple(record)] -= 1
        neighbor[tuple(by)] += 1
        return replace(self, neighbor=neighbor)

    def with_deviation(self, factor: float) -> "Experiment":
        """The noise's standard deviation times ``factor``."""
        return replace(self, precision=self.precision / factor**2)

    def measuring_twice(self, number: int) -> "Experiment":
        """One set is measured once more than the cost says."""
        return replace(self, measured=(*self.measured, number))


def blocks(
    experiment: Experiment, table: NDArray[np.int64], runs: int, source: ByteSource
) -> Iterator[tuple[Residuals, int]]:
    """The answers of ``runs`` runs on one table, up to 100,000 at a time, each set's runs one after another."""
    groups = _groups(experiment)
    plan, denominator = experiment.plan, experiment.plan.domain.denominator
    divisors = lattice_divisors(groups, experiment.precision, plan.neighbors, denominator)
    for start in range(0, runs, RUNS_AT_A_TIME):
        several = min(RUNS_AT_A_TIME, runs - start)
        members = tuple(np.repeat(numbers, several) for numbers in groups.members)
        stacked = replace(groups, members=members)
        counts = [
            np.concatenate([np.broadcast_to(v, (several, *v.shape)) for v in _marginals(experiment, table, numbers)])
            for numbers in groups.members
        ]
        yield (
            integer_answers(counts, stacked, experiment.precision, divisors, source, denominator=denominator),
            several,
        )


def likelihood_scores(experiment: Experiment, table: NDArray[np.int64], runs: int, source: ByteSource) -> Scores:
    """The best adversary's scores: the likelihood ratio, scaled so that it is standard normal without the change."""
    groups = _groups(experiment)
    weights, shift, power = [], 0.0, 0.0
    changed = experiment.neighbor - experiment.table
    for bases, numbers in zip(groups.bases, groups.members, strict=True):
        strategy, inverse = explicit(bases)
        whole = _whole(experiment.plan, bases)
        change = [strategy @ v.ravel() / whole for v in _marginals(experiment, changed, numbers)]
        # The adversary knows the noise that the plan says, whatever the mechanism really draws.
        weight = [inverse @ part / experiment.plan.noise_variances[i] for part, i in zip(change, numbers, strict=True)]
        weights.append(weight)
        power += sum(float(w @ part) for w, part in zip(weight, change, strict=True))
        shift += sum(
            float(w @ (strategy @ v.ravel())) / whole
            for w, v in zip(weight, _marginals(experiment, experiment.table, numbers), strict=True)
        )
    scores = []
    for answers, several in blocks(experiment, table, runs, source):
        total = np.full(several, -shift)
        for group, weight in enumerate(weights):
            stored = np.asarray(answers.stored(group), dtype=np.float64) / answers.divisor(group)
            total += np.einsum("srk,sk->r", stored.reshape(len(weight), several, -1), np.array(weight))
        scores.append(total / math.sqrt(power))
    return np.concatenate(scores)


def table_cells(
    experiment: Experiment, table: NDArray[np.int64], runs: int, source: ByteSource, query: Sequence[int]
) -> NDArray[np.float64]:
    """The reconstructed table of one query in every run, (runs, cells), by the functions that `reconstruct` uses."""
    groups = basis_groups(experiment.plan.strategy)
    parts = [tuple(part) for k in range(len(query) + 1) for part in combinations(query, k)]
    # Subsets in the order of reconstruction: bit i of a subset's number says whether it has the query's i-th attribute.
    parts.sort(key=lambda part: sum(1 << query.index(i) for i in part))
    sets = [list(experiment.plan.closure).index(part) for part in parts]
    found = []
    for answers, several in blocks(experiment, table, runs, source):
        rows = np.array([groups.row[number] * several for number in sets]) + np.arange(several)[:, None]
        held = [int(groups.group[number]) for number in sets]
        tables = tables_of_residuals(
            [answers.stored(group) for group in held],
            rows,
            maps=ProductMap([rebuilding(size) for size in groups.shapes[held[-1]]]),
            divisors=[answers.divisor(group) for group in held],
        )
        found.append(np.array(tables).reshape(several, -1))
    return np.concatenate(found)


def audit_likelihood(experiment: Experiment, runs: int, source: Callable[[str], ByteSource]) -> Audit:
    """The best adversary, who sees the noisy answers."""
    before, after = (
        likelihood_scores(experiment, table, runs, source(side))
        for side, table in (("before", experiment.table), ("after", experiment.neighbor))
    )
    return audit(before, after, mu=math.sqrt(claimed_power(experiment)))


def audit_cell(experiment: Experiment, runs: int, source: Callable[[str], ByteSource], query: Sequence[int]) -> Audit:
    """An adversary who sees one reconstructed table, and on half of the runs learns which cell to watch."""
    before, after = (
        table_cells(experiment, table, runs, source(side), query)
        for side, table in (("before", experiment.table), ("after", experiment.neighbor))
    )
    return audit_chosen(before, after)


def audit_chosen(before: NDArray[np.float64], after: NDArray[np.float64]) -> Audit:
    """Choose a column and a scale by the first half of the runs (runs, columns); judge by the second half."""
    half = len(before) // 2
    gap = after[:half].mean(axis=0) - before[:half].mean(axis=0)
    spread = np.sqrt((after[:half].var(axis=0) + before[:half].var(axis=0)) / 2)
    chosen = int(np.argmax(np.abs(gap) / spread))
    middle, scale = before[:half, chosen].mean(), spread[chosen] * np.sign(gap[chosen])
    mu = float(abs(gap[chosen]) / spread[chosen])
    return audit((before[half:, chosen] - middle) / scale, (after[half:, chosen] - middle) / scale, mu=mu)


def claimed_power(experiment: Experiment) -> float:
    """Mu squared of the adversary who believes the plan's noise, for the change that is really made."""
    total, changed = 0.0, experiment.neighbor - experiment.table
    groups = _groups(experiment)
    for bases, numbers in zip(groups.bases, groups.members, strict=True):
        strategy, inverse = explicit(bases)
        for number, v in zip(numbers, _marginals(experiment, changed, numbers), strict=True):
            part = strategy @ v.ravel() / _whole(experiment.plan, bases)
            total += float(part @ inverse @ part) / experiment.plan.noise_variances[number]
    return total


def explicit(bases: Sequence[Basis]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What is measured of a table with these bases, and the inverse of the covariance at unit noise."""
    measured, inverse = [], []
    for basis in bases:
        if basis.matrix is None:
            measured.append(subtraction(basis.size))
            inverse.append(np.linalg.inv(measured[-1] @ measured[-1].T))
        else:
            measured.append(basis.matrix.astype(float))
            inverse.append(np.eye(basis.answers))
    return product(measured), product(inverse)


def plan_by_set() -> Plan:
    """A plan of rho 1/2 with other bases for two attributes alone than for the pair.

    A record of the second values costs most, and by (41) with these messages that is all it can cost: 9 times the
    noise's precision.  Without messages it would be 11.
    """
    workload = Workload(Domain({"a": 2, "b": 2}), [{"a": Prefix(), "b": Prefix()}])
    bases = (integer_basis([[1, -2]], "given"), integer_basis([[1, 0]], "given"))
    messages = np.array([1, -1, 1, -1]) / 9
    return Plan(
        workload=workload,
        noise_variances=np.array([9.0, 9.0, 9.0, 4.5]) * (1 + 1e-12),
        budget=zcdp("0.5"),
        loss=DescribedLoss("by hand"),
        loss_value=0.0,
        gap=math.inf,
        status="by hand",
        strategy=varying_strategy(workload.closure, workload.domain.sizes, bases, [0, 0, 1, 1], messages),
    )


def subtraction(size: int) -> NDArray[np.float64]:
    """Sub_m, eq. (5)."""
    return np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)])


def product(factors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The Kronecker product from left to right."""
    return reduce(np.kron, factors, np.ones((1, 1)))


def _groups(experiment: Experiment) -> BasisGroups:
    """The sets that are measured, by the shape of their tables; a set may come twice."""
    groups = basis_groups(experiment.plan.strategy)
    again = [np.flatnonzero(np.isin(experiment.measured, numbers)) for numbers in groups.members]
    members = tuple(np.array(experiment.measured)[places] for places in again)
    return replace(groups, members=members)


def _marginals(experiment: Experiment, table: NDArray[np.int64], numbers: Any) -> list[NDArray[np.int64]]:
    """The marginal tables of some sets, in fractions with the denominator of each.  Source: eq. (104)."""
    sets, attributes = list(experiment.plan.closure), experiment.plan.domain.attributes
    found = []
    for number in np.asarray(numbers):
        others = tuple(i for i in range(table.ndim) if i not in sets[number])
        found.append(np.asarray(table.sum(axis=others)) // math.prod(attributes[i].denominator for i in others))
    return found


def denominator_of(plan: Plan) -> int:
    """D of the table of all attributes, times q where records are weighted.  Source: eqs. (100) and (104)."""
    return plan.domain.denominator * math.prod(attribute.denominator for attribute in plan.domain.attributes)


def _whole(plan: Plan, bases: Sequence[Basis]) -> int:
    """What a record of weight 1 counts in a table with these bases."""
    return plan.domain.denominator * math.prod(basis.denominator for basis in bases)


@contextlib.contextmanager
def fixed_randomness(seed: int) -> Iterator[None]:
    """Let ``os.urandom`` give a SHAKE-256 stream: what is measured then is the same each time, and not private."""
    real = os.urandom
    os.urandom = InsecureTestBits(seed).read
    try:
        yield
    finally:
        os.urandom = real


def released_tables(plan: Plan, forms: Sequence[object], query: Sequence[str], runs: int) -> NDArray[np.float64]:
    """What `measure` and `reconstruct` give out for one query, (runs, cells); the records come in each form in turn."""
    return np.array(
        [reconstruct(measure(plan, forms[run % len(forms)]))[tuple(query)].estimate.ravel() for run in range(runs)]
    )


def table_scores(tables: NDArray[np.float64], covariance: NDArray[np.float64], cell: int) -> Scores:
    """The best adversary's scores for a record in ``cell``, from tables (runs, cells) and their covariance."""
    weights = np.linalg.inv(covariance)[cell]
    return np.asarray(tables @ weights / math.sqrt(weights[cell]))
