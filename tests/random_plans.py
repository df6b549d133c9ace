"""Random small plans with bases of every sort, made without a search, and what they measure by explicit matrices.

A plan's attributes have a basis each, or different bases in different sets; the functions take either.  Where a basis
is described by a matrix of integers, None stands for the subtraction basis.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from hypothesis import strategies as st

import dense
import residualplanner as rp
from inner_parts import costs as costs_part
from kinds import kinds_of
from residualplanner import Custom, Domain, Hierarchy, Identity, Plan, Prefix, Range, Workload, pcost, select
from residualplanner.method.bases.matrix import integer_basis
from residualplanner.method.bases.subtraction import subtraction_basis
from residualplanner.method.queries.kind import PlainRows
from residualplanner.more.searches.attribute_grams import attribute_grams, plain_grams
from strategies import NAMES, cases, names_of, noise_of, sizes

FAMILY = "optimal_by_set"
IDENTITY = Identity()
#: The condition number, by rows of length 1, up to which random integers are taken.
CONDITION = 30


# What is measured and answered.


def as_mapping(query):
    """A query as a workload iterates it, as a mapping from names to kinds."""
    return dict(query) if isinstance(query, dict) else dict.fromkeys(query, IDENTITY)


def parts_of(workload):
    """All queries of a workload, and all that follow from them with the same kinds on fewer attributes."""
    for query in map(as_mapping, workload):
        for part in dense.subsets(range(len(query))):
            yield {name: query[name] for number, name in enumerate(query) if number in part}


def query_rows(plan, query):
    """The rows of a query over the whole domain."""
    shape, names = plan.domain.sizes, plan.domain.names
    kinds = {names.index(name): kind for name, kind in as_mapping(query).items()}
    return dense.generalized_marginal(shape, {i: kind.matrix(shape[i]) for i, kind in kinds.items()})


def measured_of(basis):
    """What is measured of an attribute, S of eq. (24), and the covariance of its answers."""
    return dense.by_subtraction(basis.size) if basis.matrix is None else dense.by_integers(basis.matrix)


def base_mechanism(plan, members):
    """The rows that are measured for a set, over the whole domain, and the covariance of its noise at unit variance."""
    measured = [
        measured_of(plan.strategy.basis(members, i)) if i in members else dense.by_subtraction(size)
        for i, size in enumerate(plan.domain.sizes)
    ]
    return dense.base_mechanism(measured, members)


def base_mechanisms(plan):
    """The same of every set of the closure, with the covariance of its noise."""
    parts = ((*base_mechanism(plan, members), variance) for members, variance in noise_of(plan).items())
    return [(rows, variance * covariance) for rows, covariance, variance in parts]


@lru_cache(maxsize=1)  # one table after another is compared with the same plan
def mechanism(plan):
    """All rows stacked, and the covariance of all answers."""
    return dense.stacked(base_mechanisms(plan))


def table_covariance(plan, query):
    """The covariance of the least squares table of a query from all answers."""
    return dense.least_squares_covariance(*mechanism(plan), query_rows(plan, query))


# Plans.


def planned(**options):
    """Plans that `select` makes for random tables in domain order, with subtraction bases."""

    def plan(case):
        queries = [names_of(members) for members in case.distinct]
        return select(Workload(case.domain, queries, weights=case.distinct_weights), budget=pcost(1))

    return cases(**options).map(plan)


def plan_by_hand(workload, strategy, noise_variances, **told):
    """A plan that nobody searched for, of any cost unless it is told a budget."""
    about = {"budget": pcost("1e300"), "loss": rp.losses.DescribedLoss("by hand")}
    about |= {"loss_value": 0.0, "gap": math.inf, "status": "by hand"}
    return Plan(workload=workload, noise_variances=noise_variances, strategy=strategy, **{**about, **told})


def basis_of(size, matrix):
    return subtraction_basis(size) if matrix is None else integer_basis(matrix, "given")


def plan_of(shape, matrices, queries, seed=0, **told):
    """A plan whose attributes a, b, c, .. have given bases, with any noise."""
    workload = Workload(Domain(dict(zip(NAMES, shape, strict=False))), queries)
    strategy = rp.strategies.constant_strategy(workload.closure, list(map(basis_of, shape, matrices)))
    noise = np.random.default_rng(seed).lognormal(sigma=0.7, size=len(workload.closure))
    return plan_by_hand(workload, strategy, noise, **told)


def random_matrix(size, rows, seed, *, most=9, is_basis=True):
    """Integers whose rows, with a row of ones where they are a basis, are far from dependent."""
    chance, ones = np.random.default_rng(seed), np.ones((1 if is_basis else 0, size))
    while True:
        B = chance.integers(-most, most, (rows, size), endpoint=True)
        if np.linalg.cond(np.vstack([ones, B / max(1, np.abs(B).max())])) < 100:
            return B


def random_kind(size, matrix, seed, kind=Custom):
    """A kind whose rows are combinations of what is measured and the total, two of them these themselves."""
    chance = np.random.default_rng(seed)
    T = np.vstack([np.ones(size), dense.subtraction(size) if matrix is None else matrix])
    rows = np.vstack([T[:2], chance.integers(-3, 4, (chance.integers(0, 2 * size), len(T))) @ T])
    return kind(rows[np.abs(rows).max(axis=1) > 0])


@dataclass(frozen=True)
class MatrixKind(PlainRows):
    """A kind that is not of the package, written as its basic matrix, everything computed from it by definition."""

    name = "matrix"

    entries: tuple[tuple[float, ...], ...]

    @property
    def W(self):
        return np.array(self.entries)

    def rows(self, size):
        return len(self.entries)

    def matrix(self, size):
        return self.W

    def weighted_gram(self, weights, size):
        return self.W.T @ np.diag(weights) @ self.W

    def equal_columns(self, size):
        _, first, number = np.unique(self.W, axis=1, return_index=True, return_inverse=True)
        return first[number.ravel()]

    def apply(self, array, axis):
        return np.moveaxis(np.tensordot(self.W, array, axes=(1, axis)), 0, axis)

    def row_forms(self, form):
        return np.diag(self.W @ form @ self.W.T).copy()

    def labels(self, attribute):
        return tuple(range(len(self.entries)))


def kind_of(matrix):
    return MatrixKind(tuple(map(tuple, np.array(matrix, dtype=float).tolist())))


@st.composite
def plans(draw, *, most_cells=64, smallest=1, most_queries=4, kind=Custom):
    """Random bases, some with fewer than n-1 answers, some equal; random queries in kinds that they span."""
    shape = draw(sizes(most_cells=most_cells, smallest=smallest))
    seeds = st.integers(0, 50)
    matrices = []
    for n in shape:
        rows = draw(st.none() | st.just(n - 1) | st.integers(1, n - 1)) if n > 1 else None
        matrices.append(None if rows is None else random_matrix(n, rows, draw(seeds)))
    queries = []
    for _ in range(draw(st.integers(1, most_queries))):
        members = sorted(draw(st.sets(st.integers(0, len(shape) - 1))))
        queries.append({NAMES[i]: draw(spanned_kinds(basis_of(shape[i], matrices[i]), kind)) for i in members})
    return plan_of(shape, matrices, queries, draw(seeds))


@st.composite
def spanned_kinds(draw, basis, kind=Custom):
    """A kind that follows from a basis: by name, or random combinations of its answers."""
    other = random_kind(basis.size, basis.matrix, draw(st.integers(0, 50)), kind)
    is_full = basis.answers == basis.size - 1
    return draw(st.sampled_from([other, IDENTITY, Prefix(), Range()] if is_full else [other]))


def sample_workload():
    """Three attributes of several values, queried in five kinds, and one of a single value.

    Of ``a`` there are values and intervals, of ``b`` only groups of values, so that its bases have two answers for four
    values, of ``c`` only values, so that it has the subtraction basis.
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


