"""The spec file: TOML that says what to publish, how accurately, at what privacy budget.

Reads: a TOML file.  Gives: SpecFile, or FileFormatError with one line for each thing that is wrong.
pydantic's home.  Here values are checked one by one; `objects` has what they mean together.
"""

import datetime as dt
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from residualplanner.cli.spec.kinds import Kind, Query
from residualplanner.cli.spec.messages import messages_of
from residualplanner.cli.spec.typed_budget import toml_text
from residualplanner.cli.spec.values import (
    BetweenZeroAndOne,
    DeclaredLabel,
    Edge,
    Exact,
    Loss,
    Month,
    Real,
    Rule,
    SpecTable,
    checked,
    refusal,
)
from residualplanner.errors import BudgetError, FileFormatError, WorkloadError
from residualplanner.losses import SumOfVariances
from residualplanner.privacy import gdp, require_discrete
from residualplanner.reconstruction import MOST_FILES, FormatName, Publication, Quality, chosen_format, level_of
from residualplanner.workload import Workload

#: The longest spec, in bytes.
SIZE_LIMIT = 2**20
#: How many dots there may be between two other signs of TOML: its parser is slow for names of very many parts.
DOT_LIMIT = 100
#: The value that `init` writes for an attribute whose values are to be declared by hand.
UNDECLARED = "?"


class AttributeTable(SpecTable):
    """One column: exactly one of a size, labels, bins (which may have labels), months and years; and words about it."""

    size: int | None = Field(None, ge=1, description="The records hold codes 0 .. size-1.")
    labels: list[DeclaredLabel] | None = Field(
        None, min_length=1, description="The values themselves, or pairs of a value and its meaning; or names of bins."
    )
    bins: list[Edge] | None = Field(
        None, min_length=2, description="Edges of intervals of numbers or dates, strictly increasing."
    )
    months: list[Month] | None = Field(
        None, min_length=2, max_length=2, description="The first and the last month, for a column of dates."
    )
    years: list[int] | None = Field(
        None, min_length=2, max_length=2, description="The first and the last year, for a column of dates."
    )
    unknown: Rule = Field(
        "error", description="For values that are none of these: error, drop, one of the values, or a label of its own."
    )
    missing: Rule = Field(
        "error", description="For records without a value: error, drop, one of the values, or a label of its own."
    )
    title: str = Field("", description="What the column is called, for readers of the tables.")
    unit: str = Field("", description="The unit of its values.")
    source: str = Field("", description="Where its definition is from.")
    note: str = Field("", description="Anything else that readers should know of it.")

    @model_validator(mode="after")
    def _has_values(self) -> "AttributeTable":
        values = [self.size, self.bins or self.labels, self.months, self.years]
        if sum(given is not None for given in values) != 1:
            raise refusal("give exactly one of size, labels, bins, months and years (bins may have labels)")
        return self


def _attribute(value: Any) -> Any:
    """The short forms of an attribute written out."""
    if isinstance(value, bool) or not isinstance(value, int | list | dict | str):
        raise refusal("expected a size, a list of labels, or a table such as { bins = [0, 9] }")
    if isinstance(value, str):
        checked(lambda text: text == UNDECLARED, "expected a size, a list of labels, or a table")(value)
        return None
    if isinstance(value, int):
        return {"size": value}
    return {"labels": value} if isinstance(value, list) else value


Attribute = Annotated[
    AttributeTable | None,
    BeforeValidator(_attribute, json_schema_input_type=int | list[DeclaredLabel] | Literal["?"] | AttributeTable),
]


class QueriesTable(SpecTable):
    """Tables to publish: a family by number of attributes or cells, or a list; ``weight`` is how much they matter."""

    order: int | None = Field(None, ge=0, description="All tables of exactly this many attributes.")
    up_to: int | None = Field(None, ge=0, description="All tables of at most this many attributes.")
    max_cells: int | None = Field(None, ge=1, description="Leave out tables with more cells than this.")
    queries: list[Query] | None = Field(
        None, min_length=1, description="The tables one by one: names, or a kind of query for each name."
    )
    kinds: dict[str, Kind] = Field(
        {}, description="The kinds of query on some attributes, in place of one count per value."
    )
    weight: Real = Field(1.0, description="How much each of them matters, at least 0.")

    @model_validator(mode="after")
    def _has_one_form(self) -> "QueriesTable":
        family = [self.order, self.up_to, self.max_cells]
        if (self.queries is None) == (family == [None, None, None]):
            raise refusal("give queries = [[...]], or one of order, up_to and max_cells")
        if self.order is not None and self.up_to is not None:
            raise refusal("give order or up_to, not both")
        return self


