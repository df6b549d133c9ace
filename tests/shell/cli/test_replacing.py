"""--force replaces a plan and its error table, and nothing else."""

import pytest


@pytest.fixture
def plan(folder, spec, run):
    run("plan", spec, "-o", "small.plan", "--quiet", status=0)
    return folder / "small.plan"


def test_a_plan_is_not_replaced_unless_it_is_forced(folder, plan, spec, run):
    errors, old = folder / "small.plan.errors.csv", plan.read_bytes()
    old_errors = errors.read_bytes()
    refused = run("plan", spec, "-o", "small.plan", "--budget", "zcdp=2", status=2)
    assert "small.plan exists already and is not overwritten; replace it with --force" in " ".join(
        refused.output.split()
    )
    assert plan.read_bytes() == old
    run("plan", spec, "-o", "small.plan", "--budget", "zcdp=2", "--force", status=0)
    assert plan.read_bytes() != old
    assert errors.read_bytes() != old_errors
    plan.unlink()  # the error table is left alone
    assert "small.plan.errors.csv exists already" in run("plan", spec, "-o", "small.plan").output
    run("plan", spec, "-o", "small.plan", "--force", "--quiet", status=0)
    assert plan.is_file()


@pytest.mark.parametrize("kind", ["measurement", "ledger", "records", "spec", "broken plan", "folder", "link"])
def test_no_other_file_is_replaced_even_by_force(kind, folder, plan, spec, records, run):
    target = folder / "target"
    if kind == "measurement":
        run("measure", plan, records, "-o", target, "--quiet", status=0)
    elif kind == "ledger":
        run("ledger", target, "--create", "census", "--budget", "zcdp=1", "--quiet", status=0)
    elif kind == "folder":
        target.mkdir()
    elif kind == "link":
        target.symlink_to(plan)
    else:
        texts = {"records": b"age,sex\n3,F\n", "spec": spec.read_bytes(), "broken plan": plan.read_bytes()[:-1]}
        target.write_bytes(texts[kind])
    before = None if kind == "folder" else target.read_bytes()
    for options in (["--force"], []):
        refused = run("plan", spec, "-o", target, *options, status=2)
        word = "target is a folder" if kind == "folder" and not options else "target exists already and is not"
        assert word in " ".join(refused.output.split())
        assert ("--force does not replace it" in " ".join(refused.output.split())) == bool(options)
    assert before is None or target.read_bytes() == before


@pytest.mark.parametrize("content", [b"PAR1 no Parquet PAR1", b"query,sex\n3,F\n"])
def test_no_other_file_is_taken_for_an_error_table(folder, spec, run, content):
    other = folder / "p.errors.csv"
    other.write_bytes(content)
    before = other.read_bytes()
    refused = run("plan", spec, "-o", "p", "--force", status=2)
    assert "is not an error table" in " ".join(refused.output.split())
    assert other.read_bytes() == before
