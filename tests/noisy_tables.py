"""Noisy answers about small tables, and fits of them by general solvers that share nothing with the library's."""

import itertools

import numpy as np
from scipy.optimize import linprog, nnls

import residualplanner as rp

LETTERS = "abcd"


def domain_of(shape):
    return rp.Domain({LETTERS[axis]: size for axis, size in enumerate(shape)})


def rows_of(shape, axes):
    """The marginal of some axes as rows over all cells, by listing cells."""
    cells = list(itertools.product(*map(range, shape)))
    sums = list(itertools.product(*(range(shape[axis]) for axis in axes)))
    return np.array([[float(tuple(cell[axis] for axis in axes) == each) for cell in cells] for each in sums])


def noisy_of(counts, sets, law, draws=(), seed=0):
    """Answers to marginals with noise, as the library takes them and as rows and values."""
    chance, shape = np.random.default_rng(seed), np.shape(counts)
    draw = chance.laplace if isinstance(law, rp.fits.microdata.Laplace) else chance.normal
    answers, rows = [], [rows_of(shape, axes) for axes in sets]
    for axes, matrix in zip(sets, rows, strict=True):
        true = (matrix @ np.ravel(counts)).reshape([shape[axis] for axis in axes])
        values = true + draw(0, law.noise_scale, (*draws, *true.shape))
        answers.append(
            rp.fits.microdata.GroupAnswers(rp.fits.microdata.Marginal([LETTERS[axis] for axis in axes]), values, law)
        )
    return rp.fits.microdata.NoisyGroups(domain_of(shape), answers), rows


def nearest(rows, values, weights, fixed=(), targets=()):
    """Non-negative least squares by an active set; rows that are fixed have a weight of ten thousand times."""
    heavy = 1e4 * np.sqrt(max(map(np.max, weights)))
    matrix = np.vstack([*(np.sqrt(w)[:, None] * each for w, each in zip(weights, rows, strict=True)),
                        *(heavy * each for each in fixed)])  # fmt: skip
    right = np.concatenate([*(np.sqrt(w) * a for w, a in zip(weights, values, strict=True)),
                            *(heavy * t for t in targets)])  # fmt: skip
    return nnls(matrix, right, maxiter=100_000)[0]


def least_largest(rows, values, std_err):
    """The least largest error of non-negative cells, in standard errors, by the simplex method."""
    matrix, right, errors = np.vstack(rows), np.concatenate(values), np.full((sum(map(len, rows)), 1), std_err)
    sides = np.block([[matrix, -errors], [-matrix, -errors]])
    return linprog(np.eye(matrix.shape[1] + 1)[-1], A_ub=sides, b_ub=np.concatenate([right, -right])).fun