def plan_by_set(workload, seed=0, *, most=3):
    """A plan with random bases, noise and messages; every set costs about 1.

    An attribute has up to ``most`` bases, and one, by subtraction, where it is queried for single values only.
    """
    rng = np.random.default_rng(seed)
    by_set = bases_by_set(workload, rng, most=most)
    rows = [row for codes in by_set.numbers() for row in codes.tolist()]
    costs = [math.prod(float(by_set.bases[code].pcost) for code in row) for row in rows]
    noise = np.array(costs) * rng.lognormal(sigma=0.5, size=len(costs))
    cost = math.ceil(costs_part.cost_upper_bound(by_set, noise, rp.privacy.Neighbors()))
    return plan_by_hand(workload, by_set, noise, budget=pcost(cost))


def bases_by_set(workload, rng, *, most=3):
    """Random bases for the attributes of every set of the workload's closure, and random messages."""
    forms, bases, numbers = attribute_grams(workload, plain_grams), [], {}
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
    factors = [attribute for members in closure for attribute in members]
    of_factor = np.array([rng.choice(numbers[attribute]) for attribute in factors], dtype=np.int64)
    orders = [len(members) for members in closure for _ in members]
    with_messages = [code for code, order in zip(of_factor.tolist(), orders, strict=True) if order > 1]
    count = sum(bases[code].size for code in with_messages if bases[code].matrix is not None)
    messages = rng.normal(scale=0.2, size=count)
    return rp.strategies.varying_strategy(closure, workload.domain.sizes, bases, of_factor, messages)


