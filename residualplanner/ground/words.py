"""Numbers and names for people: few digits, and limits that printing never makes smaller."""

import difflib
import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Literal

#: What joins the attributes of a query, and their kinds, in error tables.
JOIN = " × "
#: The query of no attributes: the number of records.
TOTAL = "(total)"
#: That a run failed before it was charged.
NOT_CHARGED = "Nothing was charged to the ledger."
CHARGE_UNKNOWN = (
    "Whether the ledger was charged is unknown, as it cannot be read now; it counts as charged until it can be."
)
#: The longest label, reason or name that files hold, in characters.
TEXT_LIMIT = 200
#: What to do about a file of answers that is not as it was written.
GET_IT_BACK = "get the file back as it was written, since to measure again would spend the budget again"
#: The unit of answers that are not sums of amounts.
COUNTS = "counts"
#: The same on the axis of a picture.
RECORDS = "records"
#: What stands between the attributes of a query and the records that it is about, where these are not all.
AMONG = " among "
# The words that a user chooses among: here the command line can offer them before it loads what they are about.
#: How neighboring data sets differ.
Notion = Literal["add-remove", "replace"]
#: When the ledger is charged: when the records have been counted, or before the first of them is.
ChargeTime = Literal["counted", "first"]
FormatName = Literal["parquet", "csv", "xlsx", "workbook", "parts"]
ProfileName = Literal["default", "acs", "gls"]
#: The methods that make synthetic records of a model.
RoundingName = Literal["controlled", "sobol", "independent"]
#: Up to this many tables are written to a file each where no format is given.
MOST_FILES = 5_000
_MOST_NAMES = 10


def number_text(number: float) -> str:
    """A number with four significant digits and thousands separators.

    Example:
        >>> [number_text(value) for value in (1234567.0, 12.3456, 0.00012345, 3, 10**30)]
        ['1,234,567', '12.35', '0.0001234', '3', '1e+30']
    """
    if not math.isfinite(number) or abs(number) >= 1e15:
        return f"{float(number):.4g}"
    return f"{number:,.0f}" if number == int(number) or abs(number) >= 1000 else f"{number:.4g}"


def rounded_up(number: float | Fraction) -> str:
    """A number with four significant digits, rounded up.

    Example:
        >>> rounded_up(5.2217), rounded_up(0.9999999999999996), rounded_up(0.05), rounded_up(Fraction(3, 5))
        ('5.222', '1', '0.05', '0.6')
    """
    digits = 3 - math.floor(math.log10(number)) if number > 0 else 0
    step = 10.0**-digits
    text = f"{float(number):.4g}"
    is_above = Fraction(text) >= number if isinstance(number, Fraction) else float(text) >= number
    return text if is_above else f"{(math.floor(number / step) + 1) * step:.4g}"


def fraction_text(value: Fraction) -> str:
    """An exact fraction as ``numerator/denominator``: decimal, or hexadecimal above 4000 digits."""
    form = "" if max(value.numerator, value.denominator) < 10**4000 else "#x"
    return f"{value.numerator:{form}}/{value.denominator:{form}}"


def decimal_text_up(value: Fraction) -> str:
    """A decimal number with six significant digits, at least ``value``, however large or small."""
    return _decimal_text(value, ROUND_CEILING)


def decimal_text_down(value: Fraction) -> str:
    """A decimal number with six significant digits, at most ``value``."""
    return _decimal_text(value, ROUND_FLOOR)


def short_text_down(value: Fraction) -> str:
    """A number short enough to be typed, as a decimal or fraction: ``value``, or slightly less.

    Example:
        >>> [short_text_down(value) for value in (Fraction(1, 2), Fraction(1, 3), Fraction(10**9 + 7, 10**9 + 9))]
        ['0.5', '1/3', '0.999999998000']
    """
    context = Context(prec=12, rounding=ROUND_FLOOR, Emax=10**6, Emin=-(10**6))
    short, fraction = context.divide(Decimal(value.numerator), Decimal(value.denominator)), str(value)
    return fraction if len(fraction) <= 15 and Fraction(short) != value else str(short)


def _decimal_text(value: Fraction, rounding: str) -> str:
    context = Context(prec=6, rounding=rounding, Emax=10**6, Emin=-(10**6))
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize()
    return f"{number:f}" if Decimal("1e-6") <= number < Decimal("1e15") else str(number)


def listed(names: Iterable[str], most: int) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most:,} more" if len(every) > most else "")


