"""Random small problems whose attributes have bases and kinds of query of any sort, given as matrices."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

import dense
from residualplanner.bases import Basis, integer_basis, subtraction_basis
from residualplanner.domain import Domain
from residualplanner.losses import DescribedLoss
from residualplanner.plan import Plan
from residualplanner.privacy import Neighbors, pcost
from residualplanner.queries import Identity, Prefix, Range
from residualplanner.queries.kind import Centered, bordered
from residualplanner.strategy import constant_strategy
from residualplanner.workload import Workload
from strategies import NAMES

ADD_REMOVE = Neighbors()


@dataclass(frozen=True)
class MatrixKind:
    """A kind of query written as its basic matrix, everything computed from it by definition."""

    entries: tuple[tuple[float, ...], ...]
    name: str = "matrix"

    @property
    def W(self):
        return np.array(self.entries)

    def require_fit(self, attribute):
        assert attribute.size == self.W.shape[1]

    def rows(self, size):
        return len(self.entries)

    def matrix(self, size):
        return self.W

    def gram(self, size):
        return self.W.T @ self.W

    def weighted_gram(self, weights, size):
        return self.W.T @ np.diag(weights) @ self.W

    def augmented_gram(self, size, weights=None):
        return bordered(self.gram(size) if weights is None else self.weighted_gram(weights, size))

    def centered(self, size):
        return Centered(self, np.zeros(1))

    def equal_columns(self, size):
        _, first, number = np.unique(self.W, axis=1, return_index=True, return_inverse=True)
        return first[number.ravel()]

    def apply(self, array, axis):
        return np.moveaxis(np.tensordot(self.W, array, axes=(1, axis)), 0, axis)

    def row_forms(self, form):
        return np.diag(self.W @ form @ self.W.T).copy()

    def labels(self, attribute):
        return tuple(range(len(self.entries)))


def kind_of(matrix) -> MatrixKind:
    return MatrixKind(tuple(map(tuple, np.array(matrix, dtype=float).tolist())))


@dataclass(frozen=True, eq=False)
class General:
    """A workload of generalized marginals and the bases of its attributes; queries map positions to kinds."""

    sizes: tuple[int, ...]
    bases: tuple[Basis, ...]
    queries: tuple[dict[int, object], ...]

    @property
    def domain(self) -> Domain:
        return Domain(dict(zip(NAMES, self.sizes, strict=False)))

    @property
    def workload(self) -> Workload:
        return Workload(self.domain, [self.named(query) for query in self.queries])

    @property
    def measured(self) -> list[dense.Measured]:
        return [
            dense.by_subtraction(basis.size) if basis.matrix is None else dense.by_whole_numbers(basis.matrix)
            for basis in self.bases
        ]

    @property
    def given(self) -> dict[str, Basis]:
        return dict(zip(NAMES, self.bases, strict=False))

    def named(self, query: dict[int, object]) -> dict[str, object]:
        return {NAMES[i]: kind for i, kind in query.items()}

    def matrix(self, query: dict[str, object]) -> np.ndarray:
        """The rows of a query over the whole domain, from the matrices of its kinds."""
        asked = {NAMES.index(name): kind.matrix(self.sizes[NAMES.index(name)]) for name, kind in query.items()}
        return dense.generalized_marginal(self.sizes, asked)

    def plan(self, seed: int, neighbors: Neighbors = ADD_REMOVE) -> Plan:
        """A plan with random noise."""
        workload = self.workload
        return Plan(
            workload=workload,
            noise_variances=np.random.default_rng(seed).lognormal(size=len(workload.closure)),
            budget=pcost("1e300"),
            loss=DescribedLoss("by hand"),
            loss_value=0.0,
            gap=math.inf,
            status="by hand",
            neighbors=neighbors,
            strategy=constant_strategy(workload.closure, self.bases),
        )

    def mechanism(self, plan: Plan) -> tuple[np.ndarray, np.ndarray]:
        noise = dict(zip(plan.closure, plan.noise_variances.tolist(), strict=True))
        return dense.whole_mechanism(self.measured, noise)


def as_mapping(query: object) -> dict[str, object]:
    """A query as a workload iterates it, as a mapping from names to kinds."""
    return dict(query) if isinstance(query, dict) else dict.fromkeys(query, Identity())


def require_summaries(plan: Plan, cells: list[np.ndarray], rtol: float) -> None:
    """What a plan tells of all its tables is what the variances of each table's ``cells`` say."""
    every = np.concatenate(cells)
    np.testing.assert_allclose(plan.average_variances, [found.mean() for found in cells], rtol=rtol)
    np.testing.assert_allclose(plan.max_variances, [found.max() for found in cells], rtol=rtol)
    np.testing.assert_allclose(plan.max_variance, every.max(), rtol=rtol)
    np.testing.assert_allclose(plan.rmse, math.sqrt(every.mean()), rtol=rtol)
    table = plan.errors()
    np.testing.assert_allclose(table["std_err"], [math.sqrt(found.mean()) for found in cells], rtol=rtol)
    np.testing.assert_allclose(table["max_std_err"], [math.sqrt(found.max()) for found in cells], rtol=rtol)
    mean = [math.sqrt(2 / math.pi) * np.sqrt(np.maximum(found, 0)).mean() for found in cells]
    np.testing.assert_allclose(table["expected_abs_error"], mean, rtol=1e-6)
    np.testing.assert_array_equal(table["cells"], [len(found) for found in cells])
    np.testing.assert_allclose(table["privacy_share"].sum(), 1)


