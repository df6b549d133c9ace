"""What is likely meant by values that do not fit: the mistakes that are made most, and what to do about each."""

import datetime as dt
import difflib
import re
from collections.abc import Callable, Sequence

from residualplanner.ground.words import listed
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.entries import day_of, integer_of, number_of
from residualplanner.method.domain.labels import label_text

MISSING_HINT = 'fill them, or declare missing="Not stated" or "drop"'
NOBODY_HINT = "entries are missing, or neither integers nor text; name everybody, or leave these records out"
_YEAR = re.compile(r"(1[5-9]|20)[0-9]{2}")
_DATE = re.compile(r"[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}.*")
_TRUTHS = {"yes", "no", "y", "n", "0", "1", "t", "f"}


def hint_of_values(attribute: Attribute, values: Sequence[object]) -> str:
    """What is likely wrong with values that are none of an attribute's, most frequent first."""
    texts = [str(value).removesuffix(".0") for value in values]
    found = (hint(attribute, values, texts) for hint in _HINTS)
    return next(filter(None, found), "")


def hint_of_type(attribute: Attribute | None, message: str) -> str:
    """What is likely wrong with a column whose type holds no value of its attribute."""
    if attribute is not None and attribute.values.holds("dates") and "holds numbers" in message:
        return _YEARS.format(labels=_years_of(attribute))
    if "UTF-8" in message:
        return "if it was saved as latin-1 or windows-1252, save it as UTF-8"
    return ""


def hint_of_missing_column(name: str, names: Sequence[str]) -> str:
    """Which column may be meant."""
    folded = {each.strip().casefold(): each for each in names}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=3, cutoff=0.6)
    if not near:
        return f"the columns are {listed(map(repr, names), 20)}"
    return f"did you mean {' or '.join(repr(folded[each]) for each in near)}?  Columns are matched by exact name"


def hint_of_lines(numbers: Sequence[int]) -> str:
    """Where the first lines are that are not records."""
    return (
        f"the first: {', '.join(f'{number:,}' for number in numbers)} (numbers of records where values contain "
        "newlines); a quote does not close or stands inside a field, or there are more or fewer fields than in line 1"
    )


_YEARS = "the column holds years as numbers, and the schema wants dates; declare {labels}"


def _years_of(attribute: Attribute) -> str:
    years = [label[:4] for label in map(label_text, attribute.values.labels) if _YEAR.fullmatch(label[:4])]
    return f"labels=range({years[0]}, {int(years[-1]) + 1})" if years else "integers, such as labels=range(1984, 1989)"


def _years(attribute: Attribute, _: Sequence[object], texts: Sequence[str]) -> str:
    is_years = attribute.values.holds("dates") and all(_YEAR.fullmatch(text) for text in texts)
    return _YEARS.format(labels=_years_of(attribute)) if is_years else ""


def _dates(attribute: Attribute, values: Sequence[object], texts: Sequence[str]) -> str:
    if not attribute.values.holds("dates"):
        return ""
    if any(isinstance(value, dt.datetime) and value.tzinfo is not None for value in values):
        return "a moment with a time zone has no date of its own; convert the column to dates in the zone that you mean"
    is_written = any(_DATE.fullmatch(text) and day_of(text) is None for text in texts)
    return "dates in text are written as 2020-02-29, year first; other spellings are not guessed" if is_written else ""


def _spelling(attribute: Attribute, _: Sequence[object], texts: Sequence[str]) -> str:
    folded = {label_text(label).strip().casefold(): label for label in attribute.labels or ()}
    near = next((text for text in texts if text.strip().casefold() in folded), None)
    if near is None:
        return ""
    label = folded[near.strip().casefold()]
    if label_text(label) == near:
        return f"{near} has another type than the label {label!r}; 1, True and text are told apart"
    return f"{near!r} is the label {label!r} but for capital letters or blanks; write values as they were declared"


def _zeros(attribute: Attribute, _: Sequence[object], texts: Sequence[str]) -> str:
    shorn = {label.lstrip("0"): label for label in attribute.labels or () if isinstance(label, str)}
    near = next((text for text in texts if text and shorn.get(text.lstrip("0"), text) != text), None)
    if near is None:
        return ""
    return f"{near} may be the label {shorn[near.lstrip('0')]!r} without its zeros; read the column as text"


def _integers(attribute: Attribute, values: Sequence[object], texts: Sequence[str]) -> str:
    wants = attribute.labels is None and attribute.bins is None and attribute.numeric is None
    if not wants and attribute.matching != "integer":
        return ""
    for value in values:
        if isinstance(value, str) and integer_of(value) is None and number_of(value.strip()) is not None:
            return f"integers in text are written as 7, not as {value!r}; write the column as integers"
    if wants and texts == [str(attribute.values.labels[-1] + 1)]:  # type: ignore[operator]  # codes are integers
        return f"codes count from 0, and these records may count from 1 to {texts[0]}; subtract 1, or declare labels"
    return ""


def _numbers(attribute: Attribute, values: Sequence[object], texts: Sequence[str]) -> str:
    if not (attribute.numeric or (attribute.bins and attribute.values.holds("numbers"))):
        return ""
    known = [number for number in map(number_of, values) if number is not None]
    if any(number_of(text) is None and any(letter.isdigit() for letter in text) for text in texts):
        return "numbers in text are written as 1200 and 12.5, without other signs, spaces or units"
    return f"these lie between {min(known):g} and {max(known):g}; the schema has {_limits(attribute)}" if known else ""


def _limits(attribute: Attribute) -> str:
    edges = attribute.bins.edges if attribute.bins else attribute.numeric.amounts if attribute.numeric else ()
    return f"{edges[0]:g} to {edges[-1]:g}"


def _truths(attribute: Attribute, _: Sequence[object], texts: Sequence[str]) -> str:
    if attribute.matching == "truth" and {text.strip().casefold() for text in texts} & _TRUTHS:
        return f"truth values are true and false; declare the labels that the records have, such as {texts[0]!r}"
    return ""


_Hint = Callable[[Attribute, Sequence[object], Sequence[str]], str]
_HINTS: tuple[_Hint, ...] = (_years, _dates, _truths, _zeros, _spelling, _integers, _numbers)
