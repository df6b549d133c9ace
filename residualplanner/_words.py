"""Numbers and names for people: few digits, and limits that printing does not make smaller."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
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


def listed(names: Iterable[str], most: int) -> str:
    """The first names, and how many more there are.

    Example:
        >>> listed(["a", "b", "c"], 3), listed("abcde", 3)
        ('a, b, c', 'a, b, c and 2 more')
    """
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def suggestion(name: object, known: Sequence[str] | Mapping[str, str]) -> str:
    """What was probably meant, to stand at the end of a message: the closest of the ``known`` words, if one is close.

    Args:
        name: what was written.
        known: the words there are; as a mapping, with what to write for each.

    Example:
        >>> suggestion("oder", ["order", "up_to"]), suggestion("x", ["order", "up_to"])
        ("; did you mean 'order'?", '')
        >>> suggestion("zdp", {"zcdp": "zcdp(0.5)"})
        '; did you mean zcdp(0.5)?'
    """
    close = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    if not close:
        return ""
    return f"; did you mean {known[close[0]] if isinstance(known, Mapping) else repr(close[0])}?"


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
