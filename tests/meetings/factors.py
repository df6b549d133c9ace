"""What meets: factors and their values.  A new feature is a line here, and one in `refusals` if it is refused.

A value's name stands in the cases, in the messages and in the manual's table of what is refused; what it means stands
beside it, and `build` reads it.
"""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pyarrow as pa


def _named(names: str) -> dict[str, str]:
    """Values that are no more than their names."""
    return {name: name for name in names.split(" | ")}


@dataclass(frozen=True)
class Column:
    """The column ``a``: how it is declared, and its entries."""

    declared: Mapping[str, Any]
    entries: tuple[tuple[Any, ...], ...]
    stranger: Any
    type: pa.DataType


def _bins(kind: type, type_: pa.DataType) -> Column:
    entries = (("0", "0.3"), ("0.7", "1.05"), ("1.1", "2.4"), ("2.5", "4"))
    return Column(
        {"bins": (0, 0.7, 1.1, 2.5, 4)}, tuple(tuple(map(kind, found)) for found in entries), kind("4.25"), type_
    )


_TEXT = ("01", "02", "NO", "x y")
_TEXTS = {"labels": _TEXT}, tuple((text,) for text in _TEXT), "1"
#: What spreadsheets, readers of CSV and of missing values, and pages take for something else.
_ODD_TEXT = ("=1+1", 'a, "b" <i>', "nan", "Ω – ½")
_LARGE = (-(2**62), 2**53 + 1, 2**62, 2**62 + 1)
_DATES = tuple(dt.date(2020, 2, day) for day in (1, 15, 28, 29))
_MONTHS = tuple((dt.date(2020, month, 1), dt.date(2020, month, 28)) for month in (1, 2, 3, 4))
_MOMENTS = tuple((dt.datetime(2020, month, 1), dt.datetime(2020, month, 28, 13, 5)) for month in (1, 2, 3, 4))
_IN_MONTHS = {"months": ("2020-01", "2020-04")}

COLUMNS = {
    "text": Column(*_TEXTS, pa.string()),
    "categories": Column(*_TEXTS, pa.dictionary(pa.int8(), pa.string())),
    "odd text": Column({"labels": _ODD_TEXT}, tuple((text,) for text in _ODD_TEXT), "NaN", pa.string()),
    "one value": Column({"labels": ["only"]}, (("only",),), "other", pa.string()),
    "integers": Column({"labels": (3, 5, 7, 11)}, ((3,), (5,), (7,), (11,)), 4, pa.int64()),
    "large integers": Column({"labels": _LARGE}, tuple((number,) for number in _LARGE), 2**53, pa.int64()),
    "codes of 8 bits": Column({"size": 4}, ((0,), (1,), (2,), (3,)), 9, pa.int8()),
    "truth values": Column({"labels": (True, False)}, ((True,), (False,)), None, pa.bool_()),
    "floats": _bins(float, pa.float64()),
    "floats of 32 bits": _bins(float, pa.float32()),
    "decimals": _bins(Decimal, pa.decimal128(6, 2)),
    "dates": Column({"labels": _DATES}, tuple((day,) for day in _DATES), dt.date(2020, 3, 1), pa.date32()),
    "months": Column(_IN_MONTHS, _MONTHS, dt.date(2020, 5, 1), pa.date32()),
    "moments": Column(_IN_MONTHS, _MOMENTS, dt.datetime(2020, 5, 1), pa.timestamp("us")),
}


@dataclass(frozen=True)
class Rules:
    """What becomes of entries of ``a`` that are no values, and which of these there are."""

    unknown: str | int = "error"
    missing: str | int = "error"
    has_unknown: bool = False
    has_missing: bool = False


