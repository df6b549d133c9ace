"""What the answers to one kind of query on one attribute take of the noise, with the attribute's basis.

Reads: a basis, a kind of query.  Gives: factors, for an average answer, for each answer, for pairs of answers.
Source: spec eqs. (12), (26) and (27).
"""

import numpy as np
from numpy.typing import NDArray

from residualplanner.bases.basis import Basis
from residualplanner.queries import Identity, Kind, Prefix, Range

#: Up to this many entries a basic matrix is formed to see whether a basis spans it.
_FORMED = 2**24
#: Answers that take nothing of some noise count as taking this much of what they take of the total's, at equal cost: so
#: no noise is without a limit, and no answer changes.
_LEAST = 2.0**-100
#: Up to this many entries what every answer takes of every residual answer is formed: sums of squares lose no digits.
_TAKEN = 2**22
#: Kinds with more rows than this for each value are averaged by their Gram matrix.
_FEW = 1.5
#: Kinds whose rows span everything, which fewer than n-1 answers and the total do not.
_FULL_RANK = (Identity(), Prefix(), Range())


def spans_kind(basis: Basis, kind: Kind) -> bool:
    """Whether queries of this kind can be answered: always where the basis has n-1 answers.

    Large basic matrices are judged by their Gram matrix, which has the same row space.
    """
    if basis.answers == basis.size - 1:
        return True
    if kind in _FULL_RANK:
        return False
    rows = kind.centered(basis.size).rows
    is_small = rows.rows(basis.size) * basis.size <= _FORMED
    return basis.spans(rows.matrix(basis.size) if is_small else rows.gram(basis.size))


def mean_variance_factors(basis: Basis, kind: Kind) -> tuple[float, float]:
    """The share of the noise in an average answer where the attribute is present, and where it is absent.

    ``||W G||**2 / q`` and ``||W u||**2 / q`` for q answers.

    Source: spec eqs. (11) and (27).

    Example:
        >>> from residualplanner.bases import integer_basis
        >>> mean_variance_factors(integer_basis([[1, -1]], "given"), Identity())
        (0.25, 0.25)
    """
    n = basis.size
    if is_alike(basis, kind):
        return (n - 1) / n, 1 / (n * n)
    if basis.G is not None and kind.rows(n) <= _FEW * n and kind.rows(n) * basis.answers <= _TAKEN:
        each = row_variance_factors(basis, kind)
        return float(each[0].mean()), float(each[1].mean())
    form, u = kind.augmented_gram(n), np.concatenate([[1.0], basis.absent_vector()])
    gram, rows = form[1:, 1:], kind.rows(n)
    if basis.G is None:
        centered = gram - gram.mean(axis=1, keepdims=True)
        taken = float(np.trace(centered - centered.mean(axis=0)))
    else:
        taken = float(((gram @ basis.G) * basis.G).sum())
    absent = float(u @ form @ u)
    return max(taken, _LEAST * absent / float(basis.pcost or 1)) / rows, absent / rows


def is_alike(basis: Basis, kind: Kind) -> bool:
    """Whether all answers take the same share of every noise, by symmetry."""
    return basis.matrix is None and isinstance(kind, Identity)


def row_variance_factors(basis: Basis, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of the noise in each answer where the attribute is present, and where it is absent, (q,) each.

    ``||w_r G||**2`` and ``(w_r u)**2`` for the rows w_r of the basic matrix; (1,) where all answers are alike.

    Source: spec eqs. (23) and (26).

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> row_variance_factors(subtraction_basis(4), Identity())
        (array([0.75]), array([0.0625]))
    """
    if is_alike(basis, kind):
        average = mean_variance_factors(basis, kind)
        return np.array([average[0]]), np.array([average[1]])
    rows, constant = kind.centered(basis.size)
    absent: NDArray[np.float64] = (constant + rows.apply(basis.absent_vector(), 0)) ** 2
    if basis.G is not None and len(absent) * basis.answers <= _TAKEN:
        present: NDArray[np.float64] = (rows.apply(basis.G, 0) ** 2).sum(axis=1)
    else:
        present = rows.row_forms(basis.present_form())
    return np.maximum(present, _LEAST * absent / float(basis.pcost or 1)), absent


def cell_covariances(basis: Basis, kind: Kind) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The covariance factors of the answers, (q, q) each: where the attribute is absent, where it is present.

    Source: spec eqs. (12) and (26); paper Theorems 4.4 and 7.2.

    Example:
        >>> from residualplanner.bases import subtraction_basis
        >>> absent, present = cell_covariances(subtraction_basis(2), Identity())
        >>> absent.tolist(), present.tolist()
        ([[0.25, 0.25], [0.25, 0.25]], [[0.5, -0.5], [-0.5, 0.5]])
    """
    rows, constant = kind.centered(basis.size)
    shares = constant + rows.apply(basis.absent_vector(), 0)
    if basis.G is not None:
        taken = rows.apply(basis.G, 0)
        return np.outer(shares, shares), taken @ taken.T
    present = rows.apply(rows.apply(basis.present_form(), 0), 1)
    return np.outer(shares, shares), (present + present.T) / 2
