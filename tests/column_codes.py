"""Codes of whole columns of numbers or days, as the gate asks an attribute for them."""

import numpy as np

from inner_parts import MISSING, UNKNOWN, Into, columns

__all__ = ["MISSING", "UNKNOWN", "Into", "codes_of_days", "codes_of_entries", "codes_of_numbers"]


def codes_of_numbers(attribute, numbers):
    return _codes(attribute, "numbers", numbers)


def codes_of_days(attribute, days):
    return _codes(attribute, "dates", days)


def _codes(attribute, entries, column):
    codes_of = attribute.values.codes_of_column(entries)
    return np.full(len(column), UNKNOWN, dtype=np.int64) if codes_of is None else codes_of(column)


def codes_of_entries(attribute, entries):
    """Of entries of any type, one by one."""
    return columns.codes_of_values(attribute, entries)