class TargetTable(SpecTable):
    """The margin of error, at the level of [output], that no cell of some tables is to exceed."""

    queries: list[Query] = Field(min_length=1, description="Which of the tables of [[workload]], written as there.")
    moe: Real = Field(description="The margin of error, in counts.")


class ApproxTable(SpecTable):
    """(epsilon, delta)-differential privacy."""

    epsilon: Exact
    delta: Exact


class BudgetTable(SpecTable):
    """The privacy budget, in one notion of privacy."""

    zcdp: Exact | None = None
    pcost: Exact | None = None
    approx_dp: ApproxTable | None = None

    @model_validator(mode="before")
    @classmethod
    def _holds_for_discrete_noise(cls, value: Any) -> Any:
        if isinstance(value, dict) and "gdp" in value:
            try:
                require_discrete(gdp(value["gdp"]), spelled=toml_text)
            except BudgetError as error:
                raise refusal(str(error)) from None
        return value

    @model_validator(mode="after")
    def _is_one(self) -> "BudgetTable":
        if len(self.model_dump(exclude_none=True)) != 1:
            raise refusal("give exactly one of zcdp, approx_dp and pcost")
        return self


class QualityTable(SpecTable):
    """Which estimates are too noisy to use, by their coefficient of variation: standard error over estimate."""

    reliable: Real = Field(default=0.15, description='Below this an estimate is "reliable".')
    usable: Real = Field(default=0.30, description='Below this it is to "use with caution", else it is "unreliable".')
    suppress: bool = Field(default=False, description="Whether files leave out unreliable estimates.")

    @property
    def quality(self) -> Quality:
        """The same for tables."""
        return Quality(reliable=self.reliable, usable=self.usable, suppress=self.suppress)

    @model_validator(mode="after")
    def _is_in_order(self) -> "QualityTable":
        try:
            _ = self.quality
        except WorkloadError as error:
            raise refusal(str(error)) from None
        return self


class PublicationTable(SpecTable):
    """What is said to readers about all tables together."""

    title: str = Field(default="", description="The title of the publication.")
    author: str = Field(default="", description="Who publishes it.")
    date: str | dt.date = Field(default="", description="The date of publication.")
    contact: str = Field(default="", description="Where questions are answered.")
    source: str = Field(default="", description="Where the records are from.")
    note: str = Field(default="", description="Anything else that readers should know.")

    @property
    def publication(self) -> Publication:
        """The same for tables."""
        return Publication(**{name: str(text) for name, text in self.model_dump().items()})


class OutputTable(SpecTable):
    """What the published tables look like."""

    format: FormatName | None = Field(
        default=None,
        description="The files' type; xlsx: a workbook for each table; workbook: one for all; parts: Parquet files of "
        f"many tables each, as if not given for more than {MOST_FILES:,} tables; else parquet.",
    )
    profile: Literal["default", "acs", "gls"] = Field(
        default="default",
        description="Estimates with 95% margins and intervals; or with 90% margins, as E and M; or with standard "
        "deviations, for generalized least squares.",
    )
    level: BetweenZeroAndOne | None = Field(
        default=None, description="Confidence level of margins of error; the profile's if not given."
    )

    round_to: int | None = Field(
        default=None, ge=1, description="Round to multiples of this that add up, table by table; 1: to integers."
    )
    quality: QualityTable | None = Field(default=None, description="Columns on how noisy each estimate is.")
    publication: PublicationTable = Field(
        default=PublicationTable(), description="Title, author and the like, for readers."
    )

    @property
    def chosen_quality(self) -> Quality | None:
        """Which estimates are reliable, if tables are to say it."""
        return None if self.quality is None else self.quality.quality

    def file_format(self, workload: Workload) -> FormatName:
        """The format of the tables of a workload: given, or else chosen by what is wanted and how many there are."""
        if self.format is None and self.round_to is not None:
            return "parquet"
        return chosen_format(workload, self.format, self.profile, quality=self.chosen_quality)

    @property
    def chosen_level(self) -> float:
        """The confidence level, given or the profile's."""
        return level_of(self.profile, self.level)


