"""How far the tables of synthetic records are from those of the records: the measures of all comparisons.

Source: docs/synthetic-records.md.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

Codes = NDArray[np.integer[Any]]
Weights = NDArray[np.float64]


def table_of(codes: Codes, weights: Weights, members: Sequence[int], sizes: Sequence[int]) -> NDArray[np.float64]:
    """The weighted counts of one table as fractions of the total, flat in C order."""
    cells = np.zeros(len(codes), np.int64)
    for member in members:
        cells = cells * sizes[member] + codes[:, member]
    counts = np.bincount(cells, weights, int(np.prod([sizes[member] for member in members])))
    return counts / counts.sum()


def errors_by_order(
    truth: Codes,
    synthetic: Codes,
    sizes: Sequence[int],
    *,
    weights: Weights | None = None,
    orders: Iterable[int] = (2, 3),
) -> dict[str, dict[str, float]]:
    """The mean total variation and the largest error of a cell, over all tables of each order.

    Args:
        truth (n, d): the records.
        synthetic (m, d): the records to be judged.
        sizes: of the attributes.
        weights (m,): of the synthetic records, 1 by default.
        orders: numbers of attributes.
    """
    ones = np.ones(len(truth))
    by_record = np.ones(len(synthetic)) if weights is None else weights
    rows = {}
    for order in orders:
        variations, largest = [], []
        for members in combinations(range(len(sizes)), order):
            difference = np.abs(table_of(truth, ones, members, sizes) - table_of(synthetic, by_record, members, sizes))
            variations.append(difference.sum() / 2)
            largest.append(difference.max())
        rows[str(order)] = {"total_variation": float(np.mean(variations)), "largest_error": float(max(largest))}
    return rows


@dataclass(frozen=True)
class Question:
    """What users ask of records: a linear regression, and a classifier.

    Attributes:
        sizes: of the attributes.
        ordered: whether each attribute's values have an order.
        explained, explaining: places of the attributes of the regression.
        classified: place of the attribute that is learned from all others.
    """

    sizes: Sequence[int]
    ordered: Sequence[bool]
    explained: int
    explaining: Sequence[int]
    classified: int


def distance_of_coefficients(truth: Codes, synthetic: Codes, question: Question) -> float:
    """The root mean squared distance of a regression's standardized coefficients from those of the records.

    Ordered attributes enter by their codes, nominal ones by whether they have the value that most records have; all are
    standardized by the records' means and standard deviations.

    Args:
        truth (n, d): the records.
        synthetic (m, d): the records to be judged.
        question: with the regression.
    """
    places = [question.explained, *question.explaining]
    columns = np.stack([_numbers(truth, truth, place, question) for place in places], axis=1)
    center, scale = columns.mean(axis=0), columns.std(axis=0)
    scale[scale == 0] = 1.0
    made = np.stack([_numbers(synthetic, truth, place, question) for place in places], axis=1)
    by_truth, by_made = (_slopes((each - center) / scale) for each in (columns, made))
    return float(np.sqrt(np.mean((by_truth - by_made) ** 2)))


def _numbers(codes: Codes, truth: Codes, place: int, question: Question) -> NDArray[np.float64]:
    if question.ordered[place]:
        return codes[:, place].astype(float)
    return (codes[:, place] == np.bincount(truth[:, place]).argmax()).astype(float)


def _slopes(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients of the first column on the others; the intercept is left out."""
    design = np.column_stack([np.ones(len(columns)), columns[:, 1:]])
    found: NDArray[np.float64] = np.linalg.lstsq(design, columns[:, 0], rcond=None)[0]
    return found[1:]


def accuracy(truth: Codes, synthetic: Codes, question: Question, *, most: int = 50_000) -> float:
    """How often a classifier is right on the records that has learned from synthetic ones.

    It says whether an ordered attribute is above the records' median, or a nominal one has the value that most records
    have, by logistic regression on the indicators of all values of all other attributes, with the penalty |b|^2 / 2.

    Args:
        truth (n, d): the records.
        synthetic (m, d): the records from which it learns.
        question: with what is learned.
        most: records that are taken at random from either where there are more.
    """
    target = truth[:, question.classified]
    (seen, learned), (tested, right) = (
        _indicators(_some(codes, most), target, question) for codes in (synthetic, truth)
    )

    def loss(slopes: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = seen @ slopes
        gradient = seen.T @ (special.expit(scores) - learned) + slopes
        return float(np.logaddexp(0, scores).sum() - learned @ scores + slopes @ slopes / 2), gradient

    found = optimize.minimize(loss, np.zeros(seen.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return float(np.mean((tested @ found.x > 0) == right))


def _some(codes: Codes, most: int) -> Codes:
    if len(codes) <= most:
        return codes
    return codes[np.random.default_rng(0).choice(len(codes), most, replace=False)]


def _indicators(
    codes: Codes, target: NDArray[np.integer[Any]], question: Question
) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
    """Indicators (n, 1 + sum of sizes) of a constant and all values but the target's, and what is learned (n,)."""
    learned = codes[:, question.classified]
    is_high = question.ordered[question.classified]
    right = learned > np.median(target) if is_high else learned == np.bincount(target).argmax()
    others = [place for place in range(len(question.sizes)) if place != question.classified]
    starts = np.cumsum([1, *(question.sizes[place] for place in others)])
    columns = np.column_stack([np.zeros(len(codes), np.int64), codes[:, others] + starts[:-1]])
    rows = np.arange(len(codes) + 1) * columns.shape[1]
    return sparse.csr_array((np.ones(columns.size), columns.ravel(), rows), (len(codes), int(starts[-1]))), right
