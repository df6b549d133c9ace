"""The spec file: what to publish, how accurately, at what privacy budget; `objects` has what its entries mean."""

import re
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from residualplanner.ground.checks import limited_bytes
from residualplanner.ground.errors import DataError, FileFormatError
from residualplanner.method.losses import SumOfVariances
from residualplanner.shell.cli.spec import values
from residualplanner.shell.cli.spec.output_tables import OutputTable
from residualplanner.shell.cli.spec.tables import Attribute, Kind, Query, Where

SIZE_LIMIT = 2**20
#: How many dots there may be between two other signs of TOML: its parser is slow for names of very many parts.
DOT_LIMIT = 100
_KEY_WORDS = "64 hexadecimal digits, 0 to 9 and a to f, are expected, as `openssl rand -hex 32` writes them"


class QueriesTable(values.SpecTable):
    """Tables to publish: a family by number of attributes or cells, or a list; ``weight`` is how much they matter."""

    order: int | None = Field(None, ge=0)
    up_to: int | None = Field(None, ge=0)
    max_cells: int | None = Field(None, ge=1)
    queries: list[Query] | None = Field(None, min_length=1)
    kinds: dict[str, Kind] = Field({})  # on some attributes, in place of one count per value
    at_least: int | None = Field(None, ge=1)  # who matches a cell in so many attributes, not in all
    where: Where = Field({})  # which records they are about
    weight: values.Real = 1.0

    @model_validator(mode="after")
    def _has_one_form(self) -> "QueriesTable":
        family = [self.order, self.up_to, self.max_cells]
        if (self.queries is None) == (family == [None, None, None]):
            raise values.refusal("give queries = [[...]], or one of order, up_to and max_cells")
        if self.order is not None and self.up_to is not None:
            raise values.refusal("give order or up_to, not both")
        if self.at_least is not None and (self.kinds or (self.queries is None and self.order is None)):
            raise values.refusal("at_least goes with order, or with queries = [[...]], and not with kinds")
        return self


class TargetTable(values.SpecTable):
    """The margin of error, at the level of [output], that no cell of some tables is to exceed."""

    queries: list[Query] = Field(min_length=1)  # of the tables of [[workload]], written as there
    at_least: int | None = Field(None, ge=1)
    where: Where = Field({})
    moe: values.Real


class WeightTable(values.SpecTable):
    """The column that says how much each record counts."""

    column: str
    maximum: values.Exact
    unit: values.Exact = "1"
    above: Literal["refuse", "clip"] = "refuse"