OTHER, MISSING = "Other", "Not stated"
ODD_ENTRIES = {
    "none": Rules(),
    "missing, with a label": Rules(missing=MISSING, has_missing=True),
    "unknown, with a label": Rules(unknown=OTHER, has_unknown=True),
    "both, each with a label": Rules(OTHER, MISSING, True, True),
    "both, with one label": Rules(OTHER, OTHER, True, True),
    "both, left out": Rules("drop", "drop", True, True),
    "none, with rules": Rules("drop", MISSING),
}


#: How many persons there are.
RECORDS = {"many": 24, "none": 0, "of one person": 1}


@dataclass(frozen=True)
class People:
    """Whose the records are: how many of each are protected, and how they are chosen."""

    most: int = 1
    limited: bool = False
    order: tuple[Any, ...] | None = None
    type: pa.DataType | None = None
    as_text: bool = False


PEOPLE = {
    "a record each": People(),
    "at most 2, promised": People(2),
    "2 are kept": People(2, True),
    "2 are kept, by integers": People(2, True, (-3, 0, 4, 17, 10**12), pa.int64()),
    "2 are kept, by floats": People(2, True, (-0.5, 0.0, 1.5, 2.25, 1e9), pa.float64()),
    "1 is kept, by dates": People(
        1, True, tuple(dt.date(2020, 1, day) for day in (1, 2, 3, 4, 30)), pa.date32(), as_text=True
    ),
    "1 is kept, by text": People(1, True, ("", "a", "b", "c", "d")[1:], pa.string(), as_text=True),
}

#: Kinds of query on ``a``.
KINDS = _named("identity | prefix | range | hierarchy | hierarchy without leaves | custom | proportions")

#: A query about some of the records: its kinds, and where.
UNIVERSES = {
    "everybody": None,
    "one value": ({"a": "identity"}, {"b": ["F"]}),
    "two attributes": ({"a": "identity"}, {"b": ["M"], "d": [0, 2]}),
    "the table's own attribute": ({"d": "identity", "b": "identity"}, {"d": [0, 2]}),
    "a kind": ({"a": "prefix"}, {"b": ["F"]}),
}


@dataclass(frozen=True)
class Amounts:
    """The column ``pay``: its bins, and the kind of query."""

    kind: Any
    edges: tuple[int, ...] = (0, 40)
    unit: str = "1"
    missing: bool = False
    scale: int = 1
    squares: bool = False


AMOUNTS = {
    "none": None,
    "sum": Amounts("sum"),
    "sum of negative ones": Amounts("sum", (-20, 40), "0.5"),
    "sum by bin": Amounts({"kind": "sum", "by": "bin"}, (0, 20, 40)),
    "mean": Amounts("mean", missing=True),
    "mean between": Amounts({"kind": "mean", "between": [10, 30]}),
    "quantiles": Amounts({"kind": "quantiles", "probabilities": [0.5]}, (0, 20, 40), missing=True),
    "sum of large ones": Amounts("sum", (0, 40 * 10**9), "1000", scale=10**9),
    "counts by bin": Amounts("identity", (0, 20, 40)),
    "proportions by bin": Amounts("proportions", (0, 20, 40), missing=True),
    "standard deviation": Amounts("standard deviation", missing=True, squares=True),
    "mean, with squares": Amounts("mean", squares=True),
    "moments": Amounts("moments", (0, 20, 40), missing=True, squares=True),
}


@dataclass(frozen=True)
class Weights:
    """The column ``w``."""

    maximum: str
    unit: str
    entries: tuple[str, ...]
    above: str = "refuse"


WEIGHTS = {
    "none": None,
    "integers": Weights("3", "1", ("0", "1", "2", "3")),
    "halves, clipped": Weights("2", "0.5", ("0", "0.5", "1.5", "2", "7"), "clip"),
}

#: Attributes, in how many a record must match, and where.
THRESHOLDS = {
    "none": None,
    "1 of 2": ("ad", 1, {}),
    "2 of 3": ("adb", 2, {}),
    "1 of 2, of some records": ("ad", 1, {"b": ["F"]}),
}

