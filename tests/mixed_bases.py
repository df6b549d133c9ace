"""Random small plans whose attributes have bases of every sort, and their mechanisms by explicit matrices.

A basis is a matrix of integers, or None for the subtraction basis.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dense import Matrix, Members, product, subsets, subtraction
from residualplanner.bases import Basis, integer_basis, subtraction_basis
from residualplanner.domain import Domain
from residualplanner.losses import DescribedLoss
from residualplanner.plan import Plan
from residualplanner.privacy import pcost
from residualplanner.queries import Custom, Identity, Kind
from residualplanner.strategy import constant_strategy
from residualplanner.workload import Workload
from strategies import NAMES, sizes

MaybeMatrix = NDArray[np.int64] | None


IDENTITY = Identity()


@dataclass(frozen=True, eq=False)
class MixedCase:
    """A plan whose attributes have given bases, with any noise; what is asked of an attribute, its basis spans.

    Attributes:
        sizes: of the attributes.
        matrices: for each attribute its basis.
        queries: attribute positions, ascending, each with the kinds asked of them.
        seed: of the noise variances.
    """

    sizes: tuple[int, ...]
    matrices: tuple[MaybeMatrix, ...]
    queries: tuple[tuple[Members, tuple[Kind, ...]], ...]
    seed: int = 0
    plan: Plan = field(init=False)

    def __post_init__(self) -> None:
        domain = Domain(dict(zip(NAMES, self.sizes, strict=False)))
        workload = Workload(domain, [query_of(members, kinds) for members, kinds in self.queries])
        count = len(workload.closure)
        plan = Plan(
            workload=workload,
            noise_variances=np.random.default_rng(self.seed).uniform(0.5, 2.0, count),
            budget=pcost("1e300"),
            loss=DescribedLoss("none"),
            loss_value=0.0,
            gap=0.0,
            status="given",
            strategy=constant_strategy(workload.closure, list(map(basis_of, self.sizes, self.matrices))),
        )
        object.__setattr__(self, "plan", plan)


def query_of(members: Members, kinds: Sequence[Kind]) -> dict[str, Kind]:
    """A query as users write it."""
    return {NAMES[i]: kind for i, kind in zip(members, kinds, strict=True)}


def basis_of(size: int, matrix: MaybeMatrix) -> Basis:
    return subtraction_basis(size) if matrix is None else integer_basis(matrix, "given")


def strategy(size: int, matrix: MaybeMatrix) -> Matrix:
    """What is measured of one attribute, S of eq. (24)."""
    return subtraction(size) if matrix is None else matrix.astype(float)


def noise_factor(size: int, matrix: MaybeMatrix) -> Matrix:
    """What the noise of one attribute is multiplied by: Sub, or the identity of eq. (26)."""
    return subtraction(size) if matrix is None else np.eye(len(matrix))


def measured_rows(case: MixedCase, members: Members) -> Matrix:
    """The rows that base mechanism A measures, over the whole domain."""
    return product(
        strategy(n, B) if i in members else np.ones((1, n))
        for i, (n, B) in enumerate(zip(case.sizes, case.matrices, strict=True))
    )


def answer_covariance(case: MixedCase, members: Members) -> Matrix:
    """The covariance of A's answers at unit noise variance."""
    factors = [noise_factor(case.sizes[i], case.matrices[i]) for i in members]
    return product(factor @ factor.T for factor in factors)


def query_rows(case: MixedCase, members: Members, kinds: Sequence[Kind]) -> Matrix:
    """The rows of a query over the whole domain."""
    asked = dict(zip(members, kinds, strict=True))
    return product(asked[i].matrix(n) if i in asked else np.ones((1, n)) for i, n in enumerate(case.sizes))


def rebuilt(case: MixedCase, members: Members, kinds: Sequence[Kind], answers: Mapping[Members, Matrix]) -> Matrix:
    """The table of eq. (25), set by set, flat."""
    total = np.zeros(math.prod(kind.rows(case.sizes[i]) for i, kind in zip(members, kinds, strict=True)))
    for part in subsets(members):
        if all(case.sizes[i] > 1 for i in part):
            factors = []
            for i, kind in zip(members, kinds, strict=True):
                n = case.sizes[i]
                back = (
                    np.ones((1, 1))
                    if n == 1
                    else np.linalg.pinv(np.vstack([np.ones(n), strategy(n, case.matrices[i])]))
                )
                factors.append(kind.matrix(n) @ (back[:, 1:] if i in part else back[:, :1]))
            total += product(factors) @ answers[part]
    return total


def table_covariance(case: MixedCase, members: Members, kinds: Sequence[Kind]) -> Matrix:
    """The covariance of a table, column by column of the unit noise of every set: by linearity of `rebuilt`."""
    noise = dict(zip(case.plan.closure, case.plan.noise_variances.tolist(), strict=True))
    zero = {part: np.zeros(len(answer_covariance(case, part))) for part in noise}
    total = 0.0
    for part, variance in noise.items():
        if set(part) <= set(members):
            unit = np.eye(len(zero[part]))
            columns = np.array([rebuilt(case, members, kinds, zero | {part: row}) for row in unit]).T
            total = total + variance * columns @ answer_covariance(case, part) @ columns.T
    return np.asarray(total)


def random_matrix(size: int, rows: int, seed: int, *, most: int = 9, is_basis: bool = True) -> NDArray[np.int64]:
    """Integers whose rows, with a row of ones where they are a basis, are far from dependent."""
    chance, ones = np.random.default_rng(seed), np.ones((1 if is_basis else 0, size))
    while True:
        B = chance.integers(-most, most, (rows, size), endpoint=True)
        if np.linalg.cond(np.vstack([ones, B / max(1, np.abs(B).max())])) < 100:
            return B


def random_kind(size: int, matrix: MaybeMatrix, seed: int) -> Custom:
    """A kind whose rows are combinations of what is measured and the total, two of them these themselves."""
    chance = np.random.default_rng(seed)
    T = np.vstack([np.ones(size), strategy(size, matrix)])
    rows = np.vstack([T[:2], chance.integers(-3, 4, (chance.integers(0, 2 * size), len(T))) @ T])
    return Custom(rows[np.abs(rows).max(axis=1) > 0])


@st.composite
def mixed_cases(draw: st.DrawFn, *, most_cells: int = 64, smallest: int = 1, most_queries: int = 4) -> MixedCase:
    """Random bases, some with fewer than n-1 rows, some equal; random queries of kinds that they span."""
    shape = draw(sizes(most_cells=most_cells, smallest=smallest))
    seeds = st.integers(0, 50)
    matrices: list[MaybeMatrix] = []
    for n in shape:
        rows = draw(st.none() | st.integers(1, n - 1)) if n > 1 else None
        matrices.append(None if rows is None else random_matrix(n, rows, draw(seeds)))
    queries = []
    for _ in range(draw(st.integers(1, most_queries))):
        members = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1)))))
        kinds = []
        for i in members:
            is_full = matrices[i] is None or len(matrices[i]) == shape[i] - 1
            other = random_kind(shape[i], matrices[i], draw(seeds))
            kinds.append(draw(st.sampled_from([IDENTITY, other] if is_full else [other])))
        queries.append((members, tuple(kinds)))
    return MixedCase(shape, tuple(matrices), tuple(queries), draw(seeds))
