"""The tables of a spec file on columns, the values that each can take, and queries."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, PlainValidator, Tag, model_validator

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.queries.custom import Custom
from residualplanner.method.queries.identity import Identity, Matching
from residualplanner.method.queries.runs import Prefix, Range
from residualplanner.method.workload.workload import Workload
from residualplanner.more.amounts.amounts import Sum
from residualplanner.more.amounts.deviation import StandardDeviation
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.more.queries.proportions import Proportions
from residualplanner.publish.files.comparisons import require_comparison_name
from residualplanner.publish.files.formats import chosen_format
from residualplanner.release.profiles import FormatName, level_of
from residualplanner.release.quality import Publication, Quality
from residualplanner.shell.cli.spec import values as allowed

#: The value that `init` writes for an attribute whose values are to be declared by hand.
UNDECLARED = "?"

#: By level, or by column of a crosswalk, how many characters its codes have; None where they differ.
_Length = Annotated[int, Field(ge=1)]
CodeLengths = dict[
    str,
    Annotated[
        _Length | None,
        BeforeValidator(lambda each: None if each == "any" else each),
        allowed.expected('a number of characters, or "any" where codes differ in length'),
    ],
]
_Columns = Annotated[
    str | Annotated[tuple[str, str], Field(strict=False)],  # TOML has lists alone
    allowed.expected('a column of codes, or a pair of the columns of codes and names as ["GEOID", "NAME"]'),
]


def _levels(value: Any) -> Any:
    are_names = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if not value or not (are_names or isinstance(value, dict)):
        raise allowed.unlike(
            'expected levels from coarse to fine such as ["state", "county"], or a table with the columns of each',
            value,
        )
    return value


T = TypeVar("T")
#: Names, or a table of what belongs to each.
_NamesOr = Annotated[
    Annotated[list[str], Tag(allowed.NAMES)] | Annotated[dict[str, T], Tag(allowed.KINDS)],
    Discriminator(lambda value: allowed.KINDS if isinstance(value, dict) else allowed.NAMES),
]
#: The levels of a hierarchy in a file: their names, or the columns of each.
Levels = Annotated[_NamesOr[_Columns], BeforeValidator(_levels)]


class CrosswalkTable(allowed.SpecTable):
    """Other groups of the leaves of an attribute's hierarchy, in a CSV file beside the spec."""

    file: str  # beside the spec, with a row for each leaf
    leaf: str  # the column of their codes
    group: str  # the column of the codes of the groups, which names their level
    name: str = ""  # the column of the names of the groups
    within: str = ""  # a level of the attribute's own hierarchy along which groups are cut
    ungrouped: str | None = None  # the code of a group for leaves that have none in the file
    code_lengths: CodeLengths = Field({})
    encoding: str = "utf-8"
    separator: str = ","


class NumericTable(allowed.SpecTable):
    """Amounts whose sums are published: limits, and bins between them."""

    low: allowed.Exact
    high: allowed.Exact
    unit: allowed.Exact = 1
    bins: allowed.NumericBins = 1  # how many of equal width, or the edges between low and high
    outside: Literal["refuse", "clip"] = "refuse"
    between_units: Literal["round", "refuse"] = "round"
    squares: bool = False  # whether sums of squares can be published


class AttributeTable(allowed.SpecTable):
    """One column: exactly one of a size, labels, bins (which may have labels), months, years and numeric; and words."""

    size: int | None = Field(None, ge=1)
    labels: list[allowed.DeclaredLabel] | None = Field(None, min_length=1)  # or, of bins, their names
    bins: list[allowed.Edge] | None = Field(None, min_length=2)
    months: list[allowed.Month] | None = Field(None, min_length=2, max_length=2)
    years: list[int] | None = Field(None, min_length=2, max_length=2)
    numeric: NumericTable | None = None
    hierarchy: str | None = None  # a CSV file beside the spec, whose leaves are the values
    levels: Levels | None = None
    code_lengths: CodeLengths = Field({})
    encoding: str = "utf-8"
    separator: str = ","
    unknown: allowed.Rule = "error"
    missing: allowed.Rule = "error"
    title: str = ""
    unit: str = ""
    source: str = ""
    note: str = ""

    @model_validator(mode="after")
    def _has_values(self) -> "AttributeTable":
        values = [self.size, self.bins or self.labels, self.months, self.years, self.numeric, self.hierarchy]
        if sum(given is not None for given in values) != 1:
            raise allowed.refusal("give exactly one of size, labels, bins, months, years, numeric and hierarchy")
        if (self.hierarchy is None) != (self.levels is None):
            message = 'a hierarchy is a file and its levels: hierarchy = "county.csv", levels = ["state", "county"]'
            raise allowed.refusal(message)
        foreign = sorted({"code_lengths", "encoding", "separator"} & self.model_fields_set)
        if foreign and self.hierarchy is None:
            raise allowed.refusal(f"{foreign[0]!r} belongs to a hierarchy; there is none")
        return self


def _attribute(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | list | dict | str):
        raise allowed.refusal("expected a size, a list of labels, or a table such as { bins = [0, 9] }")
    if isinstance(value, str):
        if value != UNDECLARED:
            raise allowed.unlike("expected a size, a list of labels, or a table", value)
        return None
    if isinstance(value, int):
        return {"size": value}
    return {"labels": value} if isinstance(value, list) else value


Attribute = Annotated[AttributeTable | None, BeforeValidator(_attribute)]

