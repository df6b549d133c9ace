"""Labels, the names of values; and the rules for entries that are none of the values."""

import reprlib
from dataclasses import dataclass
from operator import index
from typing import Literal

import numpy as np

from residualplanner.ground.checks import is_unicode, value_text
from residualplanner.ground.errors import DomainError

#: The name of a value in the records and in output tables.
Label = str | int | bool


@dataclass(frozen=True, slots=True)
class Into:
    """The rule "count such a record under this label".

    Attributes:
        label: one of the attribute's values, as shown in tables, or a label that no value has.
    """

    label: Label


#: What becomes of a record: it is an error, it is left out of every table, or it is counted under a label.
Rule = Literal["error", "drop"] | Into


def plain_label(value: object) -> Label | None:
    """A string, truth value or integer as a Python str, bool or int, which NumPy's become; None for anything else."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    try:
        return index(value)  # type: ignore[arg-type]  # an object that is not an integer raises TypeError
    except TypeError:
        return None


def label_text(label: object) -> str:
    """A label as a string, truth values as CSV files have them: 7, "true", "F"."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def checked_label(name: str, label: object) -> Label:
    """The plain label; DomainError, which names the attribute, where it is not one."""
    plain = plain_label(label)
    if plain is None:
        raise attribute_error(name, f"has the label {value_text(label)}; labels are strings, integers or truth values")
    if isinstance(plain, str):
        if not is_unicode(plain):
            raise attribute_error(name, f"has the label {reprlib.repr(plain)}, which is not valid Unicode")
    elif not -(2**63) <= plain < 2**63:
        raise attribute_error(name, f"has the label {plain}, which needs more than 64 bits; make its labels strings")
    return plain


def attribute_error(name: str, problem: str) -> DomainError:
    """The error for an attribute, by its name."""
    return DomainError(f"attribute {name!r} {problem}", attributes=[name])
