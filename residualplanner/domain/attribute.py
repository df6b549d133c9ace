"""One column of the table: its possible values, and the rules for all others.

Reads: the user's declarations.  Gives: Attribute.  Never sees a record.
"""

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from operator import index
from typing import Literal

import numpy as np

from residualplanner._checks import is_unicode, value_text
from residualplanner.domain.bins import Bins
from residualplanner.errors import DomainError

#: The name of a value in the records and in output tables.
Label = str | int | bool
#: How the raw values of a column are matched: as codes 0 .. size-1, integers, strings, truth values, numbers in bins.
Matching = Literal["code", "integer", "text", "truth", "bin"]


@dataclass(frozen=True, slots=True)
class Into:
    """The rule "count such a record as if it had this label".

    Attributes:
        label: one of the attribute's values, as shown in tables.
    """

    label: Label


#: What becomes of a record: it is an error, it is left out of every table, or it is counted under a label.
Rule = Literal["error", "drop"] | Into


@dataclass(frozen=True, init=False, repr=False)
class Attribute:
    """One column of the table, described by exactly one of a size, labels, or bins.

    Args:
        name: the column's name, unique in its domain.
        size: how many values it can take; the records hold the codes 0 .. size-1.
        labels: the values themselves, all strings, all integers or all truth values.
        bins: intervals, for a column of numbers.
        unknown: what becomes of a record whose value is not one of these: ``"error"``, ``"drop"`` (it is left out of
            every table), or a label it is counted under.  The words "error" and "drop" always mean the rule; where
            they are labels as well, write ``Into("drop")`` for the label.
        missing: the same for a record without a value.

    Attributes:
        name: as given.
        size: how many values it can take, at least 1.
        labels: as given, or None.
        bins: as given, or None.
        unknown: "error", "drop" or Into(label).
        missing: "error", "drop" or Into(label).
        matching: how raw values are matched: "code", "integer", "text", "truth" or "bin".

    Raises:
        DomainError: no name; none or several of size, labels and bins; labels that repeat or mix kinds; a rule with an
            unknown label.

    Example:
        >>> Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="drop")
        Attribute('sex', labels=['F', 'M', '?'], unknown=Into(label='?'), missing='drop')
        >>> Attribute("income", bins=Bins([0, 10, 20])).value_labels
        ('[0, 10)', '[10, 20]')
    """

    name: str
    size: int
    labels: tuple[Label, ...] | None
    bins: Bins | None
    unknown: Rule
    missing: Rule
    matching: Matching = field(repr=False)

    def __init__(
        self,
        name: str,
        size: int | None = None,
        *,
        labels: Iterable[Label] | None = None,
        bins: Bins | None = None,
        unknown: Rule | Label = "error",
        missing: Rule | Label = "error",
    ) -> None:
        _require_name(name)
        if sum(given is not None for given in (size, labels, bins)) != 1:
            raise _error(name, "needs exactly one of size, labels and bins")
        if bins is not None and not isinstance(bins, Bins):
            raise _error(name, f"has bins of type {type(bins).__name__}; write Bins([...])")
        checked = None if labels is None else _checked_labels(name, labels)
        values = checked if checked is not None else bins
        self._set("name", str(name))
        self._set("size", len(values) if values is not None else _checked_size(name, size))
        self._set("labels", checked)
        self._set("bins", bins)
        self._set("matching", _matching(checked, bins))
        self._set("unknown", self._rule("unknown", unknown))
        self._set("missing", self._rule("missing", missing))

    @cached_property
    def value_labels(self) -> tuple[Label, ...]:
        """The values in the order of their codes, as output tables show them, (size,)."""
        if self.bins is not None:
            return self.bins.labels
        return self.labels if self.labels is not None else tuple(range(self.size))

    def code_of_label(self, label: Label) -> int:
        """The code of a value as shown in tables.

        Args:
            label: one of ``value_labels``; True is not 1.

        Returns:
            Its position in ``value_labels``.

        Raises:
            DomainError: there is no such value.

        Example:
            >>> Attribute("sex", labels=["F", "M"]).code_of_label("M")
            1
        """
        is_truth = self.matching == "truth"
        if isinstance(label, str | int) and isinstance(label, bool) == is_truth:
            if self.matching == "code" and not isinstance(label, str) and 0 <= label < self.size:
                return int(label)
            if self.matching != "code" and label in self.value_labels:
                return self.value_labels.index(label)
        raise _error(self.name, f"has no value {reprlib.repr(label)}; its values are {_list_text(self)}")

    def __repr__(self) -> str:
        what = f"size={self.size}" if self.labels is None else f"labels={_list_text(self)}"
        what = what if self.bins is None else f"bins={self.bins!r}"
        rules = [
            f"{word}={rule!r}"
            for word, rule in (("unknown", self.unknown), ("missing", self.missing))
            if rule != "error"
        ]
        return f"Attribute({', '.join([repr(self.name), what, *rules])})"

    def _set(self, word: str, value: object) -> None:
        object.__setattr__(self, word, value)

    def _rule(self, word: str, rule: Rule | Label) -> Rule:
        if isinstance(rule, str) and rule in ("error", "drop"):
            return "error" if rule == "error" else "drop"
        label = rule.label if isinstance(rule, Into) else rule
        try:
            code = self.code_of_label(label)
        except DomainError:
            message = f"has {word}={reprlib.repr(label)}; write 'error', 'drop' or one of its values {_list_text(self)}"
            raise _error(self.name, message) from None
        return Into(code if self.matching == "code" else self.value_labels[code])


