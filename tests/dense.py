"""The definitions of the mathematics with explicit matrices, slow on purpose and free of the package.

A domain is a tuple of sizes, an attribute set a tuple of positions in ascending order.  Equation numbers are those of
the mathematics page.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

Matrix = NDArray[np.float64]
Sizes = Sequence[int]
Members = tuple[int, ...]


def product(factors: Iterable[Matrix]) -> Matrix:
    """The Kronecker product of matrices from left to right; of none, the 1 x 1 identity."""
    return reduce(np.kron, factors, np.ones((1, 1)))


def marginal(sizes: Sizes, members: Members) -> Matrix:
    """Q_A over the whole domain, eq. (1)."""
    return product(np.eye(n) if i in members else np.ones((1, n)) for i, n in enumerate(sizes))


def matches(sizes: Sizes) -> NDArray[np.int64]:
    """In how many attributes each cell of a table (rows) and each kind of record (columns) are the same."""
    cells = np.array(list(np.ndindex(*sizes)), dtype=np.int64).reshape(-1, len(sizes))
    return (cells[:, None] == cells[None]).sum(axis=2)


def threshold(sizes: Sizes, members: Members, at_least: int) -> Matrix:
    """The answers of an r-of-k threshold over the whole domain, one for each cell of its attributes' table."""
    own = tuple(sizes[i] for i in members)
    return (matches(own) >= at_least).astype(float) @ marginal(sizes, members)


