"""The tables of a spec file on columns, the values that each can take, and queries."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from residualplanner.method.queries.custom import Custom
from residualplanner.method.queries.identity import Identity, Matching
from residualplanner.method.queries.runs import Prefix, Range
from residualplanner.more.amounts.amounts import Sum
from residualplanner.more.amounts.moments import Moments, StandardDeviation
from residualplanner.more.amounts.statistics import Mean, Quantiles
from residualplanner.more.queries.proportions import Proportions
from residualplanner.shell.cli.spec import values as allowed

#: The value that `init` writes for an attribute whose values are to be declared by hand.
UNDECLARED = "?"

#: By level, or by column of a crosswalk, how many characters its codes have; None where they differ.
CodeLengths = dict[
    str,
    Annotated[
        Annotated[int, Field(ge=1)] | None,
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
    "moments": (Moments, ()),
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

    kind: Literal[tuple(MAKERS)]  # type: ignore[valid-type]
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
