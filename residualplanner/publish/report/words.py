"""Numbers and names for people who decide: few digits, and none that says more than is true.

Reads: numbers, strings.  Gives: strings.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import number_text, table_text
from residualplanner.release.publication import Publication

if TYPE_CHECKING:
    import pandas as pd


def column_rounded_up(numbers: Sequence[float]) -> list[str]:
    """The numbers of a column, all with the same decimals, none below itself.

    Example:
        >>> column_rounded_up([0.92961, 1.0, 6.84001])
        ['0.9297', '1.0000', '6.8401']
    """
    decimals = decimals_for(np.array(numbers, dtype=np.float64)) + 1
    texts = [f"{number:.{decimals}f}" for number in numbers]
    return [
        text if float(text) >= number else f"{float(text) + 10.0**-decimals:.{decimals}f}"
        for text, number in zip(texts, numbers, strict=True)
    ]


def decimals_for(numbers: FloatArray) -> int:
    """How many decimals show three digits of a typical number, (n,): a column has one number of decimals.

    Example:
        >>> decimals_for(np.array([12.3, 45.6])), decimals_for(np.array([0.5])), decimals_for(np.array([123.0, 7e6]))
        (1, 3, 0)
    """
    positive = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    if not positive.size:
        return 0
    positive = positive[positive >= np.median(positive) / 1000]  # what is nearly 0 may be shown as 0
    return max(0, min(8, 2 - math.floor(math.log10(float(np.quantile(positive, 0.05))))))


def decimals_of_errors(errors: FloatArray, *, fewest: int = 1) -> int:
    """How many decimals show two digits of the least error, (n,), that is not 0; at most 15.

    Example:
        >>> [decimals_of_errors(np.array(errors)) for errors in ([32.1, 700.0], [0.071, 5.0], [0.0], [np.nan])]
        [1, 3, 1, 1]
    """
    positive = errors[np.isfinite(errors) & (errors > 0)]
    return min(15, max(fewest, 1 - math.floor(math.log10(float(positive.min()))))) if positive.size else fewest


def apart(low: FloatArray, high: FloatArray, decimals: int) -> tuple[FloatArray, FloatArray]:
    """The ends of intervals; where so many decimals do not tell two ends apart, rounded outward.

    Example:
        >>> [end.tolist() for end in apart(np.array([2.0, 2.01, 2.46]), np.array([2.0, 2.02, 2.7]), 1)]
        [[2.0, 2.0, 2.46], [2.0, 2.1, 2.7]]
    """
    unit = 10.0**decimals
    is_hidden = (low < high) & np.array(
        [round(a, decimals) == round(b, decimals) for a, b in zip(low, high, strict=True)]
    )
    return np.where(is_hidden, np.floor(low * unit) / unit, low), np.where(is_hidden, np.ceil(high * unit) / unit, high)


def column_texts(numbers: Sequence[float]) -> list[str]:
    """The numbers of a column, all with the same decimals.

    Example:
        >>> column_texts([18.594, 9.5, 1234.0])
        ['18.6', '9.5', '1,234.0']
    """
    decimals = decimals_for(np.array(numbers, dtype=np.float64))
    return [f"{number:,.{decimals}f}" for number in numbers]


def ratio_text(ratio: float) -> str:
    """How many times as large something is, with three significant digits.

    Example:
        >>> ratio_text(1.2982), ratio_text(11034.2)
        ('1.3', '11,000')
    """
    return number_text(float(f"{ratio:.3g}"))


def level_text(level: float) -> str:
    """A confidence level in percent.

    Example:
        >>> level_text(0.95), level_text(0.999)
        ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"


def table_names(errors: "pd.DataFrame") -> list[str]:
    """The names of the queries of an error table."""
    return [table_text(query, str(kinds)) for query, kinds in zip(errors["query"], errors["kinds"], strict=True)]


def publication_texts(publication: Publication) -> list[tuple[str, str]]:
    """What is said to readers about the publication, by headings; its title is above them."""
    return [(name.capitalize(), text) for name, text in publication.to_json().items() if name != "title"]
