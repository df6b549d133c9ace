"""One column of the table: its possible values, the rules for all others, and what is said about it for people."""

import datetime as dt
import reprlib
from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from residualplanner.ground.checks import is_unicode, value_text
from residualplanner.ground.errors import DomainError
from residualplanner.ground.notebooks import ROWS, html_table, rest_note
from residualplanner.ground.words import suggestion
from residualplanner.method.domain.bins import Bins
from residualplanner.method.domain.families import UNKNOWN, Codes, Listed, Matching, values_of_labels
from residualplanner.method.domain.labels import Into, Label, Rule, attribute_error, label_text, plain_label

if TYPE_CHECKING:
    from residualplanner.more.amounts.numeric import Numeric

#: The values that the entries of an attribute's column can have, in the order of their codes, of one family.
Values: TypeAlias = "Codes | Listed | Bins | Numeric"
#: The most letters of each.
_LONGEST = 10_000


class Words:
    """Words for readers of tables: a frozen dataclass of strings that may be published; what is empty is left out."""

    __slots__ = ()
    subject: ClassVar[str]  # what they are about, in messages
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __post_init__(self) -> None:
        for word in self.__dataclass_fields__:
            text = getattr(self, word)
            if not isinstance(text, str):
                raise DomainError(f"the {word} of {self.subject} must be a string, got {value_text(text)}")
            if not is_unicode(text) or len(text) > _LONGEST:
                raise DomainError(f"the {word} of {self.subject} must be valid Unicode of at most {_LONGEST:,} letters")

    def __bool__(self) -> bool:
        return bool(self.to_json())

    def to_json(self) -> dict[str, str]:
        """What is not empty, by name."""
        return {word: text for word in self.__dataclass_fields__ if (text := getattr(self, word))}


@dataclass(frozen=True, slots=True, kw_only=True)
class About(Words):
    """Words about an attribute for readers of tables.  It changes no number; what is empty is left out.

    Attributes:
        title: what the attribute is called, such as "Household income".
        unit: of its values, such as "US dollars a year".
        source: where the definition is from, such as "American Community Survey 2016".
        note: anything else, such as "before taxes".

    Raises:
        DomainError: one of them is not a string, not valid Unicode, or has more than 10,000 letters.

    Example:
        >>> About(title="Household income", unit="US dollars").to_json()
        {'title': 'Household income', 'unit': 'US dollars'}
    """

    subject = "an attribute"

    title: str = ""
    unit: str = ""
    source: str = ""
    note: str = ""

    def __repr__(self) -> str:
        return f"About({', '.join(f'{word}={text!r}' for word, text in self.to_json().items())})"


def checked_rule(name: str, values: Values, word: str, rule: Rule | Label) -> Rule:
    """The rule of an attribute for entries that are ``word``, unknown or missing, from what users may write."""
    if isinstance(rule, str) and rule in ("error", "drop"):
        return "error" if rule == "error" else "drop"
    label = rule.label if isinstance(rule, Into) else rule
    plain, code = plain_label(label), values.code_of_label(_plain(label))
    if code is not None:
        return Into(code if isinstance(values, Codes) else values.labels[code])
    is_misspelled_word = isinstance(rule, str) and rule.casefold() in ("error", "drop")
    if not isinstance(plain, str) or not plain.strip() or not is_unicode(plain) or is_misspelled_word:
        problem = f"has {word}={reprlib.repr(label)}; write 'error', 'drop' or one of its values {list_text(values)}"
        raise attribute_error(name, f"{problem}, or another string as a label of its own")
    value = _confused(values, plain, is_meant=isinstance(rule, Into))
    if value is not None:
        problem = f"has {word}={reprlib.repr(label)}, which is hard to tell from its value {value!r}; write the value"
        raise attribute_error(name, f"{problem} as it was declared, or another label, or Into(label)")
    return Into(plain)


def list_text(values: Values) -> str:
    """The values, at most six of them."""
    return f"0 .. {len(values) - 1}" if isinstance(values, Codes) else reprlib.repr(list(values.labels))


def _confused(values: Values, label: str, *, is_meant: bool) -> str | None:
    """The value that is shown as a label, or where the label may not be meant, in other letters or with spaces."""
    if isinstance(values, Codes):  # of which there may be too many to list
        return label if values.code_of(label) != UNKNOWN else None

    def read(text: str) -> str:
        return text if is_meant else text.casefold().strip()

    return next((text for text in map(label_text, values.labels) if read(text) == read(label)), None)


#: To so many values a label that is none of them is compared, for the likeliest.
_COMPARED = 1_000


