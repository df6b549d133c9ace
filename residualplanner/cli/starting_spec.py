"""A commented spec to start from.

Reads: a schema, or the names of a data file's columns, and nothing else of it.  Gives: the text of a spec.
"""

from collections.abc import Mapping
from pathlib import Path

from residualplanner._json import parse_json
from residualplanner.cli.columns import csv_names, is_csv, is_parquet, parquet_types
from residualplanner.cli.spec_file import UNDECLARED, read_limited, read_spec
from residualplanner.cli.spec_objects import domain_of_spec
from residualplanner.cli.toml_text import attribute_text, key_text
from residualplanner.domain import Domain
from residualplanner.errors import DomainError, FileFormatError

_HEAD = """\
# What to publish, and at what privacy budget.  Lines that start with # are comments.
# "residualplanner schema" prints every field there is.

# The privacy budget, once for all tables together.  One of:
#   { zcdp = "0.5" }      { approx_dp = { epsilon = "1", delta = "1e-9" } }      { gdp = "1" }      { pcost = "1" }
# Smaller numbers mean more privacy and more noise.
budget = { zcdp = "0.5" }

# Instead of a budget: the largest loss allowed, in counts squared; the least budget that reaches it is found.
# at_most = 25.0
# Or instead of a loss: margins of error that some tables must keep, as entries below the workload:
#   [[targets]]
#   queries = [["age", "sex"]]
#   moe = 50

# What is made as small as possible: "sum" of all cells' variances, the "max"imum variance of any cell, or
# { sum = "equal" } to let every table count the same however many cells it has ("sqrt" is between the two).
loss = "sum"

# Of attributes with kinds of query (see below) sums are measured that suit what is asked best.  For comparison:
# bases = "orthogonal"

# One record more or less must not show ("replace": a record with other values, the number of records being public).
# If a person has up to k records, write records_per_person = k; else each record is protected, not the person.
neighbors = "add-remove"

# Discrete Gaussian noise, exact in distribution, from the operating system's random bits.
noise = "discrete"

# The tables to publish.  Write [[workload]] again for more, each with weights of its own if some matter more:
#   order = 2                                    all tables of exactly two attributes
#   up_to = 2                                    all tables of at most two attributes, and the total
#   max_cells = 100000                           no table of more cells than this; may stand beside the other two
#   queries = [["age", "sex"], ["region"]]       tables one by one
#   weight = 2.0
# Of some attributes more may be asked than one count per value: "prefix" (up to a value), every "range", or groups:
#   kinds = { age = "prefix", income = "range", county = { kind = "hierarchy", levels = [{ South = ["Kern"] }] } }
#   queries = [["sex"], { age = "prefix", sex = "identity" }]
# Long kinds are easier to read below the entry, as a table [workload.kinds.county] with a line for each field.
[[workload]]
up_to = 2

[output]
format = "parquet"        # or "csv", or "xlsx" for Excel
profile = "default"       # 95% margins and intervals; "acs": 90% margins, as E and M; "gls": standard deviations
# level = 0.99            # of confidence, for margins of error, in place of the profile's

"""

_DOMAIN = """\
# The columns and the values each can take, as publicly known: never take them from the records themselves.
#   age = 85                                     codes 0 .. 84
#   region = ["01", "02", "NO"]                  the values themselves
#   income = { bins = [0, 10000, 50000, inf] }   intervals: 0 up to but not including 10000, and so on
# A record with another value, or none, is an error, unless the column says otherwise:
#   sex = { labels = ["F", "M", "?"], unknown = "?", missing = "drop" }
#     "drop" leaves the record out of every table, a value counts it there
[domain]
"""

_BY_HAND = """\
# Only the names of the columns were read from the data file.  Write what values each can take in place of "?", and
# remove the columns that are not to be published.
"""


def starting_spec(path: Path) -> tuple[str, bool]:
    """A spec for what ``path`` describes.

    Args:
        path: a domain as JSON ({"age": 85, ..}), another spec (.toml), or records (.csv, .csv.gz, .parquet).

    Returns:
        The text, and whether its domain is complete; if not, each attribute is still to be declared by hand.

    Raises:
        FileFormatError: the file is of another type, or not what its name says.
        DomainError: its schema cannot be.
        OSError: the file cannot be opened.
    """
    kind = path.suffix.lower()
    if kind == ".json":
        return spec_text(_domain_of_json(path)), True
    if kind == ".toml":
        return spec_text(domain_of_spec(read_spec(path))), True
    if is_csv(path):
        return _text_to_fill_in(dict.fromkeys(csv_names(path))), False
    if is_parquet(path):
        return _text_to_fill_in(parquet_types(path)), False
    raise FileFormatError(f"{path}: a schema (.json or .toml) or records (.csv, .csv.gz or .parquet) are needed")


def spec_text(domain: Domain, *, up_to: int = 2, max_cells: int | None = None) -> str:
    """A spec with this domain, and everything else as a beginner might want it.

    Args:
        domain: the schema.
        up_to: ask for all tables of at most this many attributes.
        max_cells: leave out tables with more cells; None to leave out none.

    Example:
        >>> print(spec_text(Domain({"sex": ["F", "M"], "age": 85})).split("[domain]")[1].strip())
        sex = ["F", "M"]
        age = 85
    """
    lines = [f"{key_text(name)} = {attribute_text(domain[name])}" for name in domain]
    asked = f"up_to = {up_to}\n" if max_cells is None else f"up_to = {up_to}\nmax_cells = {max_cells}\n"
    head = _HEAD.replace("\nup_to = 2\n", f"\n{asked}")
    return head + _DOMAIN + "\n".join(lines) + "\n"


def _text_to_fill_in(types: Mapping[str, str | None]) -> str:
    lines = [
        f'{key_text(name)} = "{UNDECLARED}"' + ("" if kind is None else f"    # {kind} in the file")
        for name, kind in types.items()
    ]
    return _HEAD + _DOMAIN + _BY_HAND + "\n".join(lines) + "\n"


def _domain_of_json(path: Path) -> Domain:
    """The domain of a JSON object from name to size or labels, or of what ``Domain.to_json`` gives."""
    try:
        value = parse_json(read_limited(path))
    except FileFormatError as error:
        raise FileFormatError(f"{path}: {error}") from None
    if not isinstance(value, dict):
        raise FileFormatError(f'{path}: expected an object from attribute name to size, such as {{"age": 85}}')
    try:
        is_list = isinstance(value.get("attributes"), list) and all(isinstance(v, dict) for v in value["attributes"])
        return Domain.from_json(value) if is_list else Domain(value)
    except DomainError as error:
        raise DomainError(f"{path}: {error}", attributes=error.attributes) from None