class PeopleTable(values.SpecTable):
    """Whose each record is: of each person no more records are counted than the plan protects."""

    person: str  # the column that says whose a record is
    keep: int | None = Field(None, ge=1, le=10**6)  # how many of each count; it sets records_per_person
    order: str | None = None  # the column by which each person's first records are those that count
    key: str | None = None  # for the same random choice in every run

    @field_validator("key")
    @classmethod
    def _is_hexadecimal(cls, key: str | None) -> str | None:
        if key is not None and not re.fullmatch("[0-9a-f]{64}", key):
            raise values.refusal(_KEY_WORDS)
        return key

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names."""
        return (self.person,) if self.order is None else (self.person, self.order)


class LedgerTable(values.SpecTable):
    """The ledger that every release of the spec is charged to."""

    file: str = Field(min_length=1)  # seen from the folder of the spec
    budget: values.SpecBudget | None = None  # the first release begins it with this


class SpecFile(values.SpecTable):
    """A release: its schema, its tables, its budget."""

    budget: values.SpecBudget | None = None
    at_most: values.Real | None = None  # the largest loss allowed, in place of a budget
    loss: values.Loss = SumOfVariances()
    targets: list[TargetTable] = Field([], max_length=1000)  # in place of a loss
    reserve: values.BetweenZeroAndOne = 0.01  # the part of the cost for noise that no target limits
    gap: values.Real = 1e-6
    bases: Literal["optimal", "optimal_by_set", "orthogonal"] | None = None
    time: values.Real = 10.0  # seconds for proving how good the plan is, and as many for better bases
    neighbors: Literal["add-remove", "replace"] = "add-remove"
    records_per_person: int = Field(1, ge=1, le=10**6)  # a promise, which `people` keeps
    people: PeopleTable | None = None
    noise: Literal["discrete"] = "discrete"
    ledger: LedgerTable | None = None
    domain: dict[str, Attribute]
    weight: WeightTable | None = None
    workload: list[QueriesTable] = Field(min_length=1, max_length=1000)
    output: OutputTable = OutputTable()
    _path: Path = PrivateAttr(Path())
    _read: dict[str, Any] = PrivateAttr(default_factory=dict)

    @property
    def path(self) -> Path:
        """The file, beside which other files are looked for."""
        return self._path

    @property
    def read(self) -> dict[str, Any]:
        """What has been read of files beside it; a copy with other entries has the same, so that each is read once."""
        return self._read

    @model_validator(mode="after")
    def _has_one_limit(self) -> "SpecFile":
        if self.targets:
            for name in {"loss", "at_most"} & self.model_fields_set:
                raise values.refusal(f"{name} and [[targets]] both say what to reach; leave one of them out")
            return self
        if "reserve" in self.model_fields_set:
            raise values.refusal("reserve = ... belongs to [[targets]]; there are none")
        if (self.budget is None) == (self.at_most is None):
            raise values.refusal('give exactly one of budget = { zcdp = "0.5" } and at_most = 25.0, or [[targets]]')
        return self

    @model_validator(mode="after")
    def _agrees_on_people(self) -> "SpecFile":
        stated = "records_per_person" in self.model_fields_set
        if stated and self.people is not None and self.people.keep not in (None, self.records_per_person):
            raise values.refusal("people.keep and records_per_person say different things; leave one of them out")
        if self.people is not None and self.neighbors == "replace":
            raise values.refusal(
                'with neighbors = "replace" the number of records is public, but how many of all persons are kept '
                'is not; write "add-remove", and twice as many to keep if replacements are to be protected'
            )
        if self.people is not None and self.weight is not None and self.weight.column in self.people.columns:
            message = "the column of weights is neither that of persons nor their order; name another column"
            raise values.refusal(message)
        return self

    @property
    def most_records(self) -> int:
        """How many records of a person are protected."""
        kept = None if self.people is None else self.people.keep
        return self.records_per_person if kept is None else kept


def typed_people(person: str | None, order: str | None, key: str | None) -> PeopleTable | None:
    """What options say of persons; None where they say nothing."""
    if person is None:
        for option, value in {"--order": order, "--key": key}.items():
            if value is not None:
                raise DataError(f"{option} is for the records of each person; name the column of persons with --person")
        return None
    try:
        return PeopleTable(person=person, keep=None, order=order, key=key)
    except ValidationError:
        raise DataError(f"--key: {_KEY_WORDS}") from None


def read_spec(path: Path) -> SpecFile:
    """Read and check a spec; FileFormatError has a line for each thing that is wrong, which says where."""
    text = read_limited(path)
    if max(piece.count(".") for piece in re.split(r"[=,{}\[\]\n]", text)) > DOT_LIMIT:
        raise FileFormatError(f"{path} has a name or string with more than {DOT_LIMIT} dots; shorten it")
    try:
        spec = SpecFile.model_validate(tomllib.loads(text))
        spec._path = path
        return spec
    except ValidationError as error:  # itself a ValueError
        raise FileFormatError("\n".join(f"{path}: {message}" for message in values.messages_of(error))) from None
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else "a number is too long, or it is too deep"
        message = f"{path} is not TOML: {reason}; strings need quotes, lists [brackets], tables {{ braces }}"
        raise FileFormatError(message) from None


def read_limited(path: Path) -> str:
    """The content of a file in UTF-8 of at most `SIZE_LIMIT` bytes."""
    content = limited_bytes(path, SIZE_LIMIT, name=path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8 text; save it with that encoding") from None
