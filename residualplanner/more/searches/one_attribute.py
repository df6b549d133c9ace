"""The basis that is best for one attribute, for given weights of its kinds of query, in full and in integers.

Source: eqs. (31) and (36); docs/bases.md.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from residualplanner.ground.errors import SolverError, WorkloadError
from residualplanner.method.bases.basis import Basis
from residualplanner.more.searches.attribute_grams import COARSE_VALUES, AttributeGrams
from residualplanner.more.searches.basis_problem import ResidualBasis
from residualplanner.more.searches.tangent import Tangent

#: How much larger, relative, an attribute's part of the loss may get because its basis is rounded to integers.
ROUNDING_LOSS = 3e-6
#: Steps for the convex problem of one attribute, up to a number of values: each solves an eigenvalue problem.
_STEPS = ((128, 60), (COARSE_VALUES, 20), (2048, 30), (math.inf, 8))
#: So many binary digits, and one more for each doubling of the number of values, are tried first.
_FEWEST_DIGITS = 1
#: The most of them: rows that differ a billion-fold in size need some 35.
_MOST_DIGITS = 45


def in_full(
    coarse: AttributeGrams, grams: AttributeGrams, found: ResidualBasis, tangent: Tangent, option: str
) -> ResidualBasis:
    """The basis for all values, from one for merged values: threefold finer each time.

    Args:
        coarse: the Gram matrices with values merged.
        grams: the same without.
        found: the basis for ``coarse``.
        tangent: the objective, for ``grams``.
        option: "orthogonal" keeps u at ``1/n`` for every value; else u is free.

    Source: eq. (31).
    """
    while coarse is not grams:
        finer = grams.coarse(3 * len(coarse.width))
        start, steps = coarse.refined(found, finer), steps_for(len(finer.width))
        averaging = np.zeros((len(finer.width), len(grams.width)))
        averaging[finer.group, grams.group] = grams.width[grams.group] / finer.width[finer.group]
        here = tangent.restricted(averaging)
        if option == "orthogonal":
            found = best_orthogonal(finer, here, start=start, steps=steps)
        else:
            found = here.best(finer.directions, start=start, steps=steps)
        coarse = finer
    return found


def orthogonal_start(grams: AttributeGrams) -> ResidualBasis:
    """The best basis orthogonal to the total, where every kind counts as if it were alone."""
    tangent = grams.tangent(np.tile(1 / grams.scales, 2))
    return best_orthogonal(grams, tangent, steps=steps_for(len(grams.width)))


def best_orthogonal(grams: AttributeGrams, tangent: Tangent, **how: Any) -> ResidualBasis:
    """The best basis orthogonal to the total for the present part of a tangent, see `optimal_residuals`."""
    return tangent.best_orthogonal(grams.width / grams.size, grams.directions, **how)


def steps_for(values: int) -> int:
    """How many steps to take for an attribute of so many distinct values."""
    return next(steps for limit, steps in _STEPS if values <= limit)


def basis_in_integers(
    grams: AttributeGrams,
    found: ResidualBasis,
    is_close: Callable[[Any], bool],
    family: str,
    slack: float = 0.0,
    gap_of: Callable[[Any], float] = lambda _: math.inf,
) -> Basis:
    """The basis in integers, with as few digits as ``is_close`` accepts.

    Args:
        grams: the Gram matrices.
        found: the basis in real numbers.
        is_close: whether one from `AttributeGrams.rounded` is as good; it may raise LinAlgError if it is no basis.
        family: the word for it in plans.
        slack: how exact the lengths of columns are, see `rounded_matrix`.
        gap_of: the gap of one from `AttributeGrams.rounded`, if one is proved.

    Raises:
        SolverError: no such matrix was found.

    Source: eq. (36).
    """
    for exponent in range(_FEWEST_DIGITS + len(grams.width).bit_length(), _MOST_DIGITS + 1):
        with suppress(np.linalg.LinAlgError, WorkloadError):
            near = grams.rounded(found, exponent, slack)
            if is_close(near):
                return grams.in_integers(near, exponent, family, gap_of(near))
    raise SolverError("no integer matrix comes close to the best residual basis; ask for bases='orthogonal'")