#: By its word what makes a kind of query, and the fields that are its arguments; a hierarchy may need a file beside.
MAKERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "identity": (Identity, ()),
    "prefix": (Prefix, ()),
    "range": (Range, ()),
    "sum": (Sum, ("by",)),
    "mean": (Mean, ("between",)),
    "quantiles": (Quantiles, ("probabilities",)),
    "standard deviation": (StandardDeviation, ()),
    "proportions": (Proportions, ("among",)),
    "hierarchy": (None, ("levels", "total", "leaves", "crosswalk")),
    "custom": (Custom, ("matrix", "labels")),
    "matching": (Matching, ("at_least",)),
}
#: What a kind cannot do without, and what to write.
_REQUIRED = {
    "custom": ("matrix", "give the rows of the custom query: matrix = [[1, 1, 1], [0, 1, 2]]"),
    "matching": ("at_least", "give how many attributes of this kind must match: at_least = 1"),
}
_GroupLevel = Annotated[
    int | dict[str, list[allowed.Label]],
    allowed.expected('an integer, or groups and their members such as { West = ["CA", "WA"] }'),
]


class KindTable(allowed.SpecTable):
    """The kind of query on one attribute: a hierarchy has levels or a file, a custom query has a matrix."""

    kind: Literal[
        "identity",
        "prefix",
        "range",
        "sum",
        "mean",
        "quantiles",
        "standard deviation",
        "proportions",
        "hierarchy",
        "custom",
        "matching",
    ]
    by: Literal["bin"] | None = None  # of a sum
    between: list[allowed.Real] | None = Field(None, min_length=2, max_length=2)  # of a mean
    probabilities: list[allowed.Real] | None = None  # of quantiles
    among: list[allowed.Label] | None = None  # of proportions
    levels: list[_GroupLevel] | None = None  # of a hierarchy, and so the next three
    total: Annotated[bool | str, allowed.expected("true, false or a string")] = True
    leaves: bool = True
    crosswalk: CrosswalkTable | None = None
    matrix: list[list[allowed.Real]] | None = None  # of a custom query, and so its labels
    labels: list[str] | None = None
    at_least: int | None = Field(None, ge=1)  # how many attributes of the kind matching must match

    @model_validator(mode="after")
    def _has_its_fields(self) -> "KindTable":
        foreign = sorted(self.model_fields_set - {"kind", *MAKERS[self.kind][1]})
        if foreign:
            raise allowed.refusal(f"{foreign[0]!r} does not belong to the kind {self.kind!r}")
        if self.levels is not None and self.crosswalk is not None:
            raise allowed.refusal("give levels or a crosswalk, not both")
        field, words = _REQUIRED.get(self.kind, ("kind", ""))
        if getattr(self, field) is None:
            raise allowed.refusal(words)
        return self


def _kind(value: Any) -> Any:
    if isinstance(value, str):
        return {"kind": value}
    if not isinstance(value, dict):
        raise allowed.unlike('expected a kind of query such as "prefix", or a table', value)
    return value


Kind = Annotated[KindTable, BeforeValidator(_kind)]
Query = _NamesOr[Kind]
#: Of some attributes the labels of which a record must have one.
Where = dict[
    str,
    Annotated[
        allowed.Label | Annotated[list[allowed.Label], Field(min_length=1)],
        allowed.expected('a label, or a list of labels such as ["yes", "part-time"]'),
    ],
]
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


#: How numbers become others than the unbiased estimates.
_ADJUSTED = "write nonnegative = true or round_to = 1, or as options --nonnegative or --round-to 1"


class QualityTable(allowed.SpecTable):
    """Which estimates are too noisy to use, by their coefficient of variation: standard error over estimate."""

    reliable: allowed.Real = 0.15  # below this an estimate is "reliable"
    usable: allowed.Real = 0.30  # below this it is to "use with caution", else it is "unreliable"
    suppress: bool = False  # whether files leave out unreliable estimates

    @model_validator(mode="after")
    def _is_in_order(self) -> "QualityTable":
        try:
            Quality(**dict(self))
        except WorkloadError as error:
            raise allowed.refusal(str(error)) from None
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


class ComparisonTable(allowed.SpecTable):
    """Tables compared cell by cell, or the ranks of the cells of one."""

    name: str  # of its file
    kind: Literal["difference", "ratio", "change", "ranks"]
    query: Query
    where: Where = Field({})
    to: ComparedWith | None = None
    factor: allowed.Real | None = None  # that ratios are multiplied by
    simultaneous: bool | None = None  # whether all intervals hold at once

    @model_validator(mode="after")
    def _has_its_fields(self) -> "ComparisonTable":
        try:
            require_comparison_name(self.name)
        except WorkloadError as error:
            raise allowed.refusal(str(error)) from None
        foreign = sorted(COMPARED_WITH[self.kind].symmetric_difference(self.model_fields_set) & {"to"})
        foreign += sorted((self.model_fields_set & {"factor", "simultaneous"}) - COMPARED_WITH[self.kind])
        if foreign == ["to"] and self.to is None:
            raise allowed.refusal(f"a {self.kind} needs to = {{ ... }}: the table that is compared with")
        if foreign:
            raise allowed.refusal(f"{foreign[0]!r} does not belong to the kind {self.kind!r}")
        return self


#: The fields of comparisons that some kinds have.
COMPARED_WITH: dict[str, frozenset[str]] = {
    "difference": frozenset({"to", "simultaneous"}),
    "ratio": frozenset({"to", "factor", "simultaneous"}),
    "change": frozenset({"to", "simultaneous"}),
    "ranks": frozenset(),
}


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
        for name in ("with_unbiased", "published_errors"):
            if getattr(self, name) and not self.is_adjusted:
                return f"{name} is for other numbers than unbiased ones; {_ADJUSTED}"
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
