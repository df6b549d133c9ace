"""What the columns of a release's tables mean, for programs: one file for all tables."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.words import query_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.domain import clipping_of, omission_of
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind, labels_in_words
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.files import file_names
from residualplanner.release.product import Product
from residualplanner.release.profiles import QUERY, Profile
from residualplanner.release.quality import Publication
from residualplanner.release.statistic_forms import StatisticForm, kinds_of_statistics, statistic_form
from residualplanner.release.tidy_form import label_columns

#: The words of the vocabulary of CSV on the Web for what a column holds.
TEXT, INTEGER, TRUTH, NUMBER = "string", "integer", "boolean", "double"

#: The file of the errors of published numbers.
PUBLISHED_ERRORS_FILE = "published-errors.csv"

UNITS = "those of tables of sums are in errors.csv and, where the tables' files have more columns, in index.csv"
ROWS = "one row for each cell; the last attribute changes fastest"
VARIANCE = (
    "exact: it follows from the plan's noise variances alone, is not an estimate from the data, and was known before "
    "any record was read"
)
COVARIANCE = (
    "noise.csv has sigma^2 of every set of attributes that was measured.  Where all kinds are the identity and all "
    "bases are subtraction, cell x of a table on attributes A and cell y of one on B have the covariance: sum over all "
    "subsets C of both A and B of sigma_C^2 times the product over i in C of ([x_i = y_i] - 1/n_i), over i in A but "
    "not C of 1/n_i, and over i in B but not C of 1/n_i.  release.plan has the bases, too, for load_plan"
)

#: How spreadsheets show numbers that are not counts, and those of statistics.
_NUMBER_FORMATS = {"cv": "0.0%", "conf_level": "0.0##", "quality": "@"}
_OF_STATISTICS = "#,##0.00"
#: The folder of the files of statistics.
STATISTICS = "statistics"


class FileColumn(NamedTuple):
    """A column of a file beside its labels."""

    name: str
    datatype: str  # in the vocabulary of CSV on the Web
    unit: str  # empty where there is none
    meaning: str
    shown: str = ""  # how spreadsheets show its numbers; the cells hold every digit
    is_optional: bool = True  # whether a row may have nothing in it

    def to_json(self) -> dict[str, str]:
        """What it is, for programs."""
        return {"name": self.name, "datatype": self.datatype, "unit": self.unit, "meaning": self.meaning}

    @property
    def words(self) -> tuple[str, str, str]:
        """What it is, for people."""
        return self.name, self.unit, self.meaning


@dataclass(frozen=True, eq=False)
class FileForm:
    """What the file of a table holds, or that of the statistic that a table is for, with a row for each cell."""

    query: WrittenQuery
    file: str  # its path within the folder
    keys: tuple[tuple[int, Kind] | None, ...]  # the attribute and kind of each axis; None for one of other labels
    axes: tuple[Mapping[str, Sequence[object]], ...]  # the columns of labels along each axis, by name
    columns: tuple[FileColumn, ...]
    statistic: StatisticForm | None = None

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many labels there are along each axis."""
        return tuple(len(next(iter(labels.values()))) for labels in self.axes)

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return math.prod(self.shape)

    @property
    def attribute_of_values(self) -> Attribute | None:
        """Whose values an axis without a key has, as that of proportions; None where it has other labels."""
        form = self.statistic
        return form.attribute if form is not None and form.kind.axis_of_values else None

    @property
    def types(self) -> dict[str, str]:
        """The type of each column by its name, in their order."""
        labels = {name: label_type(values) for columns in self.axes for name, values in columns.items()}
        return labels | {column.name: column.datatype for column in self.columns}

    @property
    def number_formats(self) -> dict[str, str]:
        """By the name of a column how spreadsheets show its numbers."""
        return {column.name: column.shown for column in self.columns if column.shown}


class ComparisonForm(NamedTuple):
    """What the file of a comparison of tables holds."""

    name: str
    title: str  # what it is, in words
    columns: tuple[FileColumn, ...]  # of labels and of numbers

    @property
    def file(self) -> str:
        """Its path within the folder."""
        return f"comparison-{self.name}.csv"

    def to_json(self) -> dict[str, Any]:
        """What it is, for programs."""
        columns = [column.to_json() for column in self.columns]
        return {"name": self.name, "file": self.file, "title": self.title, "columns": columns}