#: What is said of the columns, besides their names: all words that a schema may have, and meanings of values.
WORDS: dict[str, Mapping[str, Mapping[str, str]]] = {
    "none": {},
    "titles and meanings": {
        "a": {"title": "Job, or so", "unit": "codes", "source": "a list", "note": "says 'a'"},
        "b": {"title": "a"},
        "pay": {"title": "Salary", "unit": "dollars"},
    },
}
#: The values of ``b``, and what they mean where columns have words.
SEXES = {"F": "women", "M": "men & others"}

BASES = {"optimal": "optimal", "by set": "optimal_by_set", "orthogonal": "orthogonal", "given": "given"}

LOSSES = {"sum": "sum", "sum, equal": "equal"} | _named("max | targets | convex")

NEIGHBORS = _named("add-remove | replace")

SOURCES = _named(
    "pandas | pandas, objects | pandas, Arrow | Polars | Polars, lazy | Arrow | Arrow, stream | csv | csv.gz | "
    "Parquet | folder | DuckDB | Ibis | Dask | codes | counts"
)

#: How a measurement is made.
ROADS = _named(
    "measure | session | store | release | plan, measure, reconstruct | measurement from a file | "
    "folder of a release | linked tables | two measurements"
)

MEMORY = {"all at once": False, "in blocks": True}

NOISE = {"operating system": "discrete", "continuous": "gaussian", "test bits": "bits"}


@dataclass(frozen=True)
class Product:
    """What is published of the estimates."""

    nonnegative: bool = False
    base: int = 0
    with_unbiased: bool = False
    errors: bool = False
    known: bool = False


PRODUCTS = {
    "unbiased": Product(),
    "non-negative": Product(nonnegative=True),
    "rounded": Product(base=1),
    "rounded to 5": Product(base=5),
    "non-negative and rounded": Product(nonnegative=True, base=1),
    "with the unbiased": Product(nonnegative=True, with_unbiased=True),
    "with published errors": Product(nonnegative=True, errors=True),
    "with known counts": Product(nonnegative=True, known=True),
}

FORMATS = _named("parquet | csv | xlsx | workbook | parts")
PROFILES = _named("default | acs | gls")
LEVELS = {"the profile's": None, "0.8": 0.8}
QUALITIES = {"none": None, "graded": False, "suppressed": True}
READERS = {"load_tables": 0, "another": 1, "a third": 2}
REPORTS = {"none": 0, "of the folder": 1, "of the plan": 2, "of the folder, few cells": 3}

FACTORS: dict[str, Mapping[str, Any]] = {
    "source": SOURCES,
    "column": COLUMNS,
    "odd entries": ODD_ENTRIES,
    "records": RECORDS,
    "people": PEOPLE,
    "neighbors": NEIGHBORS,
    "kind": KINDS,
    "universe": UNIVERSES,
    "amounts": AMOUNTS,
    "weights": WEIGHTS,
    "threshold": THRESHOLDS,
    "words": WORDS,
    "bases": BASES,
    "loss": LOSSES,
    "road": ROADS,
    "memory": MEMORY,
    "noise": NOISE,
    "product": PRODUCTS,
    "format": FORMATS,
    "profile": PROFILES,
    "level": LEVELS,
    "quality": QUALITIES,
    "reader": READERS,
    "report": REPORTS,
}

#: What a case is where nothing else is asked for: the first value of each factor, of which nothing is refused.
PLAIN = {factor: next(iter(values)) for factor, values in FACTORS.items()}


@dataclass(frozen=True)
class Case:
    """One value of each factor."""

    values: Mapping[str, str] = field(default_factory=lambda: PLAIN)

    def __getitem__(self, factor: str) -> Any:
        return FACTORS[factor][self.values[factor]]

    @property
    def seed(self) -> str:
        """From which its records are drawn."""
        return " | ".join(self.values.values())

    def __str__(self) -> str:
        odd = {factor: value for factor, value in self.values.items() if value != PLAIN[factor]}
        return repr(odd)
