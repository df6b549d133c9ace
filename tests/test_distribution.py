"""What a source distribution holds, whatever lies in the checkout; constraints and a recipe that fit the project."""

import re
import shutil
import tarfile
import tomllib
from pathlib import Path

import yaml
from hatchling.builders.sdist import SdistBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from residualplanner.ground import version

HOME = Path(__file__).parents[1]


def test_a_source_distribution_holds_the_package_and_nothing_that_was_made_beside_it(tmp_path):
    for name in ("pyproject.toml", ".gitignore", "README.md", "LICENSE", "CHANGELOG.md"):
        shutil.copy(HOME / name, tmp_path)
    shutil.copytree(HOME / "residualplanner" / "gate" / "ledger", tmp_path / "residualplanner" / "gate" / "ledger")
    for name in ("residualplanner-demo/adult.csv", "out/tables/age.parquet", "survey.ledger", "tests/test_it.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("made here")
    (tmp_path / "residualplanner/ground").mkdir()
    shutil.copy(HOME / "residualplanner/ground/version.py", tmp_path / "residualplanner/ground")
    (made,) = SdistBuilder(str(tmp_path)).build(directory=str(tmp_path / "dist"), versions=["standard"])
    with tarfile.open(made) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
        (about,) = (name for name in archive.getnames() if name.endswith("PKG-INFO"))
        readme = archive.extractfile(about).read().decode()
    targets = re.findall(r"\]\(([^)]+)\)", readme)
    assert len(targets) > 50
    assert not [target for target in targets if not target.startswith(("https://", "#"))]
    assert "![A report: " in readme
    assert "raw.githubusercontent.com/residualplanner/residualplanner/main/docs/report.png" in readme
    assert {"residualplanner/gate/ledger/ledger.py", "tests/test_it.py", "pyproject.toml", "LICENSE"} <= found
    files = {"pyproject.toml", ".gitignore", "README.md", "LICENSE", "CHANGELOG.md", "PKG-INFO"}
    assert {name.split("/")[0] for name in found} <= files | {"residualplanner", "tests"}


def test_the_folder_of_the_demonstration_is_not_seen_by_git():
    assert "residualplanner-demo/" in (HOME / ".gitignore").read_text().splitlines()


PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
#: Of conda's packages, those that are called something else.
IN_CONDA = {"matplotlib": "matplotlib-base"}


def of_lists():
    """What the lists of constraints are for."""
    return [Requirement(line) for line in (*PROJECT["dependencies"], *EXTRAS["report"], *EXTRAS["convex"])]


def pinned(name):
    """The versions of a list of constraints, by canonical name: one for each marker."""
    found = {}
    for line in (HOME / "constraints" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            (exact,) = (requirement := Requirement(line)).specifier
            assert (exact.operator, requirement.url, requirement.extras) == ("==", None, set()), line
            found.setdefault(canonicalize_name(requirement.name), []).append(Version(exact.version))
    return found


def test_constraints_have_every_dependency_in_a_version_that_is_allowed():
    oldest, newest = pinned("oldest"), pinned("newest")
    for needed in of_lists():
        name = canonicalize_name(needed.name)
        versions = [*oldest[name], *newest[name]]
        assert all(needed.specifier.contains(version) for version in versions), needed
        assert max(oldest[name]) <= min(newest[name]), needed


def test_the_oldest_constraints_are_the_bounds_themselves():
    """Or the first release of them: no 2.2.0 of pandas knows NumPy 2."""
    for needed in of_lists():
        (bound,) = needed.specifier
        assert bound.operator == ">="
        (oldest,) = pinned("oldest")[canonicalize_name(needed.name)]
        stated = Version(bound.version).release
        assert oldest.release[: len(stated)] == stated, f"{needed}: python -m benchmarks.constraints --make"


def test_constraints_name_no_index_and_no_place():
    for path in (HOME / "constraints").iterdir():
        assert not re.search(r"://|^--|^-|[/\\]", path.read_text(encoding="utf-8"), re.MULTILINE), path


def test_the_recipe_of_conda_says_what_pyproject_says():
    recipe = yaml.safe_load((HOME / "conda/recipe/recipe.yaml").read_text(encoding="utf-8"))
    needs, python = recipe["requirements"], f"python {PROJECT['requires-python']}"

    def in_conda(lines):
        found = [Requirement(line) for line in lines]
        return {f"{IN_CONDA.get(each.name, each.name)} {each.specifier}" for each in found}

    assert {*needs["run"]} == in_conda(PROJECT["dependencies"]) | {python}
    assert {*needs["run_constraints"]} == in_conda([*EXTRAS["report"], *EXTRAS["convex"]])
    build = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert {*needs["host"]} == in_conda(build) | {python, "pip"}
    assert recipe["context"]["version"] == version.__version__
    about = recipe["about"]
    assert (about["summary"], about["license"]) == (PROJECT["description"], PROJECT["license"])
    assert (about["homepage"], about["documentation"]) == tuple(
        PROJECT["urls"][name] for name in ("Source", "Documentation")
    )
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == "residualplanner = " + PROJECT["scripts"]["residualplanner"]