@dataclass(frozen=True, eq=False)
class Description:
    """A release as it is written."""

    plan: Plan
    noise: NoiseRecord
    file_format: str
    profile: Profile
    level: float  # of confidence
    publication: Publication = field(default_factory=Publication)
    comparisons: Mapping[str, ComparisonForm] = field(default_factory=dict)
    #: Columns of units, and labels of attributes and kinds, so far: many tables have the same ones.
    _known: dict[Any, Any] = field(init=False, repr=False, default_factory=dict)

    @cached_property
    def parts(self) -> file_names.NameParts:
        """What each attribute contributes to names for each kind of query on it."""
        return file_names.parts_of_workload(self.plan.workload)

    @cached_property
    def plan_sha256(self) -> str:
        """The hash of the plan."""
        return plan_hash(self.plan)

    def parts_of(self, query: WrittenQuery) -> list[str]:
        """What the attributes of a query, with the kinds on them, contribute to the name of its table."""
        return [self.parts[pair] for pair in zip(*query, strict=True)]

    def file_of(self, query: WrittenQuery, folder: str = "tables") -> str:
        """The path of the file of a query's table, or of its statistic, within the folder of the release."""
        if self.file_format == file_names.BOOK_FORMAT:
            return file_names.BOOK_FILE
        return f"{folder}/{file_names.file_stem(self.parts_of(query))}.{self.file_format}"

    def table_form(self, query: WrittenQuery) -> FileForm:
        """What the file of a query's table holds."""
        keys = tuple(zip(*query.table_axes, strict=True))
        for key in keys:
            if key not in self._known:
                self._known[key] = label_columns(self.plan.domain.attributes[key[0]], key[1])
        columns = self.columns(query.unit(self.plan.domain))
        return FileForm(query, self.file_of(query), keys, tuple(map(self._known.__getitem__, keys)), columns)

    def statistic_form(self, query: WrittenQuery) -> FileForm | None:
        """What the file of the statistic that a query is for holds; None where it is for none."""
        form = statistic_form(self.plan.domain, self.profile, query)
        if form is None:
            return None
        kinds = [(TRUTH, "") if column.of == "truth" else (NUMBER, _OF_STATISTICS) for column in form.columns]
        words = zip(kinds, form.described(self.plan.domain.unit, self.level), strict=True)
        columns = tuple(FileColumn(name, kind, unit, meaning, shown) for (kind, shown), (name, unit, meaning) in words)
        of_groups = zip(form.positions, (kind for _, kind in form.groups), strict=True)
        keys = (*of_groups, *(None for _ in form.kind.more_axes))
        return FileForm(query, self.file_of(query, STATISTICS), keys, form.axes, columns, form)

    def statistic_forms(self) -> Iterator[FileForm]:
        """What the files of all statistics hold, in the order of their queries."""
        if kinds_of_statistics(self.plan.workload):
            yield from filter(None, map(self.statistic_form, file_names.written_queries(self.plan.workload)))

    @property
    def product(self) -> Product:
        """What the numbers of the tables are."""
        return self.profile.product

    @property
    def about_product(self) -> dict[str, Any]:
        """The entries on product and quality in metadata and manifest: none of estimates without bias and grades."""
        made = {"product": self.product.to_json(), "with_unbiased": self.profile.with_unbiased}
        product = {} if self.product.is_unbiased else made
        return product | ({} if self.profile.quality is None else {"quality": self.profile.quality.to_json()})

    def columns(self, unit: str) -> tuple[FileColumn, ...]:
        """Every column beside the labels in tables of this unit."""
        if unit not in self._known:
            quantities, optional = dict(self.profile.columns), self.profile.optional_names
            every = []
            for name, own_unit, meaning in self.profile.meanings(self.level, unit):
                is_integer = self.profile.has_integers and name == self.profile.estimate_name
                is_text = name == QUERY or quantities[name] == "quality"
                datatype = TEXT if is_text else INTEGER if is_integer else NUMBER
                shown = _NUMBER_FORMATS.get(quantities.get(name, ""), "#,##0" if is_integer else "#,##0.0")
                shown = shown if name in quantities else ""
                every.append(FileColumn(name, datatype, own_unit, meaning, shown, name in optional))
            self._known[unit] = tuple(every)
        found: tuple[FileColumn, ...] = self._known[unit]
        return found

    def metadata(self) -> dict[str, Any]:
        """What the tables hold, as JSON values."""
        about = {
            "rows": ROWS,
            **({"left_out": omission} if (omission := omission_of(self.plan.domain)) else {}),
            **({"limits": clipping} if (clipping := clipping_of(self.plan.domain)) else {}),
            **({"weights": weights} if (weights := self.plan.domain.weight.sentence) else {}),
            "columns": [column.to_json() for column in self.columns(self.plan.domain.unit)],
            **({"units": UNITS} if self.plan.workload.has_sums else {}),
            "conf_level": self.level,
            "variance": VARIANCE,
            **({"covariance": COVARIANCE} if self.profile.has_noise else {}),
            "attributes": [self._attribute(position) for position in sorted({position for position, _ in self.parts})],
            **self.about_product,
        }
        privacy = {"guarantee": self.noise.guarantee, "protected_change": self.plan.neighbors.words}
        stated = {"tables": about, "profile": self.profile.name, "plan_sha256": self.plan_sha256, "privacy": privacy}
        compared = [form.to_json() for form in self.comparisons.values()]
        compared_if_any = {"comparisons": compared} if compared else {}
        return ({"publication": self.publication.to_json()} if self.publication else {}) | stated | compared_if_any

    def about_query(self, name: str, kinds: str, query: WrittenQuery) -> list[tuple[str, str]]:
        """What one table is, but not its columns, in pairs of strings, from its query and kinds in words."""
        universe = self._universe(query)
        return [
            *self.publication.to_json().items(),
            ("table", name),
            *([("kinds of query", kinds)] if kinds else []),
            *([("universe", f"records with {universe}")] if universe else []),
            *self.about_every,
        ]

    @property
    def about_every(self) -> list[tuple[str, str]]:
        """What is true of every table, in pairs of strings."""
        return [
            ("rows", ROWS),
            ("confidence level", str(self.level)),
            ("variances", VARIANCE),
            *([("numbers", self.product.sentences)] if self.product.sentences else []),
            ("privacy", self.noise.guarantee),
            ("plan", f"SHA-256 {self.plan_sha256}"),
        ]

    def about_statistics(self) -> dict[str, Any]:
        """The entry of the metadata on statistics: of each file its columns; none where there are no files."""
        files = []
        for form in self.statistic_forms():
            place = {} if self.file_format == file_names.BOOK_FORMAT else {"file": form.file}
            columns = [words_json(column.words) for column in form.columns]
            files.append({**place, "query": form.query.words(self.plan.domain), "columns": columns})
        return {"statistics": files} if files else {}

    def about_attributes(self, positions: Sequence[int]) -> list[tuple[str, ...]]:
        """The columns of labels that something is said about: name, unit, meaning."""
        described = [self.plan.domain.attributes[position] for position in positions]
        texts = [(each.name, each.about, (each.about.title, each.about.note, each.about.source)) for each in described]
        return [(name, about.unit, "; ".join(filter(None, words))) for name, about, words in texts if about]

    def title_of(self, query: WrittenQuery) -> str:
        """The headings of the attributes of a table in words; empty where none of them has a title."""
        attributes = self.plan.domain.attributes
        if not any(attributes[position].about.title for position in query.positions):
            return ""
        headings = [attributes[position].heading for position in query.table_axes.positions]
        return query_text(headings, [self._universe(query)])

    def _universe(self, query: WrittenQuery) -> str:
        """Which records a table is about, by the headings of attributes and the meanings of values; empty for all."""
        attributes = self.plan.domain.attributes
        pairs = [(attributes[position], kind.universe) for position, kind in zip(*query.universe, strict=True)]
        return ", ".join(f"{attribute.heading}: {labels_in_words(kind, attribute)[0]}" for attribute, kind in pairs)

    def _attribute(self, position: int) -> dict[str, Any]:
        attribute, kinds = self.plan.domain.attributes[position], list(self.plan.workload.kinds)
        pairs = zip(attribute.value_labels, attribute.value_meanings, strict=True)
        values = [{"label": label, "meaning": meaning} for label, meaning in pairs] if attribute.meanings else []
        return {
            "name": attribute.name,
            **attribute.about.to_json(),
            "size": attribute.size,
            **({"values": values} if values else {}),
            "kinds": [
                {
                    "in_names": part,
                    "kind": kind.name,
                    "kind_number": kinds.index(kind),
                    "datatype": label_type(kind.labels(attribute)),
                    **({"among": [*kind.where], "is_column": kind.is_axis} if kind.where else {}),
                }
                for (each, kind), part in self.parts.items()
                if each == position
            ],
        }


def words_json(words: tuple[str, str, str]) -> dict[str, str]:
    """Name, unit and meaning of a column as JSON values."""
    return dict(zip(("name", "unit", "meaning"), words, strict=True))


def label_type(labels: Sequence[object]) -> str:
    """The type of labels in a table, in the vocabulary of CSV on the Web."""
    words = ((bool, TRUTH), (int, INTEGER), (float, NUMBER))  # truth values are integers, too
    return next((word for kind, word in words if isinstance(labels[0], kind)), TEXT)
