"""Records whose tables of single attributes are those of their mixture, to less than one record.

Reads: a mixture, records by class.  Gives: codes of records.
Source: docs/mathematics.md section 13.
"""

import numpy as np

from residualplanner.fits.mixtures.mixture import Mixture
from residualplanner.ground.checks import FloatArray, IntArray

#: How many records of a value are looked at for each that is to lose it.
_CANDIDATES = 16


def correct_margins(mixture: Mixture, codes: IntArray, classes: IntArray, generator: np.random.Generator) -> None:
    """Change as few values as it takes, so that every value is there as often as expected, to less than one record.

    In the records of many classes the errors of rounding add up.  A record of a value that there is too often gets one
    that there is too seldom, preferably in a class that has the latter often and the former seldom.

    Args:
        mixture: the distribution of the records.
        codes (n, d): of the records; changed in place.
        classes (n,): of the records.
        generator: of random numbers.

    Guarantees: no class gets a value that it does not have; so where none that has the one has the other, too, the
        value stays.
    Source: docs/mathematics.md section 13.
    """
    for attribute in range(codes.shape[1]):
        probabilities = mixture.of_attribute(attribute)
        ends = np.cumsum(probabilities @ mixture.weights) * len(codes)
        ends[-1] = len(codes)
        wanted = np.diff(np.floor(ends + generator.random()).astype(np.int64), prepend=0)
        over = np.bincount(codes[:, attribute], minlength=len(wanted)) - np.minimum(wanted, len(codes))
        _correct(codes[:, attribute], classes, probabilities, over, generator)


def _correct(
    column: IntArray, classes: IntArray, probabilities: FloatArray, over: IntArray, generator: np.random.Generator
) -> None:
    """Give values that are there too seldom to records with values that are there too often.

    Args:
        column (n,): the values, changed in place.
        classes (n,): of the records.
        probabilities (v, c): of the values in every class.
        over (v,): how much too often each value is there; below 0, too seldom.
        generator: of random numbers.
    """
    if not over.any():
        return
    some = [_some_of(column, value, int(over[value]), generator) for value in np.flatnonzero(over > 0).tolist()]
    candidates = np.concatenate(some)
    own = probabilities[column[candidates], classes[candidates]]
    for value in generator.permutation(np.repeat(np.arange(len(over)), np.maximum(-over, 0))).tolist():
        may = over[column[candidates]] > 0
        sums = np.cumsum(np.where(may, probabilities[value, classes[candidates]] / own, 0.0))
        if sums[-1] > 0:
            chosen = candidates[np.searchsorted(sums, generator.random() * sums[-1], side="right")]
            over[column[chosen]] -= 1
            over[value] += 1
            column[chosen] = value


def _some_of(column: IntArray, value: int, over: int, generator: np.random.Generator) -> IntArray:
    """Random records of a value, many more than are to lose it."""
    found: IntArray = generator.permutation(np.flatnonzero(column == value))[: _CANDIDATES * (over + 4)]
    return found
