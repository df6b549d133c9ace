"""A file where another is wanted is named for what it is, and what is wanted is said; never what it holds."""

import re

import pandas as pd
import pytest

SECRET = "tell-nobody"
#: For each kind of file how it is called in messages.
KINDS = {
    "p.plan": "a plan",
    "m.measurement": "a measurement",
    "l.ledger": "a ledger",
    "spec.toml": "a spec",
    "tables": "the folder of a release",
    "tables/manifest.json": "the manifest of a release; name its folder",
    "records.csv": "a CSV file",
    "parquet": "a Parquet file",
    "gzip": "a gzipped file",
    "book.xlsx": "an Excel workbook; save it as CSV",
    "page.html": "a web page",
    "sub": "a folder",
}
#: For each file that a command reads what is wanted, and the kinds that are not refused for what they are.
EXPECTED = {
    "init FILE": ("init wants a domain", {"spec.toml", "records.csv", "parquet"}),
    "plan FILE -o new": ("plan wants a spec in TOML", {"spec.toml"}),
    "measure FILE records.csv -o new": ("measure wants a plan", {"p.plan"}),
    "measure p.plan FILE -o new": ("measure wants records", {"records.csv", "sub"}),
    "measure p.plan records.csv -o new --ledger FILE": ("--ledger wants a ledger", {"l.ledger"}),
    "reconstruct FILE -o new": ("reconstruct wants a measurement", {"m.measurement", "tables"}),
    "release FILE records.csv -o new": ("release wants a spec in TOML", {"spec.toml"}),
    "release spec.toml records.csv -o new --ledger FILE": ("--ledger wants a ledger", {"l.ledger"}),
    "compare p.plan FILE": ("compare wants a plan", {"p.plan"}),
    "report FILE -o new": ("report wants a plan, or the folder of a release", {"p.plan", "tables"}),
    "ledger FILE": ("ledger wants a ledger", {"l.ledger"}),
}


@pytest.fixture
def every_file(folder, run):
    """One file of each kind in the folder at hand, with a secret in it."""
    spec = f'budget = {{ zcdp = 1 }}\n[domain]\nsex = ["F", "M"]\nnote = ["{SECRET}", "b"]\n[[workload]]\nup_to = 2\n'
    (folder / "spec.toml").write_text(spec)
    frame = pd.DataFrame({"sex": ["F", "M"], "note": [SECRET, "b"]})
    frame.to_csv(folder / "records.csv", index=False)
    frame.to_parquet(folder / "parquet")
    frame.to_csv(folder / "gzip", index=False, compression="gzip")
    (folder / "book.xlsx").write_text(SECRET)
    (folder / "page.html").write_text(f"<!doctype html><p>{SECRET}")
    (folder / "sub").mkdir()
    for command in (
        "plan spec.toml -o p.plan",
        "measure p.plan records.csv -o m.measurement",
        "reconstruct m.measurement -o tables --format csv",
        f"ledger l.ledger --create {SECRET} --budget zcdp=1",
    ):
        run(*command.split(), status=0)


@pytest.mark.usefixtures("every_file")
def test_a_file_of_another_kind_is_named_for_what_it_is_and_what_is_wanted_is_said(folder, run):
    before = sorted(folder.rglob("*"))
    for command, (wanted, fitting) in EXPECTED.items():
        for name in KINDS.keys() - fitting:
            result = run(*(name if word == "FILE" else word for word in command.split()))
            assert result.exit_code == 2, (command, name, result.output)
            assert result.stderr.startswith(f"Error: {name} is {KINDS[name]}; {wanted}"), (command, result.stderr)
            assert SECRET not in result.output
    assert sorted(folder.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + b"\0" * 100, b"\xff\xfe", b'{"format": 1}'])
@pytest.mark.usefixtures("records")
def test_what_is_damaged_or_of_no_known_kind_is_never_a_defect(folder, spec, run, content):
    run("plan", spec, "-o", "p.plan", status=0)
    for name in ("other", "other.toml"):
        (folder / name).write_bytes(content)
        for command in EXPECTED:
            result = run(*(name if word == "FILE" else word for word in command.split()))
            assert result.exit_code != 1, (command, result.output)
            assert not re.search("defect|Traceback", result.output)
