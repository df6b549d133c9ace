"""Plans and noisy answers that take every way through the path on a device, and the comparison with NumPy."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from residualplanner.gate.measurement.answers import AnswerLayout, Residuals
from residualplanner.gate.measurement.measurement import Measurement
from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.gate.measurement.precision import lattice_divisors, precision_of
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.losses import DescribedLoss
from residualplanner.method.queries.kind import Kind
from residualplanner.method.strategy.basis_groups import basis_groups
from residualplanner.release.batches import TableBatch

#: How far a table may be from NumPy's, in its largest standard errors.
TOLERANCE = 1e-12
#: Noise of these variances is measured with integers that int64 cannot hold.
WIDE = 2.0**120

NOISES = ("discrete", "gaussian")


def noisy_answers(plan: rp.Plan, noise: str, seed: int = 1) -> Measurement:
    """Answers of no data: noise alone, of about the plan's variances, "discrete" or "gaussian"."""
    groups = basis_groups(plan.strategy)
    layout = AnswerLayout(groups)
    floats = np.random.default_rng(seed).normal(size=layout.count)
    for group, members in enumerate(groups.members):
        part = layout.part(floats, group)
        part *= np.sqrt(plan.noise_variances[members]).reshape(-1, *(1,) * (part.ndim - 1))
    if noise == "gaussian":
        return Measurement(plan, Residuals(groups, floats), NoiseRecord(seed=seed))
    divisors = lattice_divisors(groups, precision_of(plan.noise_variances), plan.neighbors)
    integers, wide = np.zeros(layout.count, np.int64), {}
    for group, divisor in enumerate(divisors):
        exact = layout.part(floats, group).astype(object) * float(divisor)
        numbers = np.vectorize(int, otypes=[object])(exact)
        if (abs(numbers) >= 2**63).any():
            wide[group] = numbers
        else:
            layout.part(integers, group)[...] = numbers.astype(np.int64)
    return Measurement(plan, Residuals(groups, integers, divisors, wide), NoiseRecord("discrete"))


#: Estimates, and the largest standard error among them.
Estimates = tuple[NDArray[np.float64], float]


def estimates_of(release: rp.Release) -> Iterator[Estimates]:
    """All tables that a release gives, in each way of asking, with the largest standard error of each."""
    largest: list[float] = []
    for number, table in enumerate(release.tables()):
        largest.append(float(table.std_err.max()))
        yield table.estimate, largest[-1]
        if number % 3 == 0:
            yield release[table.query].estimate, largest[-1]
    for batch in chain(release.batches(), _brought_back(release)):
        yield batch.estimates, max(largest[number] for number in batch.queries.tolist())


def _brought_back(release: rp.Release) -> Iterator[TableBatch]:
    for batch in release.device_batches():
        yield batch.to_host(release.device)


def worst_difference(expected: Iterable[Estimates], found: Iterable[Estimates]) -> float:
    """How far two releases of the same plan are from each other at most, in the largest standard errors of tables.

    Both as `estimates_of` gives them.  It is infinite where shapes or types differ, or an estimate is not a number.
    """
    worst = 0.0
    for (one, std_err), (two, _) in zip(expected, found, strict=True):
        if not isinstance(two, np.ndarray | np.float64) or two.dtype != np.float64 or one.shape != two.shape:
            return math.inf
        difference = float(np.abs(one - two).max(initial=0)) / std_err
        if not difference <= worst:  # NaN is worse than any number
            worst = difference if difference < math.inf else math.inf
    return worst


# Plans.


def plan_by_hand(workload: rp.Workload, strategy: rp.strategies.Strategy, scale: float = 1.0) -> rp.Plan:
    """A plan that nobody searched for, of any cost."""
    noise = scale * np.random.default_rng(0).lognormal(sigma=0.5, size=len(workload.closure))
    about = {"budget": rp.pcost("1e300"), "loss": DescribedLoss("by hand"), "loss_value": 0.0, "gap": math.inf}
    return rp.Plan(workload=workload, noise_variances=noise, strategy=strategy, status="by hand", **about)