class SpecFile(SpecTable):
    """A release: its schema, its tables, its budget."""

    budget: BudgetTable | None = Field(None, description="The privacy budget; give this or at_most.")
    at_most: Real | None = Field(None, description="The largest loss allowed; the least budget for it is found.")
    loss: Loss = Field(SumOfVariances(), description="The loss to minimize.")
    targets: list[TargetTable] = Field(
        [],
        max_length=1000,
        description="Margins of error to reach, in place of a loss; without a budget, the least one for them is found.",
    )
    reserve: BetweenZeroAndOne = Field(
        0.01, description="With targets: the part of the cost for noise that no target limits."
    )
    gap: Real = Field(1e-6, description="How close to the best is close enough, as a fraction.")
    bases: Literal["optimal", "optimal_by_set", "orthogonal"] = Field(
        "optimal",
        description="The bases of attributes with kinds of query: the best for them; the best for them in each set of "
        "attributes; or the best that are orthogonal to the total.",
    )
    neighbors: Literal["add-remove", "replace"] = Field(
        "add-remove",
        description="Neighbors: a record more or less; or a record with other values, their number public.",
    )
    records_per_person: int = Field(1, ge=1, le=10**6, description="The most records of one person: a promise.")
    noise: Literal["discrete"] = Field("discrete", description="The kind of noise: exact discrete Gaussian.")
    domain: dict[str, Attribute] = Field(description="The columns and the values each can take.")
    workload: list[QueriesTable] = Field(min_length=1, max_length=1000, description="The tables to publish.")
    output: OutputTable = Field(OutputTable(), description="What the published tables look like.")

    @model_validator(mode="after")
    def _has_one_limit(self) -> "SpecFile":
        if self.targets:
            for name in {"loss", "at_most"} & self.model_fields_set:
                raise refusal(f"{name} and [[targets]] both say what to reach; leave one of them out")
            return self
        if "reserve" in self.model_fields_set:
            raise refusal("reserve = ... belongs to [[targets]]; there are none")
        if (self.budget is None) == (self.at_most is None):
            raise refusal('give exactly one of budget = { zcdp = "0.5" } and at_most = 25.0, or [[targets]]')
        return self


def read_spec(path: Path) -> SpecFile:
    """Read and check a spec.

    Raises:
        FileFormatError: it is too long, not TOML, or has fields or values it cannot have; a line for each says where.
        OSError: the file cannot be opened.
    """
    text = read_limited(path)
    if max(piece.count(".") for piece in re.split(r"[=,{}\[\]\n]", text)) > DOT_LIMIT:
        raise FileFormatError(f"{path} has a name or string with more than {DOT_LIMIT} dots; shorten it")
    try:
        return SpecFile.model_validate(tomllib.loads(text))
    except ValidationError as error:  # itself a ValueError
        raise FileFormatError("\n".join(f"{path}: {message}" for message in messages_of(error, SpecFile))) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a number is too long, or it is too deep"
        message = f"{path} is not TOML: {reason}; strings need quotes, lists [brackets], tables {{ braces }}"
        raise FileFormatError(message) from None


def read_limited(path: Path) -> str:
    """The content of a file of at most `SIZE_LIMIT` bytes.

    Raises:
        FileFormatError: it is longer, or not UTF-8.
        OSError: the file cannot be opened.
    """
    with open(path, "rb") as file:
        content = file.read(SIZE_LIMIT + 1)
    if len(content) > SIZE_LIMIT:
        raise FileFormatError(f"{path} is too large: the limit is {SIZE_LIMIT:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8 text; save it with that encoding") from None


def spec_schema() -> dict[str, Any]:
    """The JSON Schema of the spec file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **SpecFile.model_json_schema(mode="validation"),
        "title": "residualplanner spec",
    }
