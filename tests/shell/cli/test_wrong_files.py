"""A file where another is wanted is named for what it is, and what is wanted is said; never what it holds."""

import re
import shutil
import zipfile

import pytest

from residualplanner.ground.file_kinds import kind_of_path
from slowness import slow

SECRET = "tell-nobody"
#: For each kind of file how it is called in messages.
KINDS = {
    "p.plan": "a plan",
    "m.measurement": "a measurement",
    "l.ledger": "a ledger",
    "spec.toml": "a spec",
    "tables": "the folder of a release",
    "tables/manifest.json": "the manifest of a release",
    "records.csv": "a CSV file",
    "records.parquet": "a Parquet file",
    "book.xlsx": "an Excel workbook",
    "notes.txt": "a text file",
    "schema.json": "a JSON file",
    "page.html": "a web page",
    "empty": "an empty file",
    "sub": "a folder",
}
#: For each file that a command reads what is wanted, and the kinds that are not refused for what they are.
EXPECTED = {
    ("init", "FILE"): (
        "init wants a schema",
        {"spec.toml", "records.csv", "records.parquet", "schema.json", "notes.txt"},
    ),
    ("plan", "FILE", "-o", "new"): ("plan wants a spec in TOML", {"spec.toml", "notes.txt"}),
    ("measure", "FILE", "records.csv", "-o", "new"): ("measure wants a plan", {"p.plan"}),
    ("measure", "p.plan", "FILE", "-o", "new"): ("measure wants records", {"records.csv", "records.parquet", "sub"}),
    ("measure", "p.plan", "records.csv", "-o", "new", "--ledger", "FILE"): (
        "--ledger wants a ledger",
        {"l.ledger", "notes.txt"},
    ),
    ("reconstruct", "FILE", "-o", "new"): ("reconstruct wants a measurement", {"m.measurement", "tables"}),
    ("release", "FILE", "records.csv", "-o", "new"): ("release wants a spec in TOML", {"spec.toml", "notes.txt"}),
    ("release", "spec.toml", "FILE", "-o", "new"): ("release wants records", {"records.csv", "records.parquet", "sub"}),
    ("release", "spec.toml", "records.csv", "-o", "new", "--ledger", "FILE"): (
        "--ledger wants a ledger",
        {"l.ledger", "notes.txt"},
    ),
    ("compare", "p.plan", "FILE"): ("compare wants a plan", {"p.plan"}),
    ("report", "FILE", "-o", "new"): (
        "report wants a plan, the folder of a release, or a ledger",
        {"p.plan", "tables", "l.ledger"},
    ),
    ("ledger", "FILE"): ("ledger wants a ledger", {"l.ledger", "notes.txt"}),
}


@pytest.fixture(scope="module")
def every_file(tmp_path_factory):
    """A folder with one file of each kind, all but the empty one with a secret in it."""
    import pandas as pd
    from typer.testing import CliRunner

    from residualplanner.shell.cli.app import app

    home = tmp_path_factory.mktemp("kinds")
    spec = f'budget = {{ zcdp = 1 }}\n[domain]\nsex = ["F", "M"]\nnote = ["{SECRET}", "b"]\n[[workload]]\nup_to = 2\n'
    (home / "spec.toml").write_text(spec)
    frame = pd.DataFrame({"sex": ["F", "M"], "note": [SECRET, "b"]})
    frame.to_csv(home / "records.csv", index=False)
    frame.to_parquet(home / "records.parquet")
    with zipfile.ZipFile(home / "book.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", SECRET)
    (home / "notes.txt").write_text(f"{SECRET}\n")
    (home / "schema.json").write_text(f'{{"sex": ["{SECRET}", "M"]}}')
    (home / "page.html").write_text(f"<!doctype html><p>{SECRET}")
    (home / "empty").write_bytes(b"")
    (home / "sub").mkdir()
    at = {name: str(home / name) for name in KINDS}
    for command in (
        ("plan", at["spec.toml"], "-o", at["p.plan"]),
        ("measure", at["p.plan"], at["records.csv"], "-o", at["m.measurement"]),
        ("reconstruct", at["m.measurement"], "-o", at["tables"], "--format", "csv"),
        ("ledger", at["l.ledger"], "--create", SECRET, "--budget", "zcdp=1"),
    ):
        result = CliRunner().invoke(app, list(command))
        assert result.exit_code == 0, result.output
    return home


@pytest.mark.parametrize(("name", "words"), KINDS.items())
def test_every_kind_of_file_is_known(every_file, name, words):
    assert kind_of_path(every_file / name).name.partition(";")[0] == words


@pytest.mark.slow
@pytest.mark.parametrize("arguments", EXPECTED, ids=" ".join)
def test_a_file_of_another_kind_is_named_for_what_it_is(every_file, folder, run, arguments):
    wanted, fitting = EXPECTED[arguments]
    shutil.copytree(every_file, folder, dirs_exist_ok=True)
    before = sorted(folder.rglob("*"))
    for name, words in KINDS.items():
        if name in fitting:
            continue
        result = run(*(name if word == "FILE" else word for word in arguments))
        assert result.exit_code == 2, (name, result.output)
        assert result.stderr.startswith(f"Error: {name} is {words}"), (name, result.stderr)
        assert wanted in result.stderr
        assert SECRET not in result.output
        assert sorted(folder.rglob("*")) == before


def test_what_a_file_is_for_is_said(every_file, folder, run):
    shutil.copytree(every_file, folder, dirs_exist_ok=True)
    for command, words in {
        (
            "report",
            "m.measurement",
        ): "a measurement, which is for reconstruct and synthesize; report wants a plan, the folder",
        ("reconstruct", "p.plan", "-o", "n"): "a plan, which is for measure, compare and report; reconstruct wants",
        (
            "plan",
            "records.csv",
        ): "a CSV file, which is for init, and as records for check, measure and release; plan wants",
        ("measure", "p.plan", "book.xlsx", "-o", "n"): "an Excel workbook; save it as CSV; measure wants records",
        (
            "measure",
            "p.plan",
            "tables",
            "-o",
            "n",
        ): "the folder of a release, which is for report and synthesize; measure wants",
        (
            "compare",
            "p.plan",
            "tables",
        ): "the folder of a release, which is for report and synthesize; compare wants a plan",
    }.items():
        assert words in run(*command).stderr


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"PK", b"PK\x03\x04" + b"\0" * 100, b"\xff\xfe", b"\0", b'{"format": 1}', b"PAR1"])
@pytest.mark.parametrize("name", ["other", slow("other.csv"), slow("other.plan"), "other.toml"])
def test_what_is_damaged_is_never_a_defect(folder, spec, records, run, content, name):
    run("plan", spec, "-o", "p.plan", status=0)
    (folder / name).write_bytes(content)
    for arguments in EXPECTED:
        result = run(*(name if word == "FILE" else word for word in arguments))
        assert result.exit_code != 1, (arguments, result.output)
        assert not re.search("defect|Traceback", result.output)
