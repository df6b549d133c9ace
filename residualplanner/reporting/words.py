"""Numbers and names for people who decide: few digits, never better than they are.

Reads: numbers, texts.  Gives: texts.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from residualplanner._checks import FloatArray
from residualplanner.errors import BudgetError

#: What joins the attributes of a query, and their kinds, in error tables.
JOIN = " × "
_LONGEST = 44


def number_text(number: float) -> str:
    """A number with four digits that count, thousands apart.

    Example:
        >>> [number_text(value) for value in (1234567.0, 12.3456, 0.00012345, 3, 10**30)]
        ['1,234,567', '12.35', '0.0001234', '3', '1e+30']
    """
    if not math.isfinite(number) or abs(number) >= 1e15:
        return f"{float(number):.4g}"
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 1000 else f"{number:.4g}"


def count_text(number: float, word: str) -> str:
    """A number of things.

    Example:
        >>> count_text(1, "table"), count_text(1500, "cell")
        ('1 table', '1,500 cells')
    """
    return f"{number_text(number)} {word}" + ("" if number == 1 else "s")


def rounded_up(number: float) -> str:
    """A number with four digits that count, never below it: a limit on privacy loss is not made smaller by printing it.

    Example:
        >>> rounded_up(5.2217), rounded_up(0.9999999999999996), rounded_up(0.05)
        ('5.222', '1', '0.05')
    """
    text = f"{number:.4g}"
    if number <= 0 or float(text) >= number:
        return text
    step = 10.0 ** (math.floor(math.log10(number)) - 3)
    return f"{(math.floor(number / step) + 1) * step:.4g}"


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


def table_text(query: str, kinds: str) -> str:
    """A query's attributes, with their kinds where these are not the identity.

    Example:
        >>> table_text("age × sex", "range × identity"), table_text("sex", "identity"), table_text("(total)", "")
        ('age (range) × sex', 'sex', '(total)')
    """
    names, words = query.split(JOIN), kinds.split(JOIN)
    if all(word in ("", "identity") for word in words):
        return query
    if len(names) != len(words):  # a name may hold the sign itself
        return f"{query} ({kinds})"
    both = zip(names, words, strict=True)
    return JOIN.join(name if word == "identity" else f"{name} ({word})" for name, word in both)


def short_text(text: str, longest: int = _LONGEST) -> str:
    r"""A text that fits beside a plot, without characters that cannot be drawn.

    Example:
        >>> short_text("a" * 9, 6), short_text("a\nb")
        ('aaaaa…', 'a b')
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable if len(printable) <= longest else f"{printable[: longest - 1]}…"


def quantile_of(level: float) -> float:
    """How many standard errors the margin of error at a confidence ``level`` is.

    Raises:
        BudgetError: ``level`` is not between 0 and 1.
    """
    if isinstance(level, bool) or not isinstance(level, float | int | np.number) or not 0 < level < 1:
        raise BudgetError(f"level must be between 0 and 1, such as 0.95, got {level!r}")
    return NormalDist().inv_cdf((1 + float(level)) / 2)


def level_text(level: float) -> str:
    """A confidence level in percent.

    Example:
        >>> level_text(0.95), level_text(0.999)
        ('95%', '99.9%')
    """
    return f"{100 * level:.6g}%"
