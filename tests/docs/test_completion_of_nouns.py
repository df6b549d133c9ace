"""What completion shows of the nouns of ``rp.`` is on the manual's pages, and has a docstring."""

import dataclasses
import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import pytest

import residualplanner as rp
from residualplanner.ground.notebooks import hidden_names

API = Path(__file__).resolve().parents[2] / "docs" / "api"
DIRECTIVE = re.compile(r"^\.\. (currentmodule|autoclass):: (\w[\w.]*)(?:\(\))?\n((?:   :.*\n)*)", re.MULTILINE)
ROOMS = (rp, rp.fits, rp.fits.rap, rp.publish, rp.scale, rp.strategies)
NOUNS = [noun for room in ROOMS for noun in (getattr(room, name) for name in dir(room)) if isinstance(noun, type)]
NOUNS += [rp.losses.ConvexLoss, rp.losses.MaxVariance, rp.losses.SumOfVariances, rp.losses.Targets, rp.privacy.Budget]
#: Names of errors and mappings are Python's own.
OURS = [noun for noun in NOUNS if not issubclass(noun, BaseException)]


def pages():
    """The options of each class that has a place on a page."""
    found, module = {}, ""
    for page in API.glob("*.md"):
        for directive, name, options in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            if directive == "currentmodule":
                module = name
            else:
                found[getattr(import_module(module), name)] = dict(re.findall(r":([\w-]+): *(.*)", options))
    return found


PAGES = pages()


def names_shown(cls):
    """What ``dir`` of an object shows, the fields of classes without slots among it."""
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    return {name for name in {*dir(cls), *fields} - hidden_names(cls) if not name.startswith("_")}


def attributes_in_docstring(cls):
    """The names in the sections of arguments and attributes."""
    names, inside = set(), False
    for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
        if line and not line.startswith(" "):
            inside = line in ("Attributes:", "Args:")
        elif inside and line.startswith("    ") and not line.startswith("     "):
            names |= set(re.findall(r"\w+", line.split(":")[0].split("(")[0]))
    return names


def names_on_the_page(cls):
    """What autodoc makes of the directives of a class and of those that it is made from."""
    names = attributes_in_docstring(cls)
    is_whole = "inherited-members" in PAGES.get(cls, {})
    for each in cls.__mro__[:-1]:
        options = PAGES.get(each, {"inherited-members": ""} if is_whole else None)
        if options is None:
            continue
        names |= attributes_in_docstring(each)
        if "no-members" not in options:
            some = set(re.findall(r"\w+", options.get("members", "")))
            names |= some or {name for name, value in vars(each).items() if inspect.getdoc(value)}
    return names


@pytest.mark.parametrize("noun", OURS, ids=lambda noun: noun.__name__)
def test_completion_shows_what_the_manual_has(noun):
    assert noun in PAGES
    of_python = set(dir(Mapping)) if issubclass(noun, Mapping) else set()
    assert names_shown(noun) - of_python <= names_on_the_page(noun)


@pytest.mark.parametrize("noun", OURS, ids=lambda noun: noun.__name__)
def test_what_completion_shows_says_what_it_is(noun):
    described = {name for each in noun.__mro__ for name in attributes_in_docstring(each)}
    for name in names_shown(noun) - described:
        assert inspect.getdoc(getattr(noun, name)), name
