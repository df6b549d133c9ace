"""A commented spec to start from."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from residualplanner.gate.sources.opening import columns_of
from residualplanner.gate.sources.package_files import PackageColumn, columns_of_file
from residualplanner.ground.errors import DataError, DomainError, FileFormatError
from residualplanner.ground.file_kinds import CSV, JSON, PACKAGE, PARQUET, SPEC, kind_of_name
from residualplanner.ground.json import parse_json
from residualplanner.ground.words import listed, separators
from residualplanner.method.domain.attribute import About, Attribute
from residualplanner.method.domain.domain import Domain
from residualplanner.more.amounts.weight import Weight
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.paths import path_of_spec
from residualplanner.shell.cli.spec import declared
from residualplanner.shell.cli.spec.file import read_limited, read_spec
from residualplanner.shell.cli.spec.objects import domain_of_spec

#: Where the weight of a domain stands.
_WEIGHT = '# weight = { column = "hours", maximum = 60, unit = "0.5", above = "clip" }\n'
TO_FILL_IN = """\
# Write the values of each column in place of "?", and remove the columns that are not to be published.
"""


class StartingSpec(NamedTuple):
    """A spec to start from."""

    text: str
    undeclared: tuple[str, ...]  # the attributes whose values are to be declared by hand
    is_of_records: bool
    declared: Mapping[str, Attribute]  # the attributes that are not to be declared


def _template() -> str:
    return files(__package__).joinpath("start.toml").read_text(encoding="utf-8")


def with_ledger(text: str, name: str) -> str:
    """The text of a spec with a ledger in a file of this name."""
    return text.replace('# ledger = { file = "people.ledger",', f"ledger = {{ file = {declared.string_text(name)},")


def starting_spec(path: Path, *, is_dictionary: bool = False, has_header: bool = False) -> StartingSpec:
    """A spec for what ``path`` describes: a domain in JSON, another spec, a data dictionary, or records.

    Of a CSV file that is no dictionary nothing but the first line is read, and only if it is said to be a header.
    """
    kind = kind_of_name(path)
    if is_dictionary and path.suffix.lower() != ".csv":
        raise FileFormatError(f"{path}: a data dictionary is a .csv file; leave --dictionary out for others")
    if kind in (JSON, SPEC):
        domain, names = (_domain_in_json(path), []) if kind == JSON else _domain_in_spec(path)
        every = {name: domain[name] for name in domain}
        undeclared = tuple(name for name in names if name not in domain)
        return StartingSpec(spec_text(domain, names), undeclared, is_of_records=False, declared=every)
    if kind == CSV and not (is_dictionary or has_header):
        raise FileFormatError(
            f"{path}: the names in its first line would be written into the spec, which is public. If they are the "
            "names of columns, and not the first record, add --header; if there is no such line, write one first; "
            "if this is a data dictionary, without any record, add --dictionary"
        )
    if kind not in (CSV, PARQUET, PACKAGE):
        records = ".csv, .csv.gz, .parquet, .sav, .dta"
        raise FileFormatError(f"{path}: a domain (.json or .toml) or records ({records}) are needed")
    columns = declared.read_dictionary(path) if is_dictionary else _columns_of_records(path)
    undeclared = tuple(column.name for column in columns if column.attribute is None)
    lines = "\n".join(line for column in columns for line in column.lines())
    text = _template() + (TO_FILL_IN if undeclared else "") + lines + "\n"
    attributes = {column.name: column.attribute for column in columns if column.attribute is not None}
    return StartingSpec(text, undeclared, is_of_records=not is_dictionary, declared=attributes)


def say_start(start: StartingSpec, source: Path, path: Path, output: Output) -> None:
    """Say what was written, what is still to be filled in, and what comes next."""
    output.wrote(path, f"{where_text(path, source)}: a spec with a comment for each choice.")
    if start.undeclared:
        shown = f"Not declared in {source}: {listed(start.undeclared, 8)}."
        read = "Only the names of the columns were read." if start.is_of_records else shown
        output.say(f'{read}  Write the values of each in place of "?".')
    command = command_text("plan", path)
    text = f"Next: look through it, then run  {command}"
    output.say(text, event="next", command=command, undeclared=start.undeclared)


def where_text(path: Path, source: Path) -> str:
    """Where a spec was written, in words, if it has a name made of that of a source in another folder."""
    is_here = path == path_of_spec(source, None) and source.resolve().parent != path.resolve().parent
    return f", in the folder {path.resolve().parent}" if is_here else ""


def spec_text(domain: Domain, names: Iterable[str] = (), *, up_to: int = 2, max_cells: int | None = None) -> str:
    """A spec with this domain, and defaults for all else; names that are not in the domain are still to be declared."""
    known = {attribute.name: attribute for attribute in domain.attributes}
    columns = [declared.Declared(name, known.get(name)) for name in names or known]
    lines = [line for column in columns for line in column.lines()]
    entry = f"up_to = {up_to}\n" if max_cells is None else f"up_to = {up_to}\nmax_cells = {max_cells}\n"
    text = _template().replace("\nup_to = 2\n", f"\n{entry}")
    if isinstance(domain.weight, Weight):
        weight = {"column": domain.weight.name, "maximum": domain.weight.maximum}
        weight |= {"unit": domain.weight.unit, "above": domain.weight.above}
        text = text.replace(_WEIGHT, f"weight = {declared.toml_text(weight)}\n")
    return text + "\n".join(lines) + "\n"


def _columns_of_records(path: Path) -> list[declared.Declared]:
    """The columns, and what the value labels in a file of a statistics package declare; no entry is read."""
    is_package = kind_of_name(path) == PACKAGE
    try:
        columns: tuple[Any, ...] = columns_of_file(path) if is_package else columns_of(path)
    except DataError as error:
        raise FileFormatError(f"{path}: {error}") from None
    except (ValueError, OSError):  # pyarrow's
        raise FileFormatError(f"{path}: this is not a Parquet file, or it is damaged") from None
    if is_package:
        return list(map(_of_package_column, columns))
    names = list(map(str, columns))
    if not all(map(_is_name, names)) or len(set(names)) < len(names) or separators(names) is not None:
        raise FileFormatError(
            f"{path}: its first line must hold the names of its columns, separated by commas, all different, no numbers"
        )
    return [declared.Declared(name, None) for name in names]


def _of_package_column(column: PackageColumn) -> declared.Declared:
    about, labels = About(title=column.title), [*column.meanings]
    if not labels or not all(isinstance(label, int | str) for label in labels):
        return declared.Declared(column.name, None, about=about)
    meanings = declared.labels_of_pairs(column.name, column.meanings.items())
    return declared.Declared(column.name, Attribute(column.name, labels=meanings, about=about))


def _is_name(text: str) -> bool:
    """Whether a string may be a column's name rather than a value of the first record: no number, nor empty."""
    try:
        float(text)
    except ValueError:
        return bool(text.strip())
    return False