@dataclass(frozen=True, init=False, repr=False)
class Attribute:
    """One column of the table, described by exactly one of a size, labels, bins, or limits of amounts.

    Args:
        name: the column's name, unique in its domain.
        size: how many values it can take; the records hold the codes 0 .. size-1.
        labels: the values themselves, all strings, all integers, all truth values or all dates; or a mapping from each
            value to its meaning, in words, which tables show beside it.
        bins: intervals, for a column of numbers or dates.
        numeric: limits and bins of amounts, for a column whose sums are published.
        unknown: what becomes of a record whose value is not one of these: ``"error"``, ``"drop"`` (it is left out of
            every table), or a label it is counted under: one of the values, or a label of its own, such as "Other".
            The words "error" and "drop" always mean the rule; where they are labels, write ``Into("drop")``.
        missing: the same for a record without a value; a label of its own is, say, "Not stated".
        about: its title, unit, source and notes.

    Labels of their own come after the values, in every table: first that of ``unknown``.  No entry of a column matches
    one.  Values that are not strings are then shown as strings, so that all labels of a column are of one type.

    Attributes:
        values: the values, without labels of their own.
        unknown: "error", "drop" or Into(label).
        missing: "error", "drop" or Into(label).
        meanings (m,): of each of the m values; (0,) where none has one.

    Raises:
        DomainError: no name; none or several of size, labels, bins and numeric; labels that repeat or mix kinds;
            meanings that are not strings; a rule whose label is a value in other letters, unless it is written as
            Into(label), or is that of a bin of amounts.

    Example:
        >>> Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="drop")
        Attribute('sex', labels=['F', 'M', '?'], unknown=Into(label='?'), missing='drop')
        >>> Attribute("income", bins=Bins([0, 10, 20]), missing="Not stated").value_labels
        ('[0, 10)', '[10, 20]', 'Not stated')
        >>> Attribute("sex", labels={1: "female", 2: "male"}).value_meanings
        ('female', 'male')
    """

    name: str
    values: Values
    unknown: Rule
    missing: Rule
    meanings: tuple[str, ...]
    about: About

    def __init__(
        self,
        name: str,
        size: int | None = None,
        *,
        labels: Iterable[Label | dt.date] | Mapping[Label, str] | None = None,
        bins: Bins | None = None,
        numeric: "Numeric | None" = None,
        unknown: Rule | Label = "error",
        missing: Rule | Label = "error",
        about: About | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise DomainError(f"an attribute's name must be a string that is not empty, got {value_text(name)}")
        if not is_unicode(name):
            raise DomainError(f"the attribute name {name!r} is not valid Unicode")
        if sum(given is not None for given in (size, labels, bins, numeric)) != 1:
            raise attribute_error(name, "needs exactly one of size, labels, bins and numeric")
        if about is not None and not isinstance(about, About):
            raise attribute_error(name, f'has about={value_text(about)}; write About(title="...")')
        self._set("name", str(name))
        self._set("values", _values(name, size, labels, bins, numeric))
        self._set("meanings", _meanings(name, labels) if isinstance(labels, Mapping) else ())
        self._set("about", about or About())
        self._set("unknown", checked_rule(self.name, self.values, "unknown", unknown))
        self._set("missing", checked_rule(self.name, self.values, "missing", missing))
        into = {rule.label for rule in (self.unknown, self.missing) if isinstance(rule, Into)}
        if numeric is not None and not len(into) == len(self.own_labels) == len(self.by_bin.own_labels):
            # A record without an amount would be counted as if it had one.
            raise attribute_error(self.name, "counts entries that are no amounts in a bin; write a label of their own")

    @cached_property
    def size(self) -> int:
        """How many values it can take, labels of their own included, at least 1."""
        return len(self.values) + len(self.own_labels)

    @cached_property
    def own_labels(self) -> tuple[str, ...]:
        """The labels of unknown and missing entries that are not labels of values."""
        rules = [rule for rule in (self.unknown, self.missing) if isinstance(rule, Into)]
        own = [rule.label for rule in rules if self.values.code_of_label(rule.label) is None]
        return tuple(dict.fromkeys(map(str, own)))

    @property
    def heading(self) -> str:
        """What stands above its column for people: its title and unit, or its name if it has no title."""
        about = self.about
        return ", ".join(filter(None, (about.title, about.unit))) if about.title else self.name

    @property
    def labels(self) -> tuple[Label, ...] | None:
        """The values where they were declared as labels, as tables show them, or None."""
        return self.values.labels if isinstance(self.values, Listed) else None

    @property
    def bins(self) -> Bins | None:
        """The values where they were declared as bins, or None."""
        return self.values if isinstance(self.values, Bins) else None

    @property
    def numeric(self) -> "Numeric | None":
        """The limits and bins of amounts, where these were declared, or None."""
        return cast("Numeric", self.values) if self.values.matching == "amount" else None

    @cached_property
    def by_bin(self) -> "Attribute":
        """What queries are about: of amounts the attribute of their bins, of any other values the attribute itself."""
        if self.numeric is None:
            return self
        bins, about = self.numeric.bins, self.about
        return Attribute(self.name, bins=bins, unknown=self.unknown, missing=self.missing, about=about)

    @property
    def denominator(self) -> int:
        """Of the fractions of records that are counted by its values: 1 unless these are amounts."""
        return 1 if self.numeric is None else self.numeric.denominator

    @property
    def matching(self) -> Matching:
        """How raw values are matched: "code", "integer", "text", "truth", "date", "bin" or "amount"."""
        return self.values.matching

    @cached_property
    def value_labels(self) -> tuple[Label, ...]:
        """The values in the order of their codes, as output tables show them, (size,)."""
        labels = self.values.labels
        return (*map(label_text, labels), *self.own_labels) if self.own_labels else labels

    @cached_property
    def value_meanings(self) -> tuple[str, ...]:
        """What each of `value_labels` means in words, (size,): its meaning, or else the label itself."""
        meant = self.meanings or ("",) * len(self.values)
        labels = map(label_text, self.value_labels)
        return tuple(meaning or label for meaning, label in zip((*meant, *self.own_labels), labels, strict=True))

    def code_of_label(self, label: Label | dt.date) -> int:
        """The code of a value as shown in tables, or as it was declared; DomainError if there is none."""
        code = self.values.code_of_label(_plain(label))
        if code is None and self.own_labels and isinstance(label, str) and label in self.value_labels:
            code = self.value_labels.index(label)
        if code is None:
            texts = [] if isinstance(self.values, Codes) else list(map(str, self.value_labels[:_COMPARED]))
            problem = f"has no value {reprlib.repr(label)}; its values are {list_text(self.values)}"
            raise attribute_error(self.name, problem + suggestion(label, texts))
        return code

    def described(self, about: About) -> "Attribute":
        """The same attribute with other words about it."""
        twin = copy(self)
        twin._set("about", about)
        return twin

    def __repr__(self) -> str:
        rules = {word: rule for word, rule in (("unknown", self.unknown), ("missing", self.missing)) if rule != "error"}
        shown = rules | ({"about": self.about} if self.about else {})
        texts = [f"{word}={value!r}" for word, value in shown.items()]
        return f"Attribute({', '.join([repr(self.name), self._values_text(), *texts])})"

    def _repr_html_(self) -> str:
        labels, meanings = self.value_labels[:ROWS], self.value_meanings[:ROWS]
        rows = [
            (code, label, meaning if meaning != label_text(label) else "")
            for code, (label, meaning) in enumerate(zip(labels, meanings, strict=True))
        ]
        note = rest_note(self.size - len(rows), ".value_labels has all")
        return html_table(f"Attribute {self.name}: {self.size:,} values", ["code", "label", "meaning"], rows, note=note)

    def _values_text(self) -> str:
        if self.bins is not None:
            return f"bins={self.bins!r}"
        if self.numeric is not None:
            return f"numeric={self.numeric!r}"
        if self.meanings:
            return f"labels={reprlib.repr(dict(zip(self.values.labels, self.meanings, strict=True)))}"
        return f"size={len(self.values)}" if self.labels is None else f"labels={list_text(self.values)}"

    def _set(self, word: str, value: object) -> None:
        object.__setattr__(self, word, value)


def _plain(label: object) -> object:
    """A label as Python's own type; a date, or anything that is not a label, as it is."""
    plain = plain_label(label)
    return label if plain is None else plain


def _values(name: str, size: object, labels: object, bins: object, numeric: object) -> Values:
    if labels is not None:
        return values_of_labels(name, labels)
    if numeric is not None:
        if isinstance(numeric, type) or getattr(numeric, "matching", None) != "amount":
            raise attribute_error(name, f"has numeric={value_text(numeric)}; write Numeric(low, high)")
        return cast("Numeric", numeric)
    if bins is None:
        count = plain_label(size)
        if isinstance(count, str | bool | None):
            raise attribute_error(name, f"needs an integer for its size, got {value_text(size)}")
        if not 1 <= count < 2**63:
            raise attribute_error(name, f"needs at least 1 value and fewer than 2**63, got size {count}")
        return Codes(count)
    if not isinstance(bins, Bins):
        raise attribute_error(name, f"has bins of type {type(bins).__name__}; write Bins([...])")
    return bins


def _meanings(name: str, labels: Mapping[Label, str]) -> tuple[str, ...]:
    meanings = tuple(labels.values())
    for meaning in meanings:
        if not isinstance(meaning, str) or not is_unicode(meaning):
            raise attribute_error(name, f"has a meaning that is not a string of valid Unicode: {value_text(meaning)}")
    return tuple(map(str, meanings)) if any(meanings) else ()
