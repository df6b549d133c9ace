"""What is public, as lines of text: ``python -m benchmarks.public`` writes them into tests/public.

Public are the names on the pages of the reference, the columns of frames and files, the commands with their options and
statuses, and the keys of the spec.  Types are left out: they are written in other ways by other versions of Python.
"""

import dataclasses
import inspect
import io
import re
import typing
from collections.abc import Iterator
from contextlib import redirect_stderr
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import typer
import typer.main

import residualplanner as rp
from benchmarks.public_columns import columns
from residualplanner.shell.cli import output
from residualplanner.shell.cli.app import app
from residualplanner.shell.cli.spec.file import SpecFile
from residualplanner.shell.cli.spec.tables import KindTable
from residualplanner.shell.cli.spec.values import SpecTable

LISTS = Path(__file__).parents[1] / "tests" / "public"
PAGES = LISTS.parents[1] / "docs" / "api"
#: A directive of a page: which, of what, whether without arguments, and its options.
_DIRECTIVE = re.compile(
    r"^\.\. (currentmodule|autoclass|autofunction|autoexception):: ([\w.]+)(\(\))?.*\n((?:   :.*\n)*)", re.MULTILINE
)
_OPTION = re.compile(r":([\w-]+): ?(.*)")
#: What the pages leave out of every class.
_LEFT_OUT = {"to_json", "from_json"}
#: The package and its rooms, as users write them; other modules only define what is got from these.
ROOMS = {room.__name__: f"rp.{name}." for name in rp.__all__ if isinstance(room := getattr(rp, name), ModuleType)}
ROOMS |= {
    "residualplanner": "rp.",
    "residualplanner.fits.rap": "rp.fits.rap.",
    "residualplanner.fits.microdata": "rp.fits.microdata.",
}
#: Defaults that are written as they are.
_PLAIN = (bool, int, float, str, tuple, type(None))


def names() -> Iterator[str]:
    """Each function and class of the reference, and what it shows of them, with the names and defaults of arguments."""
    found: dict[str, list[str]] = {}
    for page in sorted(PAGES.glob("*.md")):
        module = "residualplanner"
        for directive, name, is_not_called, options in _DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if directive == "currentmodule":
                module = name
                continue
            each: Any = import_module(module)
            for part in name.split("."):
                each = getattr(each, part)
            members = _members(each, dict(_OPTION.findall(options))) if isinstance(each, type) else []
            own = "" if is_not_called or not callable(each) else arguments(each)
            found[f"{ROOMS.get(module, '')}{name}"] = [
                own,
                *(f".{member}{_of_member(each, member)}" for member in members),
            ]
    yield from (f"{name}{line}" for name in sorted(found) for line in found[name])


def _members(each: type, options: dict[str, str]) -> list[str]:
    """The names of what a page shows of a class."""
    if "no-members" in options:
        return []
    if options.get("members"):
        return sorted(options["members"].replace(" ", "").split(","))
    classes = each.__mro__ if "inherited-members" in options else (each,)
    every = {name for one in classes if one.__module__.startswith("residualplanner") for name in vars(one)}
    every |= {field.name for field in dataclasses.fields(each)} if dataclasses.is_dataclass(each) else set()
    left_out = _LEFT_OUT | {*options.get("exclude-members", "").replace(" ", "").split(",")}
    return sorted(name for name in every - left_out if not name.startswith("_"))


def _of_member(each: type, name: str) -> str:
    member = getattr(each, name, None)
    return arguments(member) if callable(member) else ""


def arguments(function: Any) -> str:
    """The arguments as they are called: without self, and without types."""
    if isinstance(function, type) and issubclass(function, Exception) and not inspect.isfunction(function.__init__):
        return "(message)"  # what Python says of these depends on its version
    parameters = list(inspect.signature(function).parameters.values())
    bare = [each.replace(annotation=each.empty, default=_default(each.default)) for each in parameters]
    return str(inspect.Signature([each for each in bare if each.name not in ("self", "cls")]))


class _Shown:
    """A default in words."""

    def __init__(self, words: str) -> None:
        self.words = words

    def __repr__(self) -> str:
        return self.words


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty or isinstance(value, _PLAIN):
        return value
    return _Shown(f"<{type(value).__name__}>")


def keys() -> Iterator[str]:
    """Each key of the spec with its default; ``[]`` stands for each table of a list, ``*`` for a name of the user's."""
    yield from sorted({*_keys(SpecFile, "")})
    yield from sorted(_keys(KindTable, "(a kind)."))


def _keys(table: type[SpecTable], where: str) -> Iterator[str]:
    for name, field in table.model_fields.items():
        default = "" if field.is_required() else f" = {_plain(field.get_default(call_default_factory=True))}"
        choices = [*_choices(field.annotation)]
        yield f"{where}{name}{default}{f'  ({chr(44).join(choices)})' if choices else ''}"
        for path, inner in _tables(field.annotation):
            if inner is KindTable:
                yield f"{where}{name}{path} = a kind"
            else:
                yield from _keys(inner, f"{where}{name}{path}.")


def _plain(value: Any) -> str:
    return repr(value) if isinstance(value, (*_PLAIN, list, dict)) else f"<{type(value).__name__}>"


def _tables(annotation: Any) -> Iterator[tuple[str, type[SpecTable]]]:
    if isinstance(annotation, type) and issubclass(annotation, SpecTable):
        yield "", annotation
    origin = typing.get_origin(annotation)
    step = {list: "[]", dict: ".*"}.get(origin, "")
    for inner in typing.get_args(annotation):
        yield from ((step + path, table) for path, table in _tables(inner))


def _choices(annotation: Any) -> Iterator[str]:
    if typing.get_origin(annotation) is typing.Literal:
        yield from map(str, typing.get_args(annotation))
    elif typing.get_origin(annotation) not in (list, dict):
        for inner in typing.get_args(annotation):
            yield from _choices(inner)


def commands() -> Iterator[str]:
    """Each command with its arguments and options."""
    group: Any = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):
        for parameter in command.params:
            is_option = parameter.param_type_name == "option"
            words = parameter.opts + parameter.secondary_opts if is_option else [parameter.metavar]
            yield f"{name} {' '.join(words)}"


def statuses() -> Iterator[str]:
    """The exit status of each error."""
    yield "success 0"
    yield "wrong arguments 2"
    public = [each for each in vars(rp.errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    for each in (*public, FileNotFoundError, FileExistsError, PermissionError, MemoryError, KeyboardInterrupt):
        if not issubclass(each, Warning):
            more = {"extra": "report"} if each is rp.errors.MissingExtraError else {}
            yield f"{each.__name__} {status_of(each('words', **more))}"


def status_of(error: BaseException) -> int:
    """The status in which a command ends that raises this error."""
    with redirect_stderr(io.StringIO()):
        try:
            with output.reported_failures():
                raise error
        except typer.Exit as ended:
            return ended.exit_code


LISTINGS = {"names": names, "keys": keys, "commands": commands, "statuses": statuses, "columns": columns}


def listed(name: str) -> str:
    """The text of a listing."""
    return "\n".join(LISTINGS[name]()) + "\n"


if __name__ == "__main__":
    for each in LISTINGS:
        (LISTS / f"{each}.txt").write_text(listed(each), encoding="utf-8")
