"""Random small domains, workloads and plans, for laws."""

import math
from dataclasses import dataclass

from hypothesis import strategies as st

from dense import Members
from residualplanner import Domain, Plan, Workload

NAMES = "abcdefgh"


@dataclass(frozen=True)
class Case:
    """A small planning problem, as positions for dense matrices and as names for the package."""

    sizes: tuple[int, ...]
    queries: tuple[Members, ...]
    weights: tuple[float, ...] | None

    @property
    def domain(self) -> Domain:
        return Domain(dict(zip(NAMES, self.sizes, strict=False)))

    @property
    def named(self) -> list[tuple[str, ...]]:
        return [names_of(members) for members in self.queries]

    @property
    def workload(self) -> Workload:
        return Workload(self.domain, self.named, weights=self.weights)

    @property
    def distinct(self) -> list[Members]:
        """The queries in the order of iteration of a workload: by order, then by position."""
        return sorted({tuple(sorted(members)) for members in self.queries}, key=lambda row: (len(row), row))

    @property
    def written(self) -> list[Members]:
        """The same in the order in which each is written, the last one where there are several."""
        return [max(found for found in self.queries if tuple(sorted(found)) == members) for members in self.distinct]

    @property
    def distinct_weights(self) -> list[float]:
        """The largest weight given to each of ``distinct``."""
        weights = self.weights or (1.0,) * len(self.queries)
        given = [(tuple(sorted(members)), weight) for members, weight in zip(self.queries, weights, strict=True)]
        return [max(weight for found, weight in given if found == members) for members in self.distinct]


def names_of(members: Members) -> tuple[str, ...]:
    """Positions as names, in the order given."""
    return tuple(NAMES[i] for i in members)


def positions_of(query: object) -> Members:
    """A query as a workload iterates it, as positions."""
    return tuple(NAMES.index(name) for name in query)


def noise_of(plan: Plan) -> dict[Members, float]:
    """A plan's noise variances as dense matrices need them."""
    return dict(zip(plan.closure, plan.noise_variances.tolist(), strict=True))


@st.composite
def sizes(draw: st.DrawFn, *, most_cells: int = 64, smallest: int = 1) -> tuple[int, ...]:
    """Sizes of one to four attributes with at most ``most_cells`` cells in all."""
    found: list[int] = []
    for _ in range(draw(st.integers(1, 4))):
        room = most_cells // math.prod(found)
        if room < smallest:
            break
        found.append(draw(st.integers(smallest, min(5, room))))
    return tuple(found)


@st.composite
def cases(
    draw: st.DrawFn, *, most_cells: int = 64, smallest: int = 1, weighted: bool = True, most_queries: int = 6
) -> Case:
    """Random queries, in any order, with repetitions, over a random small domain."""
    shape = draw(sizes(most_cells=most_cells, smallest=smallest))
    query = st.lists(st.integers(0, len(shape) - 1), unique=True).map(tuple)
    queries = draw(st.lists(query, min_size=1, max_size=most_queries))
    weight = st.floats(0.01, 100)
    weights = st.lists(weight, min_size=len(queries), max_size=len(queries)).map(tuple)
    return Case(shape, tuple(queries), draw(st.none() | weights) if weighted else None)
