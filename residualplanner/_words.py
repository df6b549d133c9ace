"""Numbers and names for people: few digits, and limits that printing does not make smaller."""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

#: What joins the attributes of a query, and their kinds, in error tables.
JOIN = " × "


def number_text(number: float) -> str:
    """A number with four digits that count, thousands apart.

    Example:
        >>> [number_text(value) for value in (1234567.0, 12.3456, 0.00012345, 3, 10**30)]
        ['1,234,567', '12.35', '0.0001234', '3', '1e+30']
    """
    if not math.isfinite(number) or abs(number) >= 1e15:
        return f"{float(number):.4g}"
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 1000 else f"{number:.4g}"


def rounded_up(number: float | Fraction) -> str:
    """A number with four digits that count, never below it.

    Example:
        >>> rounded_up(5.2217), rounded_up(0.9999999999999996), rounded_up(0.05), rounded_up(Fraction(3, 5))
        ('5.222', '1', '0.05', '0.6')
    """
    digits = 3 - math.floor(math.log10(number)) if number > 0 else 0
    step = 10.0**-digits
    text = f"{float(number):.4g}"
    is_above = Fraction(text) >= number if isinstance(number, Fraction) else float(text) >= number
    return text if is_above else f"{(math.floor(number / step) + 1) * step:.4g}"


def above(exact: Fraction) -> str:
    """A number with six digits that count, never below it.

    Example:
        >>> above(Fraction(1, 3)), above(Fraction(1, 2)), above(Fraction(0))
        ('0.333334', '0.5', '0')
    """
    return _rounded(exact, ROUND_CEILING)


def below(exact: Fraction) -> str:
    """A number with six digits that count, never above it.

    Example:
        >>> below(Fraction(2, 3)), below(Fraction(1, 2))
        ('0.666666', '0.5')
    """
    return _rounded(exact, ROUND_FLOOR)


def _rounded(exact: Fraction, direction: str) -> str:
    with localcontext() as context:
        context.prec, context.rounding = 6, direction
        return f"{(Decimal(exact.numerator) / Decimal(exact.denominator)).normalize():g}"


def listed(names: Iterable[str], most: int) -> str:
    """The first names, and how many more there are.

    Example:
        >>> listed(["a", "b", "c"], 3), listed("abcde", 3)
        ('a, b, c', 'a, b, c and 2 more')
    """
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def family_text(family: str) -> str:
    """What a family of bases is called in sentences.

    Example:
        >>> family_text("optimal_by_set"), family_text("subtraction")
        ('optimal by set', 'subtraction')
    """
    return family.replace("_", " ")


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
