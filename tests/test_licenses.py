"""What the package brings along has licenses that go with its own."""

import re
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def name_of(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def brought(requirements: list[str]) -> Iterator[str]:
    """The installed packages that these requirements bring, and those that they bring in turn."""
    seen, waiting = set(), [name_of(requirement) for requirement in requirements]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another system or another version of Python
        yield name
        waiting += [name_of(need) for need in needs if "extra ==" not in need]


def license_of(name: str) -> str:
    about = metadata.metadata(name)
    classifiers = [line for line in about.get_all("Classifier", []) if line.startswith("License")]
    return " ".join([about.get("License-Expression") or about.get("License", "")[:60], *classifiers])


HARD = sorted(brought(PROJECT["dependencies"]))


@pytest.mark.parametrize("name", sorted({*HARD, *brought(EXTRAS["convex"])}))
def test_no_package_that_is_always_installed_or_states_losses_is_under_the_gpl(name):
    assert "GPL" not in license_of(name).upper()


def test_ecos_is_an_extra_which_the_tests_have():
    with_ecos = {name for name, extra in EXTRAS.items() if "ecos" in map(name_of, extra)}
    assert with_ecos == {"ecos"}
    assert any("ecos" in requirement for requirement in EXTRAS["test"])
    assert "ecos" not in HARD


def test_solvers_that_only_cvxpy_knows_are_not_installed_for_everyone():
    assert "clarabel" in HARD
    assert not {"cvxpy", "cvxpy-base", "scs", "osqp", "highspy"} & {*HARD}
    assert [*map(name_of, EXTRAS["convex"])] == ["cvxpy-base"]
