"""Numbers and names for people who decide: few digits, never better than they are.

Reads: numbers, texts.  Gives: texts.
"""

import math
from collections.abc import Sequence

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner._words import number_text

_LONGEST = 44


def count_text(number: float, word: str) -> str:
    """A number of things.

    Example:
        >>> count_text(1, "table"), count_text(1500, "cell")
        ('1 table', '1,500 cells')
    """
    return f"{number_text(number)} {word}" + ("" if number == 1 else "s")


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


def percent_text(share: float) -> str:
    """A share in percent.

    Example:
        >>> percent_text(0.5), percent_text(0.01234), percent_text(0.00001234)
        ('50.0%', '1.23%', '0.00123%')
    """
    if share >= 0.1 or share <= 0:
        return f"{share:.1%}"
    return f"{share:.{-math.floor(math.log10(share))}%}"


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


def column_texts(numbers: Sequence[float]) -> list[str]:
    """The numbers of a column, all with the same decimals.

    Example:
        >>> column_texts([18.594, 9.5, 1234.0])
        ['18.6', '9.5', '1,234.0']
    """
    decimals = decimals_for(np.array(numbers, dtype=np.float64))
    return [f"{number:,.{decimals}f}" for number in numbers]


def ratio_text(ratio: float) -> str:
    """How many times as large something is, with three digits that count.

    Example:
        >>> ratio_text(1.2982), ratio_text(11034.2)
        ('1.3', '11,000')
    """
    return number_text(float(f"{ratio:.3g}"))


def short_text(text: str, longest: int = _LONGEST) -> str:
    r"""A text that fits beside a plot, without characters that cannot be drawn.

    Example:
        >>> short_text("a" * 9, 6), short_text("a\nb")
        ('aaaaa…', 'a b')
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable if len(printable) <= longest else f"{printable[: longest - 1]}…"


def level_text(level: float) -> str:
    """A confidence level in percent.

    Example:
        >>> level_text(0.95), level_text(0.999)
        ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"
