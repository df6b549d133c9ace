"""Random small plans whose attributes have other bases in other sets, without a search, and their explicit matrices."""

import math

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import dense
from kinds import kinds_of
from residualplanner.bases import Basis, integer_basis, subtraction_basis
from residualplanner.domain import Domain
from residualplanner.losses import DescribedLoss
from residualplanner.optimize.bases.attribute_grams import attribute_grams
from residualplanner.plan import Plan
from residualplanner.privacy import Neighbors, pcost
from residualplanner.queries import Custom, Hierarchy, Identity, Prefix, Range
from residualplanner.strategy import Strategy, cost_upper_bound, varying_strategy
from residualplanner.workload import Workload
from strategies import NAMES

FAMILY = "optimal_by_set"
#: The condition number, by rows of length 1, up to which random integers are taken.
CONDITION = 30


def sample_workload() -> Workload:
    """Three attributes with values, asked in five kinds, and one of a single value.

    ``a`` is asked its values and intervals of them, ``b`` only groups of its values, so that its bases have two answers
    for four values, ``c`` only values, so that it has the subtraction basis.
    """
    domain = Domain({"a": 4, "b": ["n", "e", "s", "w"], "c": 3, "one": 1})
    groups = Hierarchy([{"cold": ["n"], "warm": ["s"], "mild": ["e", "w"]}], leaves=False)
    queries = [
        {"a": Prefix()},
        {"a": Identity(), "b": groups},
        {"a": Range(), "c": Identity(), "one": Identity()},
        {"a": Identity(), "b": Custom([[1, 1, 1, 1], [2, 0, 1, 0]]), "c": Identity()},
    ]
    return Workload(domain, queries, weights=[2, 1, 1, 3])


def plan_by_set(workload: Workload, seed: int = 0, *, most: int = 3) -> Plan:
    """A plan with random bases, noise and messages; every set costs about 1.

    Args:
        workload: what is asked; attributes of which only single values are asked have the subtraction basis.
        seed: of everything random.
        most: how many bases an attribute has at most; which of them a place has is random.
    """
    rng = np.random.default_rng(seed)
    by_set = bases_by_set(workload, rng, most=most)
    costs = [
        math.prod(float(by_set.bases[code].pcost) for code in row)
        for codes in by_set.numbers()
        for row in codes.tolist()
    ]
    noise = np.array(costs) * rng.lognormal(sigma=0.5, size=len(costs))
    return Plan(
        workload=workload,
        noise_variances=noise,
        budget=pcost(math.ceil(cost_upper_bound(by_set, noise, Neighbors()))),
        loss=DescribedLoss("by hand"),
        loss_value=0.0,
        gap=math.inf,
        status="by hand",
        strategy=by_set,
    )


def bases_by_set(workload: Workload, rng: np.random.Generator, *, most: int = 3) -> Strategy:
    """Random bases for the places of the workload's closure, and random messages."""
    forms, bases, numbers = attribute_grams(workload), [], {}
    for attribute, size in enumerate(workload.domain.sizes):
        if attribute in forms:
            has_all = rng.random() < 0.5  # else equal values are measured together
            group = np.arange(size) if has_all or len(forms[attribute].width) == 1 else forms[attribute].group
            mine = [random_basis(rng, group) for _ in range(rng.integers(1, most, endpoint=True))]
        else:
            mine = [subtraction_basis(size)]
        numbers[attribute] = len(bases) + np.arange(len(mine))
        bases += mine
    closure = workload.closure
    places = [attribute for members in closure for attribute in members]
    of_place = np.array([rng.choice(numbers[attribute]) for attribute in places], dtype=np.int64)
    orders = [len(members) for members in closure for _ in members]
    with_messages = [code for code, order in zip(of_place.tolist(), orders, strict=True) if order > 1]
    count = sum(bases[code].size for code in with_messages if bases[code].matrix is not None)
    return varying_strategy(closure, workload.domain.sizes, bases, of_place, rng.normal(scale=0.2, size=count))


def random_basis(rng: np.random.Generator, group: NDArray[np.int64]) -> Basis:
    """Integers, alike for values of one group, and one answer less than there are groups."""
    groups = int(group.max()) + 1
    while True:
        matrix = rng.integers(-4, 5, (groups - 1, groups))
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        if (
            lengths.all()
            and np.linalg.cond(np.vstack([np.ones(groups) / math.sqrt(groups), matrix / lengths])) < CONDITION
        ):
            return integer_basis(matrix[:, group], FAMILY)


def measured(plan: Plan) -> list[tuple[dense.Matrix, dense.Matrix]]:
    """Of every set of the closure: the rows that are measured, over the whole domain, and the noise's covariance."""
    by_set, sizes, found = plan.strategy, plan.domain.sizes, []
    for members, variance in zip(plan.closure, plan.noise_variances.tolist(), strict=True):
        parts = {i: strategy(by_set.basis(members, i)) for i in members}
        rows = dense.product(parts[i][0] if i in parts else np.ones((1, n)) for i, n in enumerate(sizes))
        found.append((rows, variance * dense.product(parts[i][1] for i in members)))
    return found


def strategy(basis: Basis) -> dense.Measured:
    """What is measured of an attribute, and the covariance of its answers."""
    return dense.by_subtraction(basis.size) if basis.matrix is None else dense.by_whole_numbers(basis.matrix)


def mechanism(plan: Plan) -> tuple[dense.Matrix, dense.Matrix]:
    """All rows stacked, and the covariance of all answers."""
    parts = measured(plan)
    rows = np.vstack([part for part, _ in parts])
    covariance, start = np.zeros((len(rows),) * 2), 0
    for _, block in parts:
        covariance[start : start + len(block), start : start + len(block)] = block
        start += len(block)
    return rows, covariance


def query_rows(plan: Plan, query: object) -> dense.Matrix:
    """The rows of a query, as a workload iterates it, over the whole domain."""
    asked = query if isinstance(query, dict) else dict.fromkeys(query, Identity())
    sizes, names = plan.domain.sizes, plan.domain.names
    return dense.generalized_marginal(
        sizes, {names.index(name): kind.matrix(sizes[names.index(name)]) for name, kind in asked.items()}
    )


def asks_more_than_total(rows: dense.Matrix) -> bool:
    return rows.shape[1] == 1 or bool((np.ptp(rows, axis=1) > 0.01).any())


@st.composite
def workloads_in_kinds(draw: st.DrawFn, *, most_cells: int = 36, most: int = 3, most_queries: int = 4) -> Workload:
    """Queries in any kinds over a small domain, with weights."""
    shape: list[int] = []
    for _ in range(draw(st.integers(1, most))):
        room = most_cells // math.prod(shape)
        shape.append(draw(st.integers(1, min(4, room))))
    queries = []
    for _ in range(draw(st.integers(1, most_queries))):
        members = sorted(draw(st.sets(st.integers(0, len(shape) - 1))))
        asked = {i: draw(kinds_of(shape[i]).filter(lambda found: asks_more_than_total(found[1]))) for i in members}
        queries.append({NAMES[i]: kind for i, (kind, _) in asked.items()})
    weights = draw(st.lists(st.floats(0.1, 10), min_size=len(queries), max_size=len(queries)))
    return Workload(Domain(dict(zip(NAMES, shape, strict=False))), queries, weights=weights)


@st.composite
def plans_by_set(draw: st.DrawFn, *, most_cells: int = 36, most_bases: int = 3) -> Plan:
    """Random plans with bases by set."""
    workload = draw(workloads_in_kinds(most_cells=most_cells))
    return plan_by_set(workload, draw(st.integers(0, 10**6)), most=most_bases)
