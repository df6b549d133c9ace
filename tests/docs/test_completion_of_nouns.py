"""What completion shows of the nouns of ``rp.`` is on the manual's pages, and has a docstring."""

import dataclasses
import inspect
import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
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


def test_objects_show_these_names_and_no_others():
    plan = rp.select(rp.marginals(rp.Domain({"a": 2, "b": 3}), order=2), budget=rp.zcdp(1), loss="max")
    measurement = rp.measure(plan, np.zeros((9, 2), dtype=int), noise="gaussian", seed=0)
    release = rp.reconstruct(measurement)
    kinds = [rp.Prefix(), rp.Mean(), rp.Quantiles(0.5), rp.Custom([[1, 1]])]
    for noun in (plan, plan.workload, plan.domain, plan.loss, measurement, release, release["a"], rp.zcdp(1), *kinds):
        shown = {name for name in dir(noun) if not name.startswith("_")}
        assert shown <= names_shown(type(noun))
        for name in hidden_names(type(noun)) & set(dir(type(noun))):
            assert name not in shown
            assert inspect.getattr_static(noun, name) is not None or hasattr(noun, name)
    assert not {"of_answers", "provenance"} & set(dir(release["a"]))
    assert {"estimate", "to_frame"} <= set(dir(release["a"]))