def _error(name: str, problem: str) -> DomainError:
    return DomainError(f"attribute {name!r} {problem}", attributes=[name])


def _require_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise DomainError(f"an attribute's name must be a string that is not empty, got {value_text(name)}")
    if not is_unicode(name):
        raise DomainError(f"the attribute name {name!r} is not valid Unicode")


def _checked_size(name: str, size: object) -> int:
    count = plain_label(size)
    if isinstance(count, str | bool | None):
        raise _error(name, f"needs an integer for its size, got {value_text(size)}")
    if not 1 <= count < 2**63:
        raise _error(name, f"needs at least 1 value and fewer than 2**63, got size {count}")
    return count


def _checked_labels(name: str, labels: Iterable[Label]) -> tuple[Label, ...]:
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise _error(name, f"needs a list of labels, got {value_text(labels)}")
    plain = tuple(_checked_label(name, label) for label in labels)
    if not plain:
        raise _error(name, "needs at least 1 label")
    if len({type(label) for label in plain}) > 1:
        raise _error(name, "mixes kinds of labels; make them all strings, all integers or all truth values")
    if len(set(plain)) < len(plain):
        raise _error(name, "has a label twice")
    return plain


def plain_label(value: object) -> Label | None:
    """A string, truth value or integer as a Python str, bool or int, which NumPy's become; None for anything else."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        return index(value)  # type: ignore[arg-type]  # TypeError where it is no integer is the point
    except TypeError:
        return None


def _checked_label(name: str, label: object) -> Label:
    plain = plain_label(label)
    if plain is None:
        raise _error(name, f"has the label {value_text(label)}; labels are strings, integers or truth values")
    if isinstance(plain, str):
        if not is_unicode(plain):
            raise _error(name, f"has the label {reprlib.repr(plain)}, which is not valid Unicode")
    elif not -(2**63) <= plain < 2**63:
        raise _error(name, f"has the label {plain}, which needs more than 64 bits; make its labels strings")
    return plain


def _matching(labels: tuple[Label, ...] | None, bins: Bins | None) -> Matching:
    if labels is None:
        return "code" if bins is None else "bin"
    if isinstance(labels[0], str):
        return "text"
    return "truth" if isinstance(labels[0], bool) else "integer"


def _list_text(attribute: Attribute) -> str:
    """Its values, at most six of them."""
    if attribute.matching == "code":
        return f"0 .. {attribute.size - 1}"
    return reprlib.repr(list(attribute.value_labels))
