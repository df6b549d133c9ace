"""A commented spec to start from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from residualplanner.ground.errors import DomainError, FileFormatError
from residualplanner.ground.json import parse_json
from residualplanner.ground.words import listed
from residualplanner.method.domain.domain import Domain
from residualplanner.more.amounts.weight import Weight
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.paths import is_csv, is_parquet
from residualplanner.shell.cli.records import csv_names, parquet_types
from residualplanner.shell.cli.spec.declared import Declared, attribute_text, key_text, string_text, weight_text
from residualplanner.shell.cli.spec.described import columns_of_schema, is_dictionary_header, read_dictionary
from residualplanner.shell.cli.spec.file import read_limited, read_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec
from residualplanner.shell.cli.spec.tables import UNDECLARED

#: Where the weight of a domain stands.
_WEIGHT = '# weight = { column = "hours", maximum = 60, unit = "0.5", above = "clip" }\n'
_HEAD = """\
# What to publish, and at what privacy budget.  Lines that start with # are comments.
# "residualplanner schema" prints every field there is.

# The privacy budget, once for all tables together.  One of:
#   { zcdp = "0.5" }      { approx_dp = { epsilon = "1", delta = "1e-9" } }      { pcost = "1" }
# Smaller numbers mean more privacy and more noise.
budget = { zcdp = "0.5" }

# The ledger of all releases from the same records, beside this file: what they may cost together.  The first release
# begins it, each is charged to it, and one that does not fit is refused before records are read.
# ledger = { file = "people.ledger", budget = { zcdp = "1" } }

# Instead of a budget: the largest loss allowed, in counts squared; the least budget that reaches it is found.
# at_most = 25.0
# Or instead of a loss: margins of error that some tables must not exceed, as entries below the workload:
#   [[targets]]
#   queries = [["age", "sex"]]
#   moe = 50

# The loss to minimize: the "sum" of the variances of all cells, the "max"imum variance of any cell, or
# { sum = "equal" } to let every table count the same however many cells it has ("sqrt" is between the two).
loss = "sum"

# Of attributes with kinds of query (see below) the sums are measured that suit these best, in each table where that is
# worth it.  So many seconds at most go to the search for them, and as many to proving how good the plan is:
# time = 10

# The output must hardly change with one record more or less ("replace": one record with other values; the number of
# records is then public).
# If a person has up to k records, write records_per_person = k; else each record is protected, not the person.
# If a column says whose each record is, so many of each person count, and no more, the first by another column:
# people = { person = "id", keep = 3, order = "date" }
neighbors = "add-remove"

# Totals of a column, in place of numbers of records: each record counts as much as that column says.
# weight = { column = "hours", maximum = 60, unit = "0.5", above = "clip" }

# Discrete Gaussian noise, exact in distribution, from the operating system's random bits.
noise = "discrete"

# The tables to publish.  Write [[workload]] again for more, each with weights of its own if some matter more:
#   order = 2                                    all tables of exactly two attributes
#   up_to = 2                                    all tables of at most two attributes, and the total
#   max_cells = 100000                           no table of more cells than this; can be added to the other two
#   queries = [["age", "sex"], ["region"]]       tables one by one
#   at_least = 1                                 with order or queries: who matches in one attribute or more, not in all
#   where = { employed = ["yes"] }               tables about some of the records only, by their labels
#   weight = 2.0
# In place of one count per value there are other kinds of query: "prefix" (up to a value), every "range", or groups:
#   kinds = { age = "prefix", income = "range", county = { kind = "hierarchy", levels = [{ South = ["Kern"] }] } }
#   queries = [["sex"], { age = "prefix", sex = "identity" }]
# Long kinds are easier to read below the entry, as a table [workload.kinds.county] with a line for each field.
[[workload]]
up_to = 2

[output]
# format = "csv"          # or "xlsx" for Excel; by default Parquet, and above 5,000 tables many of them in a file
profile = "default"       # 95% margins and intervals; "acs": 90% margins, as E and M; "gls": standard deviations
# level = 0.99            # of confidence, for margins of error, in place of the profile's

