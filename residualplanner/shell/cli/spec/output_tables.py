"""The tables of a spec file on what is published: comparisons, maps, quality, and numbers that are adjusted."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, model_validator

from residualplanner.ground.words import FormatName
from residualplanner.method.workload.workload import Workload
from residualplanner.publish.files.comparisons import require_comparison_name
from residualplanner.publish.files.formats import chosen_format
from residualplanner.release.profiles import level_of
from residualplanner.release.quality import Publication, Quality
from residualplanner.shell.cli.spec import values as allowed
from residualplanner.shell.cli.spec.tables import Query, Where

#: Cells that cannot occur: for each of some attributes a label, or several; dates are labels, too.
Cells = Annotated[
    dict[
        str,
        Annotated[
            allowed.Label | allowed.Date | Annotated[list[allowed.Label | allowed.Date], Field(min_length=1)],
            allowed.expected('a label, or several such as ["married", "widowed"]'),
        ],
    ],
    Field(min_length=1),
]


def _counts(value: Any) -> Any:
    """A count, or lists of counts, nested as deep as the query has attributes."""
    if isinstance(value, list):
        return [_counts(entry) for entry in value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise allowed.unlike("expected a number, or lists of numbers, nested as deep as there are attributes", value)
    return value


class KnownTable(allowed.SpecTable):
    """A table that is public anyway: its counts here, or in a CSV file beside the spec."""

    query: Query
    counts: Annotated[Any, PlainValidator(_counts)] = None  # nested as deep as the query has attributes
    file: str | None = None  # with a column for each attribute, and a column "count"

    @model_validator(mode="after")
    def _has_counts(self) -> "KnownTable":
        if (self.counts is None) == (self.file is None):
            raise allowed.refusal('give counts = [...], or file = "known.csv" beside the spec')
        return self


class QualityTable(allowed.SpecTable):
    """Which estimates are too noisy to use, by their coefficient of variation: standard error over estimate."""

    reliable: allowed.Real = 0.15  # below this an estimate is "reliable"
    usable: allowed.Real = 0.30  # below this it is to "use with caution", else it is "unreliable"
    suppress: bool = False  # whether files leave out unreliable estimates

    @model_validator(mode="after")
    def _is_in_order(self) -> "QualityTable":
        Quality(**dict(self))
        return self


class PublicationTable(allowed.SpecTable):
    """What is said to readers about all tables together."""

    title: str = ""
    author: str = ""
    date: allowed.TextOrDate = ""
    contact: str = ""
    source: str = ""
    note: str = ""

    @property
    def publication(self) -> Publication:
        """The same for tables."""
        return Publication(**{name: str(text) for name, text in self.model_dump().items()})


class MapTable(allowed.SpecTable):
    """The shapes of the areas that the values of an attribute are."""

    geojson: str  # a GeoJSON file beside the spec
    code: str  # the property of its features that has their codes


class ComparedWith(allowed.SpecTable):
    """What a table is compared with: another query, or the same one in another release."""

    query: Query | None = None
    where: Where = Field({})
    release: str | None = None  # the folder of a release, seen from that of the spec

    @model_validator(mode="after")
    def _is_another(self) -> "ComparedWith":
        if not self.model_fields_set:
            raise allowed.refusal('say what to compare with: a query, or a release such as "../tables-2025"')
        return self


_QUERY = {"query": "[...]: the attributes of the table"}
_TWO = _QUERY | {"to": "{ ... }: the table that is compared with"}
_ON = {"outcome": '"...": the attribute with amounts that is explained', "on": "[...]: the attributes that explain it"}
#: By its kind the fields of a comparison, beside its name and kind: those that it needs, and what each is; and others.
_FIELDS: Mapping[str, tuple[Mapping[str, str], frozenset[str]]] = {
    "difference": (_TWO, frozenset({"where", "simultaneous"})),
    "ratio": (_TWO, frozenset({"where", "factor", "simultaneous"})),
    "change": (_TWO, frozenset({"where", "simultaneous"})),
    "ranks": (_QUERY, frozenset({"where"})),
    "correlation": ({"of": '["...", "..."]: two attributes with amounts'}, frozenset({"by"})),
    "regression": (_ON, frozenset()),
}


class ComparisonTable(allowed.SpecTable):
    """Tables compared cell by cell, the ranks of the cells of one, a correlation or a regression."""

    name: str  # of its file
    kind: Literal["difference", "ratio", "change", "ranks", "correlation", "regression"]
    query: Query | None = None
    where: Where = Field({})
    to: ComparedWith | None = None
    factor: allowed.Real | None = None  # that ratios are multiplied by
    simultaneous: bool | None = None  # whether all intervals hold at once
    of: list[str] | None = Field(None, min_length=2, max_length=2)  # what a correlation is of
    by: Query | None = None  # what its groups are made of
    outcome: str | None = None  # of a regression, and so the next
    on: list[str] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _has_its_fields(self) -> "ComparisonTable":
        require_comparison_name(self.name)
        needed, optional = _FIELDS[self.kind]
        foreign = sorted(self.model_fields_set - {"name", "kind", *needed} - optional)
        if foreign:
            raise allowed.refusal(f"{foreign[0]!r} does not belong to the kind {self.kind!r}")
        for name, words in needed.items():
            if name not in self.model_fields_set:
                raise allowed.refusal(f"a {self.kind} needs {name} = {words}")
        return self


class OutputTable(allowed.SpecTable):
    """What the published tables look like, and what their numbers are."""

    format: FormatName | None = None
    profile: Literal["default", "acs", "gls"] = "default"
    level: allowed.BetweenZeroAndOne | None = None  # of margins of error; the profile's if not given

    nonnegative: bool = False
    known: list[KnownTable] = Field(default=[], max_length=1000)  # tables that are public anyway: not protected
    impossible: list[Cells] = Field(default=[], max_length=1000)
    round_to: int | None = Field(default=None, ge=1, le=10**9)  # multiples of this that add up
    with_unbiased: bool = False
    published_errors: int | None = Field(default=None, ge=10, le=10_000)  # how many simulations tell them
    quality: QualityTable | None = None
    comparisons: list[ComparisonTable] = Field(default=[], max_length=1000)  # of the unbiased tables
    maps: dict[str, MapTable] = Field(default={})  # for a report, by attribute
    publication: PublicationTable = PublicationTable()

    @model_validator(mode="after")
    def _goes_together(self) -> "OutputTable":
        if problem := self.problem:
            raise allowed.refusal(problem)
        return self

    @property
    def problem(self) -> str:
        """What does not go together, and what to write instead; empty where all does."""
        if (self.known or self.impossible) and not self.nonnegative:
            return "known and impossible are for non-negative tables; write nonnegative = true, or --nonnegative"
        adjusting = "write nonnegative = true or round_to = 1, or as options --nonnegative or --round-to 1"
        for name in ("with_unbiased", "published_errors"):
            if getattr(self, name) and not self.is_adjusted:
                return f"{name} is for other numbers than unbiased ones; {adjusting}"
        return ""

    @property
    def is_adjusted(self) -> bool:
        """Whether the numbers are others than the unbiased estimates."""
        return self.nonnegative or self.round_to is not None

    @property
    def chosen_quality(self) -> Quality | None:
        """Which estimates are reliable, if tables are to say it."""
        return None if self.quality is None else Quality(**dict(self.quality))

    def file_format(self, workload: Workload) -> FormatName:
        """The format of the tables of a workload: given, or else chosen by what is wanted and how many there are."""
        return chosen_format(workload, self.format, self.profile, quality=self.chosen_quality)

    @property
    def chosen_level(self) -> float:
        """The confidence level, given or the profile's."""
        return level_of(self.profile, self.level)