def names_text(noun: str, names: Iterable[object], one: str = "", several: str = "") -> str:
    """A noun and the names of those that are meant, ten at most, with a verb for one of them or for several."""
    every = list(names)
    shown = [reprlib.repr(name) for name in every[:_MOST_NAMES]]
    *first, last = shown if len(every) <= _MOST_NAMES else [*shown, f"{len(every) - _MOST_NAMES:,} more"]
    text = f"{noun}{'s' * bool(first)} {', '.join(first)}{' and ' * bool(first)}{last}"
    return f"{text} {several if first else one}".rstrip()


def suggestion(name: object, known: Sequence[str] | Mapping[str, str]) -> str:
    """The end of a message that suggests the closest of the ``known`` words, or what to write for it; else nothing."""
    close = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    if not close:
        return ""
    return f"; did you mean {known[close[0]] if isinstance(known, Mapping) else repr(close[0])}?"


def count_text(number: float, word: str) -> str:
    """A number of things."""
    several = f"{word[:-1]}ies" if word.endswith("ry") else f"{word}s"
    return f"{number_text(number)} {word if number == 1 else several}"


def optimality_text(suboptimality: float, gap: float) -> str:
    """What has been proved of a plan: of all mechanisms, or, where that is not known, of the noise for its bases.

    Example:
        >>> optimality_text(0.003612, 0.0), optimality_text(0.0, 0.0)
        ('within 0.37% of the best of all mechanisms', 'no linear mechanism has smaller errors')
    """
    if suboptimality < math.inf:
        percent = 100 * suboptimality
        digit = 10.0 ** (math.floor(math.log10(percent)) - 1) if percent else 1.0
        rounded = math.ceil(percent / digit * (1 - 1e-12)) * digit
        if not percent:
            return "no linear mechanism has smaller errors"
        return f"within {rounded:.2g}% of the best of all mechanisms"
    return f"gap {gap:.1e} with these bases" if math.isfinite(gap) else "no bound is known"


def query_text(names: Sequence[str], universe: Sequence[str] = ()) -> str:
    """A query in words, such as ``age × sex among employed: yes``: its attributes, and which records it is about."""
    return AMONG.join([JOIN.join(names) or TOTAL, *filter(None, [", ".join(universe)])])


def is_plain(kinds: str) -> bool:
    """Whether a query's kinds, as error tables name them, are the identity on every attribute."""
    return all(word in ("", "identity") for word in kinds.split(JOIN))


def table_text(query: str, kinds: str) -> str:
    """A query's attributes, with their kinds where these are not the identity."""
    attributes, among, universe = query.partition(AMONG)
    names, words = attributes.split(JOIN), kinds.split(JOIN)
    if is_plain(kinds):
        return query
    if len(names) != len(words):  # a name may contain the sign itself
        return f"{query} ({kinds})"
    both = zip(names, words, strict=True)
    texts = JOIN.join(name if word == "identity" else f"{name} ({word})" for name, word in both)
    return f"{texts}{among}{universe}"


def separators(names: Sequence[str]) -> str | None:
    """What probably separates the names in the first line of a CSV file, if not commas."""
    signs = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
    return next((word for sign, word in signs.items() if len(names) == 1 and sign in names[0]), None)


def percent_text(part: float) -> str:
    """A part of a whole in percent.

    Example:
        >>> percent_text(0.5), percent_text(0.01234), percent_text(0.00001234)
        ('50.0%', '1.23%', '0.00123%')
    """
    digits = 1 if part >= 0.1 or part <= 0 else -math.floor(math.log10(part))
    return f"{part:.{digits}%}"


def short_text(text: str, longest: int = 44, *, keeps_end: bool = False) -> str:
    """A string short enough to stand beside a plot, cut at its end or middle, with nothing that cannot be drawn."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    at_end = (longest - 1) // 2 if keeps_end else 0
    cut = f"{printable[: longest - 1 - at_end]}…{printable[len(printable) - at_end :]}"
    return printable if len(printable) <= longest else cut


def bytes_text(size: float) -> str:
    """A number of bytes for people."""
    if size >= 2**30:
        return f"{size / 2**30:,.1f} GiB"
    return f"{size / 2**20:.0f} MiB" if size >= 2**20 else f"{max(size / 2**10, 1):.0f} KiB"


def charged_text(cost: Fraction, sequence: int) -> str:
    """That a charge, an entry of a ledger, stays, though the release it was made for failed."""
    return f"The charge stays: pcost {decimal_text_up(cost)}, entry {sequence} of the ledger."
