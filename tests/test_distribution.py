"""What a source distribution holds: the package and what belongs to it, whatever else lies in the checkout."""

import re
import shutil
import tarfile
from pathlib import Path

from hatchling.builders.sdist import SdistBuilder

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