def counts(sizes: Sizes, codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many records each cell of the domain has, from a row of codes a record."""
    found = np.zeros(sizes, dtype=np.int64)
    np.add.at(found, tuple(np.asarray(codes).T), 1)
    return found


def transposition(shape: Sizes, axes: Sequence[int]) -> Matrix:
    """What turns the cells of a table in C order into those of the table with its axes transposed, in C order."""
    cells = math.prod(shape)
    return np.eye(cells).reshape(*shape, cells).transpose(*axes, len(axes)).reshape(cells, cells)


def subtraction(size: int) -> Matrix:
    """Sub_m, (m-1, m): a first column of ones, and -1 at (j, j+1)."""
    return np.hstack([np.ones((size - 1, 1)), -np.eye(size - 1)])


def subtraction_inverse(size: int) -> Matrix:
    """The pseudo-inverse of Sub_m as written in eq. (9), (m, m-1)."""
    one = np.ones((size - 1, 1))
    return np.vstack([one.T, one @ one.T - size * np.eye(size - 1)]) / size


def residual(sizes: Sizes, members: Members) -> Matrix:
    """R_A over the whole domain, eq. (5)."""
    return product(subtraction(n) if i in members else np.ones((1, n)) for i, n in enumerate(sizes))


def residual_covariance(sizes: Sizes, members: Members) -> Matrix:
    """Sigma_A, eq. (5)."""
    return product(subtraction(sizes[i]) @ subtraction(sizes[i]).T for i in members)


def subsets(members: Iterable[int]) -> list[Members]:
    """All subsets, smallest first."""
    pool = sorted(members)
    return [chosen for order in range(len(pool) + 1) for chosen in itertools.combinations(pool, order)]


def closure(queries: Iterable[Iterable[int]]) -> list[Members]:
    """All subsets of all queries, each once, by order and then lexicographically."""
    found = {chosen for members in queries for chosen in subsets(members)}
    return sorted(found, key=lambda members: (len(members), members))


#: What is measured of one attribute: a residual matrix S (m, n), and the covariance of its answers (m, m).
Measured = tuple[Matrix, Matrix]


def by_subtraction(size: int) -> Measured:
    """The subtraction matrix with its own noise, section 2."""
    return subtraction(size), subtraction(size) @ subtraction(size).T


def by_integers(matrix: Matrix) -> Measured:
    """Any matrix, with independent noise, section 5."""
    return np.array(matrix, dtype=float), np.eye(len(matrix))


def base_mechanism(measured: Sequence[Measured], members: Members) -> tuple[Matrix, Matrix]:
    """R_A over the whole domain and Sigma_A for attributes measured in any way, sections 4 and 5."""
    rows = product(S if i in members else np.ones((1, S.shape[1])) for i, (S, _) in enumerate(measured))
    return rows, product(measured[i][1] for i in members)


def stacked(mechanisms: Iterable[tuple[Matrix, Matrix]]) -> tuple[Matrix, Matrix]:
    """B and Sigma of several mechanisms with independent noise."""
    rows, covariances = zip(*mechanisms, strict=True)
    return np.vstack(rows), block_diag(*covariances)


def mechanism(sizes: Sizes, noise: Mapping[Members, float]) -> tuple[Matrix, Matrix]:
    """B and Sigma of all base mechanisms of plain marginals stacked, one for each set of ``noise``, eq. (6)."""
    sets = noise.items()
    return stacked((residual(sizes, A), variance * residual_covariance(sizes, A)) for A, variance in sets)


def generalized_marginal(sizes: Sizes, kinds: Mapping[int, Matrix]) -> Matrix:
    """The query with a basic matrix for each of some attributes, section 4."""
    return product(kinds[i] if i in kinds else np.ones((1, n)) for i, n in enumerate(sizes))


def pair_costs(queries: Matrix, covariance: Matrix) -> Matrix:
    """(e_r - e_s)' B' Sigma^-1 B (e_r - e_s) for all pairs of cells, (cells, cells)."""
    cells = queries.shape[1]
    steps = (queries[:, :, None] - queries[:, None, :]).reshape(len(queries), -1)  # 0 for a public total
    return (steps * np.linalg.solve(covariance, steps)).sum(axis=0).reshape(cells, cells)


def privacy_cost(queries: Matrix, covariance: Matrix) -> float:
    """The largest diagonal entry of B' Sigma^-1 B, eq. (2)."""
    return float(np.diag(queries.T @ np.linalg.solve(covariance, queries)).max())


def replacement_costs(sizes: Sizes, members: Members) -> Matrix:
    """(e_r - e_s)' B' Sigma^-1 B (e_r - e_s) for all pairs of cells, (cells, cells), at unit noise."""
    return pair_costs(residual(sizes, members), residual_covariance(sizes, members))


def exact_replacement_cost(sizes: Sizes, noise: Mapping[Members, float]) -> Fraction:
    """The largest cost of replacing the first cell's record by another cell's, in exact arithmetic."""
    return max(
        sum(
            (2 * (_entry(sizes, members, (0,) * len(sizes)) - _entry(sizes, members, cell)) / Fraction(variance))
            for members, variance in noise.items()
        )
        for cell in itertools.product(*map(range, sizes))
    )


def _entry(sizes: Sizes, members: Members, cell: Members) -> Fraction:
    """The entry of the projection of ``members``, Kronecker factors I - 11'/n, at the first cell and ``cell``."""
    return math.prod((Fraction(int(cell[i] == 0)) - Fraction(1, sizes[i]) for i in members), start=Fraction(1))


def least_squares(queries: Matrix, covariance: Matrix, wanted: Matrix) -> Matrix:
    """The linear map from noisy answers to the generalized least squares estimate of ``wanted`` times the data."""
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    return wanted @ np.linalg.pinv(whiten @ queries, rcond=1e-11) @ whiten


def least_squares_covariance(queries: Matrix, covariance: Matrix, wanted: Matrix) -> Matrix:
    """The covariance of that estimate."""
    estimator = least_squares(queries, covariance, wanted)
    return estimator @ covariance @ estimator.T


def reconstruction(sizes: Sizes, members: Members, part: Members) -> Matrix:
    """The matrix that eq. (10) applies to the residual answers of ``part``."""
    return product(
        subtraction_inverse(sizes[i]) if i in part else np.full((sizes[i], 1), 1 / sizes[i]) for i in members
    )


def covariance_share(sizes: Sizes, members: Members, part: Members) -> Matrix:
    """What eq. (12) multiplies by the noise variance of ``part`` in the covariance of the marginal on ``members``."""
    factors = []
    for i in members:
        mean = np.ones((sizes[i], sizes[i])) / sizes[i]
        factors.append(np.eye(sizes[i]) - mean if i in part else mean / sizes[i])
    return product(factors)


def marginal_covariance(sizes: Sizes, members: Members, noise: Mapping[Members, float]) -> Matrix:
    """Cov of the marginal on ``members``, eq. (12); ``noise`` may leave out sets with an attribute of size 1."""
    shape = (math.prod(sizes[i] for i in members),) * 2
    total = np.zeros(shape)
    for part in subsets(members):
        if all(sizes[i] > 1 for i in part):
            total += noise[part] * covariance_share(sizes, members, part)
    return total


def cell_variance(sizes: Sizes, members: Members, noise: Mapping[Members, float]) -> float:
    """Var_A of every cell, eq. (11), set by set; for tables too large for matrices."""
    total = 0.0
    for part in subsets(members):
        if all(sizes[i] > 1 for i in part):
            present = math.prod((sizes[i] - 1) / sizes[i] for i in part)
            absent = math.prod(1 / sizes[i] ** 2 for i in members if i not in part)
            total += noise[part] * present * absent
    return total


def variance_coefficients(sizes: Sizes, queries: Sequence[Members], sets: Sequence[Members]) -> Matrix:
    """M of section 3, (queries, sets): what the average cell of each query takes of each set's noise, by eq. (12)."""
    table = np.zeros((len(queries), len(sets)))
    for row, members in enumerate(queries):
        for column, part in enumerate(sets):
            if set(part) <= set(members):
                share = covariance_share(sizes, members, part)
                table[row, column] = np.trace(share) / len(share)
    return table


def cost_coefficients(sizes: Sizes, sets: Sequence[Members]) -> NDArray[np.float64]:
    """p_A of each set as the cost of its base mechanism alone at unit noise, from its own explicit matrices."""
    return np.array([_unit_cost(sizes, members) for members in sets])


def _unit_cost(sizes: Sizes, members: Members) -> float:
    within = [sizes[i] for i in members]
    everything = tuple(range(len(within)))
    return privacy_cost(residual(within, everything), residual_covariance(within, everything))


def exact_cost(sizes: Sizes, noise: Mapping[Members, float]) -> Fraction:
    """The total of eq. (8) in exact arithmetic, for noise variances as the floats they are."""
    total = Fraction(0)
    for members, variance in noise.items():
        total += math.prod((Fraction(sizes[i] - 1, sizes[i]) for i in members), start=Fraction(1)) / Fraction(variance)
    return total


def exact_inverse(matrix: list[list[int]]) -> list[list[Fraction]]:
    """The inverse of a matrix of integers, by Gauss and Jordan in fractions."""
    size = len(matrix)
    rows = [[*map(Fraction, row), *(Fraction(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = next(row for row in range(column, size) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for other in range(size):
            if other != column:
                factor = rows[other][column]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    return [row[size:] for row in rows]