def random_basis(rng, group):
    """Integers, equal for values of one group, and one answer less than there are groups."""
    groups = int(group.max()) + 1
    while True:
        matrix = rng.integers(-4, 5, (groups - 1, groups))
        lengths, ones = np.linalg.norm(matrix, axis=1, keepdims=True), np.ones(groups) / math.sqrt(groups)
        if lengths.all() and np.linalg.cond(np.vstack([ones, matrix / lengths])) < CONDITION:
            return integer_basis(matrix[:, group], FAMILY)


def tells_more_than_total(rows):
    return rows.shape[1] == 1 or bool((np.ptp(rows, axis=1) > 0.01).any())


@st.composite
def workloads_in_kinds(draw, *, most_cells=36, most=3, most_queries=4):
    """Queries in any kinds over a small domain, with weights."""
    shape = []
    for _ in range(draw(st.integers(1, most))):
        room = most_cells // math.prod(shape)
        shape.append(draw(st.integers(1, min(4, room))))
    queries = []
    for _ in range(draw(st.integers(1, most_queries))):
        members = sorted(draw(st.sets(st.integers(0, len(shape) - 1))))
        kinds = {i: draw(kinds_of(shape[i]).filter(lambda found: tells_more_than_total(found[1]))) for i in members}
        queries.append({NAMES[i]: kind for i, (kind, _) in kinds.items()})
    weights = draw(st.lists(st.floats(0.1, 10), min_size=len(queries), max_size=len(queries)))
    return Workload(Domain(dict(zip(NAMES, shape, strict=False))), queries, weights=weights)


@st.composite
def plans_by_set(draw, *, most_cells=36, most_bases=3):
    """Random plans with bases by set."""
    workload = draw(workloads_in_kinds(most_cells=most_cells))
    return plan_by_set(workload, draw(st.integers(0, 10**6)), most=most_bases)


def messages_of_factor(strategy, members, attribute):
    """The messages of a varying attribute in a set of two attributes or more, one for each value; else none."""
    if not strategy.varying[attribute]:
        return strategy.messages[:0]
    first = int(strategy.varying_starts[strategy.closure.position_of(members)])
    return strategy.messages_at(first + [i for i in members if strategy.varying[i]].index(attribute))