def small_matrix(data_draw, rows: int, columns: int, largest: int) -> np.ndarray:
    entry = st.integers(-largest, largest)
    row = st.lists(entry, min_size=columns, max_size=columns)
    return np.array(data_draw(st.lists(row, min_size=rows, max_size=rows)))


@st.composite
def bases_of(draw: st.DrawFn, size: int, *, subtraction: bool = True) -> Basis:
    """The subtraction basis, or integers that are well conditioned, sometimes fewer rows than size - 1."""
    if size == 1 or (subtraction and draw(st.booleans())):
        return subtraction_basis(size)
    rows = draw(st.sampled_from([size - 1, size - 1, max(1, size - 2)]))
    seed = draw(st.integers(0, 10**6))
    for attempt in range(100):
        matrix = np.random.default_rng([seed, attempt]).integers(-4, 5, (rows, size))
        stacked = np.vstack([np.ones(size), matrix])
        if np.linalg.matrix_rank(stacked) == rows + 1 and np.linalg.cond(stacked) < 40:
            return integer_basis(matrix, "given")
    raise AssertionError("no basis found")


@st.composite
def kinds_of(draw: st.DrawFn, basis: Basis) -> object:
    """A kind by name or a random matrix, with rows that the basis spans and a row of ones among their combinations."""
    full = basis.answers == basis.size - 1
    if full:
        kind = draw(st.sampled_from([Identity(), Prefix(), Range(), None]))
        if kind is not None:
            return kind
    seed, rows = draw(st.integers(0, 10**6)), draw(st.integers(1, 4))
    rng = np.random.default_rng(seed)
    if full:
        free = rng.integers(-2, 3, (rows, basis.size)).astype(float)
    else:
        free = rng.integers(-2, 3, (rows, basis.answers + 1)) @ np.vstack([np.ones(basis.size), basis.matrix])
    return kind_of(rng.permutation(np.vstack([free, np.ones(basis.size)])))


@st.composite
def general_cases(
    draw: st.DrawFn, *, most_cells: int = 24, smallest: int = 1, subtraction: bool = True, most_queries: int = 4
) -> General:
    """Random queries in random kinds over a random small domain with random bases."""
    shape: list[int] = []
    for _ in range(draw(st.integers(1, 3))):
        room = most_cells // math.prod(shape)
        if room < max(smallest, 1):
            break
        shape.append(draw(st.integers(smallest, min(4, room))))
    bases = tuple(draw(bases_of(size, subtraction=subtraction)) for size in shape)
    queries = []
    for _ in range(draw(st.integers(1, most_queries))):
        members = draw(st.sets(st.integers(0, len(shape) - 1)))
        queries.append({i: draw(kinds_of(bases[i])) for i in sorted(members)})
    return General(tuple(shape), bases, tuple(queries))