def neighbors_of(size: int) -> rp.strategies.Basis:
    """A basis of the differences between neighboring values."""
    return integer_basis(np.eye(size - 1, size, dtype=np.int64) - np.eye(size - 1, size, 1, dtype=np.int64), "given")


def weights_of(size: int) -> rp.strategies.Basis:
    """Another basis of as many answers."""
    return integer_basis(
        2 * np.eye(size - 1, size, dtype=np.int64) - np.eye(size - 1, size, 1, dtype=np.int64), "given"
    )


#: More values than are mapped by a product in any case, and less; one value; and several attributes alike.
SIZES = {"a": 40, "b": 4, "c": 35, "one": 1, "d": 3, "e": 4, "f": 4}


def kinds_of(size: int) -> list[Kind]:
    """Every kind of query for an attribute of so many values; the last has many rows."""
    rows = np.vstack([np.ones(size), np.arange(size), np.random.default_rng(0).integers(0, 3, (3 * size, size))])
    rows[:, 0] += 1
    return [rp.Identity(), rp.Prefix(), rp.Range(), rp.Hierarchy([2]), rp.Custom(rows)]


def _marginals() -> rp.Plan:
    """Several tables of one shape, in domain order and not; their rows follow one another, or do not."""
    queries = [(), *"bcf", *combinations("adbef", 2), ("b", "a"), ("e", "d"), ("a", "c")]
    queries += [("d", "one", "b"), ("f", "b", "e"), ("b", "d", "a"), ("d", "e", "a")]
    workload = rp.Workload(rp.Domain(SIZES), queries)
    return plan_by_hand(workload, rp.strategies.subtraction_strategy(workload))


def _in_kinds(first: rp.strategies.Basis, second: rp.strategies.Basis) -> rp.Plan:
    queries: list[Mapping[str, Kind]] = [
        {"b": second, "a": first} for first, second in zip(kinds_of(40), reversed(kinds_of(4)), strict=True)
    ]
    queries += [{"a": kind} for kind in kinds_of(40)] + [{"b": kind, "d": rp.Identity()} for kind in kinds_of(4)]
    workload = rp.Workload(rp.Domain(SIZES), queries)
    bases = [subtraction_basis(size) for size in SIZES.values()]
    bases[:2] = first, second
    return plan_by_hand(workload, rp.strategies.constant_strategy(workload.closure, bases))


def _by_set() -> rp.Plan:
    workload = rp.Workload(
        rp.Domain({"a": 40, "b": 4, "c": 3}),
        [{"a": rp.Prefix()}, {"b": rp.Range(), "a": rp.Identity()}, {name: rp.Identity() for name in "abc"}],
    )
    bases = [subtraction_basis(40), weights_of(40), neighbors_of(4), weights_of(4), subtraction_basis(3)]
    bases[0] = neighbors_of(40)
    factors = [(attribute, len(members)) for members in workload.closure for attribute in members]
    codes = [4 if attribute == 2 else 2 * attribute + (order - 1) % 2 for attribute, order in factors]
    count = sum(bases[code].size for code, (_, order) in zip(codes, factors, strict=True) if order > 1 and code < 4)
    return plan_by_hand(
        workload,
        rp.strategies.varying_strategy(
            workload.closure, workload.domain.sizes, bases, np.array(codes), np.zeros(count)
        ),
    )


@cache
def cases() -> dict[str, Measurement]:
    """Noisy answers by what is special about their plan."""
    plans = {
        "marginals": _marginals(),
        "kinds": _in_kinds(subtraction_basis(40), subtraction_basis(4)),
        "kinds, matrix bases": _in_kinds(neighbors_of(40), weights_of(4)),
        "bases by set": _by_set(),
    }
    wide = {name: replace(plan, noise_variances=WIDE * plan.noise_variances) for name, plan in plans.items()}
    found = {f"{name}, {noise}": noisy_answers(plan, noise) for name, plan in plans.items() for noise in NOISES}
    return found | {f"{name}, wide": noisy_answers(plan, "discrete") for name, plan in wide.items()}


@cache
def expected_of(case: str) -> list[Estimates]:
    """What NumPy makes of the answers of a case."""
    return list(estimates_of(rp.reconstruct(cases()[case])))
