"""Columns as a dictionary or a public schema declares them, and their entries in a spec to start from.

Reads: values as they are declared.  Gives: Declared: an attribute, or a note on what is still to be declared by hand.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from residualplanner.ground.errors import DomainError
from residualplanner.method.domain.about import About
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.entries import day_of
from residualplanner.method.domain.labels import Label
from residualplanner.shell.cli.spec.attributes import UNDECLARED
from residualplanner.shell.cli.starting.toml_text import about_entries, attribute_text, key_text, number_text

#: The most values of a column that is declared by a smallest and a largest integer.
RANGE_LIMIT = 1000
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_TRUTH = {"true": True, "false": False}
_WIDTH = 110
_NOTHING = About()


@dataclass(frozen=True, slots=True)
class Declared:
    """One column, as far as it is declared.

    Attributes:
        name: of the column.
        attribute: its values; None where they are still to be declared.
        note: what is known in place of values.
        about: its title, unit, source and notes.
    """

    name: str
    attribute: Attribute | None
    note: str = ""
    about: About = _NOTHING

    def lines(self) -> list[str]:
        """The column's entry in a spec, below a comment with the note.

        Example:
            >>> Declared("sex", Attribute("sex", labels={1: "female", 2: "male"})).lines()
            ['sex = [[1, "female"], [2, "male"]]']
            >>> Declared("income", None, "numbers from 0", About(title="Income")).lines()
            ['# title = "Income"', '# numbers from 0', 'income = "?"']
        """
        if self.attribute is None:
            notes = [*_comment(", ".join(about_entries(self.about))), *_comment(self.note)]
            return [*notes, f'{key_text(self.name)} = "{UNDECLARED}"']
        return [*_comment(self.note), f"{key_text(self.name)} = {attribute_text(self.attribute)}"]

    def described(self, about: About) -> "Declared":
        """The same column with these words about it."""
        if not about:
            return self
        attribute = None if self.attribute is None else self.attribute.described(about)
        return replace(self, attribute=attribute, about=about)


def of_values(name: str, values: Sequence[Label], meanings: Sequence[str] = ()) -> Declared:
    """A column whose values are listed.

    If all values are integers in their usual spelling, they are integers, and 0, 1, .. are codes; "true" and "false"
    are booleans; all others are strings, as which the values in CSV files are matched.

    Args:
        name: of the column.
        values: in their order; repeated values are left out.
        meanings: the meaning of each, which tables will show; empty where there is none.

    Raises:
        DomainError: they are not valid as values of a column.

    Example:
        >>> of_values("sex", ["F", "M"]).attribute
        Attribute('sex', labels=['F', 'M'])
        >>> of_values("sex", ["1", "2"], ["female", "male"]).attribute
        Attribute('sex', labels={1: 'female', 2: 'male'})
        >>> of_values("grade", ["0", "1", "2"]).attribute, of_values("region", ["01", "2"]).attribute
        (Attribute('grade', size=3), Attribute('region', labels=['01', '2']))
    """
    meaning_of = dict.fromkeys(values, "") | dict(zip(values, meanings, strict=False))
    labels = _labels(list(meaning_of))
    in_words = ["" if meaning == str(value) else meaning for value, meaning in meaning_of.items()]
    if any(in_words):
        return Declared(name, Attribute(name, labels=_mapping(name, labels, in_words)))
    is_code = labels == list(range(len(labels))) and not any(isinstance(label, bool) for label in labels)
    return Declared(name, Attribute(name, len(labels)) if is_code else Attribute(name, labels=labels))


def of_range(name: str, smallest: float | None, largest: float | None, *, is_whole: bool) -> Declared:
    """A column of numbers between two limits: their values if they are few integers, else bins by hand.

    Example:
        >>> of_range("age", 0, 99, is_whole=True).attribute
        Attribute('age', size=100)
        >>> of_range("income", 0, 1e6, is_whole=False).note
        'numbers from 0 to 1000000: write { bins = [0, ..., 1000000] }'
    """
    kind = "integers" if is_whole else "numbers"
    if smallest is None or largest is None:
        both = (("from", smallest), ("to", largest))
        limits = "".join(f" {word} {number_text(limit)}" for word, limit in both if limit is not None)
        return Declared(name, None, f"{kind}{limits}: write {{ bins = [...] }}, or a number of codes 0, 1, ..")
    if is_whole and 0 <= largest - smallest < RANGE_LIMIT:
        first, last = math.ceil(smallest), math.floor(largest)
        attribute = Attribute(name, last + 1) if first == 0 else Attribute(name, labels=range(first, last + 1))
        return Declared(name, attribute)
    low, high = number_text(smallest), number_text(largest)
    return Declared(name, None, f"{kind} from {low} to {high}: write {{ bins = [{low}, ..., {high}] }}")


def of_dates(name: str, smallest: object, largest: object) -> Declared:
    """A column of dates, whose bins are to be declared by hand, with its limits as far as they are known.

    Example:
        >>> of_dates("born", "2019-11-30", None).note
        'dates from 2019-11-30: write { months = ["2019-11", "..."] }, { years = [2019, ...] } or { bins = [...] }'
    """
    both = (("from", smallest), ("to", largest))
    limits = "".join(f" {word} {limit}" for word, limit in both if limit is not None)
    days = [str(limit) if limit is not None and day_of(str(limit)) is not None else "" for limit in (smallest, largest)]
    months = ", ".join(f'"{day[:7] or "..."}"' for day in days)
    years = ", ".join(day[:4] or "..." for day in days)
    return Declared(
        name, None, f"dates{limits}: write {{ months = [{months}] }}, {{ years = [{years}] }} or {{ bins = [...] }}"
    )


def _mapping(name: str, labels: list[Label], meanings: list[str]) -> dict[Label, str]:
    """Each label with its meaning; DomainError where two values are one label, as "true" and "True"."""
    mapping = dict(zip(labels, meanings, strict=True))
    if len(mapping) < len(labels):
        raise DomainError(f"attribute {name!r} has a label twice", attributes=[name])
    return mapping


def _labels(values: list[Label]) -> list[Label]:
    """The values as strings, integers or booleans, whichever they all are."""
    strings = [str(value) for value in values]
    if all(isinstance(value, bool) for value in values) or {string.lower() for string in strings} == set(_TRUTH):
        return [_TRUTH[string.lower()] for string in strings]
    if all(isinstance(value, int) or _INTEGER.fullmatch(value) for value in values):
        return [int(value) for value in values]
    return list(strings)


def _comment(note: str) -> list[str]:
    """A note as lines of a comment, without characters that would end one."""
    lines, line = [], ""
    for word in re.sub(r"[\x00-\x1f\x7f]", " ", note).split():
        if line and len(line) + len(word) > _WIDTH:
            lines.append(f"#{line}")
            line = ""
        line += f" {word}"
    return [*lines, f"#{line}"] if line else lines