def _domain_in_spec(path: Path) -> tuple[Domain, list[str]]:
    """The domain of a spec, as far as it is declared, and the names of all its columns."""
    spec = read_spec(path)
    known = {name: table for name, table in spec.domain.items() if table is not None}
    return domain_of_spec(spec.model_copy(update={"domain": known})), list(spec.domain)


def _domain_in_json(path: Path) -> Domain:
    """What `Domain.to_json` gives, or an object from name to size or labels, as a domain."""
    text = read_limited(path)
    try:
        value = parse_json(text)
        listed = value.get("attributes") if isinstance(value, dict) else None
        if isinstance(listed, list) and all(isinstance(entry, dict) for entry in listed):
            return Domain.from_json(value)
        # JSON Schema, Frictionless and CSVW files are objects, too, but of strings, and of objects in one another.
        if not isinstance(value, dict) or not all(map(_declares_values, value.values())):
            raise FileFormatError(
                'this is not a domain; write a size or labels for each attribute, as {"age": 85, "sex": ["F", "M"]}, '
                "or give a data dictionary (.csv) with --dictionary"
            )
        return Domain(value)
    except (FileFormatError, DomainError) as error:
        raise type(error)(f"{path}: {error}") from None


def _declares_values(value: Any) -> bool:
    """Whether this is a number, or a list or mapping of neither lists nor mappings, such as labels and meanings."""
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return isinstance(value, int | float | list | dict) and not any(isinstance(each, list | dict) for each in entries)