# Estimates are unbiased, so some are negative.  For tables that people read, numbers without a negative one that agree
# with one another, and integers that add up (5: multiples of 5):
# nonnegative = true
# round_to = 1
# with_unbiased = true      # the unbiased estimates beside them, in a column of their own
# published_errors = 50     # a file with the errors of these numbers, table by table, from 50 simulations
# What is public anyway, for non-negative tables only.  It is published as it stands here, and not protected:
# known = [{ query = [], counts = 38045 }, { query = ["age", "sex"], file = "known.csv" }]
# impossible = [{ age = ["0-11", "12-14"], marital = "married" }]
# Columns that say which estimates are too noisy to use, by standard error over estimate; suppress leaves these out:
# quality = { reliable = 0.15, usable = 0.30, suppress = false }
# For readers of the tables:
# publication = { title = "...", author = "...", date = 2030-01-01, contact = "...", source = "...", note = "..." }
# For the maps of a report, the shapes of areas from a GeoJSON file beside this one, and which property is their code:
# maps = { county = { geojson = "counties.json", code = "GEOID" } }

"""

_DOMAIN = """\
# The columns and the values each can take, as publicly known: never take them from the records themselves.
#   age = 85                                     codes 0 .. 84
#   region = ["01", "02", "NO"]                  the values themselves
#   sex = [[1, "female"], [2, "male"]]           values, and what each means in words: the tables show both
#   income = { bins = [0, 10000, 50000, inf] }   intervals: 0 up to but not including 10000, and so on
#   admitted = { months = ["2020-01", "2020-12"] }    months of a column of dates; or years = [2015, 2024], or edges
#                                                     that are dates: bins = [2020-01-01, 2020-07-01]
#   county = { hierarchy = "counties.csv", levels = ["state", "county"] }    codes and names of a file beside this one;
#                                                     "hierarchy" among the kinds above has its levels
# A record with another value, or none, is refused, and with it the run, at no cost: "residualplanner check" lists such
# values.  Unless the column says otherwise:
#   race = { labels = ["A", "B"], unknown = "Other", missing = "Not stated" }
#   born = { years = [1920, 2020], unknown = "drop", missing = "drop" }
#     a label counts the record there, and may be one of the values or one of its own; "drop" leaves the record out of
#     every table, so that all tables are about the other records only
# For readers of the tables, a column may have words about it:
#   income = { bins = [0, 50000, inf], title = "Household income", unit = "US dollars", source = "...", note = "..." }
[domain]
"""

_TO_FILL_IN = """\
# Write the values of each column in place of "?", and remove the columns that are not to be published.
"""

_BY_HAND = """\
# Only the names of the columns were read from the data file.  Write the values of each in place of "?", and remove the
# columns that are not to be published.
"""


_NO_LEDGER = '# ledger = { file = "people.ledger",'


#: A spec to start from: its text, the attributes whose values are to be declared by hand, and what was read.
StartingSpec = tuple[str, tuple[str, ...], Literal["schema", "dictionary", "records", "records like a dictionary"]]


def with_ledger(text: str, name: str) -> str:
    """The text of a spec with a ledger in a file of this name."""
    return text.replace(_NO_LEDGER, f"ledger = {{ file = {string_text(name)},")


def starting_spec(
    path: Path, *, is_dictionary: bool = False, has_header: bool = False, table: str | None = None
) -> StartingSpec:
    """A spec for what ``path`` describes: JSON of a schema, another spec, a data dictionary, or records.

    Of a CSV file nothing but the first line is read unless it is a dictionary; only ``has_header`` tells that this line
    holds names, not a record.  A schema of several tables needs the name of one.
    """
    kind = path.suffix.lower()
    if is_dictionary:
        if kind != ".csv":
            raise FileFormatError(f"{path}: a data dictionary is a .csv file; leave --dictionary out for others")
        return _declared_start(read_dictionary(path), "dictionary")
    if kind == ".json":
        return _start_of_json(path, table)
    if table is not None:
        raise FileFormatError(f"{path}: --table chooses a table of a schema (.json); leave it out")
    if kind == ".toml":
        return spec_text(domain_of_spec(read_spec(path))), (), "schema"
    if is_csv(path):
        names = csv_names(path)
        is_like_dictionary = is_dictionary_header(names)
        if not (has_header or is_like_dictionary):
            raise FileFormatError(
                f"{path}: the names in its first line would be written into the spec, which is public. If they are the "
                "names of columns, and not the first record, add --header; if there is no such line, write one first"
            )
        return _start_of_names(dict.fromkeys(names), is_like_dictionary=is_like_dictionary)
    if is_parquet(path):
        return _start_of_names(parquet_types(path))
    raise FileFormatError(f"{path}: a schema (.json or .toml) or records (.csv, .csv.gz or .parquet) are needed")


def say_start(start: StartingSpec, source: Path, path: Path, output: Output) -> None:
    """Say what was written, what is still to be filled in, and what comes next."""
    _, undeclared, kind = start
    output.wrote(path, ": a spec with a comment for each choice.")
    if kind == "records like a dictionary":
        command = command_text("init", source, "--dictionary", "-o", path)
        output.say(
            f"The columns of {source} are named like those of a data dictionary.  If it is one, and holds no records, "
            f"remove {path}, and run  {command}",
            event="hint",
            command=command,
        )
    if kind.startswith("records"):
        output.say('Only the names of the columns were read.  Write the values of each in place of "?".')
    elif undeclared:
        shown = listed(undeclared, 8)
        output.say(f'Not declared in {source}: {shown}.  Write the values of each in place of "?".')
    output.say(
        f"Next: look through it, then run  {command_text('plan', path)}",
        event="next",
        command=command_text("plan", path),
        undeclared=undeclared,
    )


def spec_text(domain: Domain, *, up_to: int = 2, max_cells: int | None = None) -> str:
    """A spec with this domain: tables of at most so many attributes and cells, and defaults for everything else."""
    lines = [f"{key_text(name)} = {attribute_text(domain[name])}" for name in domain]
    entry = f"up_to = {up_to}\n" if max_cells is None else f"up_to = {up_to}\nmax_cells = {max_cells}\n"
    head = _HEAD.replace("\nup_to = 2\n", f"\n{entry}")
    if isinstance(domain.weight, Weight):
        head = head.replace(_WEIGHT, f"weight = {weight_text(domain.weight)}\n")
    return head + _DOMAIN + "\n".join(lines) + "\n"


def _start_of_names(types: Mapping[str, str | None], *, is_like_dictionary: bool = False) -> StartingSpec:
    lines = [
        f'{key_text(name)} = "{UNDECLARED}"' + ("" if kind is None else f"    # {kind} in the file")
        for name, kind in types.items()
    ]
    text = _HEAD + _DOMAIN + _BY_HAND + "\n".join(lines) + "\n"
    return text, tuple(types), "records like a dictionary" if is_like_dictionary else "records"


def _declared_start(columns: list[Declared], source: Literal["schema", "dictionary"]) -> StartingSpec:
    lines = [line for column in columns for line in column.lines()]
    undeclared = tuple(column.name for column in columns if column.attribute is None)
    return _HEAD + _DOMAIN + (_TO_FILL_IN if undeclared else "") + "\n".join(lines) + "\n", undeclared, source


def _start_of_json(path: Path, table: str | None) -> StartingSpec:
    text = read_limited(path)
    try:
        value = parse_json(text)
        if not isinstance(value, dict):
            raise FileFormatError('expected an object from attribute name to size, such as {"age": 85}')
        columns = columns_of_schema(value, table)
        if columns is not None:
            return _declared_start(columns, "schema")
        if table is not None:
            raise FileFormatError("--table chooses a table of a schema of several; leave it out")
        # Either what Domain.to_json gives, or an object from name to size or labels.
        is_whole = isinstance(value.get("attributes"), list) and all(isinstance(v, dict) for v in value["attributes"])
        return spec_text(Domain.from_json(value) if is_whole else Domain(value)), (), "schema"
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except DomainError as error:
        raise DomainError(f"{path}: {error}", attributes=error.attributes) from None
