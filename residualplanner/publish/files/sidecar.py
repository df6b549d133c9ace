"""What the columns of a release's tables mean, for programs: one file for all tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from residualplanner.gate.measurement.noise_record import NoiseRecord
from residualplanner.ground.words import query_text
from residualplanner.method.domain.domain import omission_of
from residualplanner.method.plan.files import plan_hash
from residualplanner.method.plan.plan import Plan
from residualplanner.method.queries.kind import Kind, labels_in_words
from residualplanner.method.workload.query import WrittenQuery
from residualplanner.publish.files.file_names import NameParts, parts_of_workload
from residualplanner.release.product import Product
from residualplanner.release.profiles import Profile
from residualplanner.release.quality import Publication

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

#: How spreadsheets show numbers that are not counts.
_NUMBER_FORMATS = {"cv": "0.0%", "conf_level": "0.0##", "quality": "@"}


@dataclass(frozen=True, eq=False, slots=True)
class Description:
    """A release as it is written."""

    plan: Plan
    noise: NoiseRecord
    file_format: str
    profile: Profile
    level: float  # of confidence
    publication: Publication = field(default_factory=Publication)
    parts: NameParts = field(init=False)
    plan_sha256: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", parts_of_workload(self.plan.workload))
        object.__setattr__(self, "plan_sha256", plan_hash(self.plan))

    def parts_of(self, positions: Sequence[int], kinds: Sequence[Kind]) -> list[str]:
        """What the attributes of a query, with the kinds on them, contribute to the name of its table."""
        return [self.parts[pair] for pair in zip(positions, kinds, strict=True)]

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

    def columns(self, unit: str) -> list[dict[str, str]]:
        """Name, type, unit and meaning of every column beside the attributes', in tables of this unit."""
        return [
            {"name": name, "datatype": self.datatype(name), "unit": unit, "meaning": meaning}
            for name, unit, meaning in self.profile.meanings(self.level, unit)
        ]

    def datatype(self, name: str) -> str:
        """The type of a column beside the attributes'."""
        if name in self.profile.text_names:
            return TEXT
        return INTEGER if self.profile.has_integers and name == self.profile.estimate_name else NUMBER

    def metadata(self) -> dict[str, Any]:
        """What the tables hold, as JSON values."""
        about = {
            "rows": ROWS,
            **({"left_out": omission} if (omission := omission_of(self.plan.domain)) else {}),
            **({"weights": weights} if (weights := self.plan.domain.weight.sentence) else {}),
            "columns": self.columns(self.plan.domain.unit),
            **({"units": UNITS} if self.plan.workload.has_sums else {}),
            "conf_level": self.level,
            "variance": VARIANCE,
            **({"covariance": COVARIANCE} if self.profile.has_noise else {}),
            "attributes": [self._attribute(position) for position in sorted({position for position, _ in self.parts})],
            **self.about_product,
        }
        privacy = {"guarantee": self.noise.guarantee, "protected_change": self.plan.neighbors.words}
        stated = {"tables": about, "profile": self.profile.name, "plan_sha256": self.plan_sha256, "privacy": privacy}
        return ({"publication": self.publication.to_json()} if self.publication else {}) | stated

    @property
    def number_formats(self) -> dict[str, str]:
        """By the name of a column of numbers how spreadsheets show these; the cells hold every digit."""
        return {
            name: _NUMBER_FORMATS.get(quantity, "#,##0" if self.datatype(name) == INTEGER else "#,##0.0")
            for name, quantity in self.profile.columns
        }

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

    def about_columns(self, positions: Sequence[int], unit: str) -> list[tuple[str, ...]]:
        """Name, unit and meaning of the columns of a table of some attributes, where there is something to say."""
        values = [(column["name"], column["unit"], column["meaning"]) for column in self.columns(unit)]
        return [*self.about_attributes(positions), *values]

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


def label_type(labels: Sequence[object]) -> str:
    """The type of labels in a table, in the vocabulary of CSV on the Web."""
    first = labels[0]
    if isinstance(first, bool):
        return TRUTH
    if isinstance(first, float):
        return NUMBER
    return INTEGER if isinstance(first, int) else TEXT
