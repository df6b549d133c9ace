"""Non-negative and rounded tables on the command line: as the API makes them, and refused before anything is spent."""

import numpy as np
import pytest

import residualplanner as rp
from residualplanner import Ledger
from shell.specs import told

SPEC = """
budget = {{ zcdp = "0.1" }}
[domain]
age = ["0-11", "12-64", "65+"]
marital = ["single", "married"]
sex = [[1, "female"], [2, "male"]]
[[workload]]
order = 2
[output]
{output}
"""
FACTS = """
nonnegative = true
round_to = 1
format = "csv"
known = [{ query = [], counts = 60 }, { query = ["sex"], file = "sex.csv" }]
impossible = [{ age = "0-11", marital = ["married"] }]
"""


@pytest.fixture
def files(folder):
    """A folder with records, a ledger with room for one release, and a public table."""
    draw = np.random.default_rng(0)
    rows = [f"{draw.choice(['0-11', '12-64', '65+'])},single,{1 + number % 2}" for number in range(60)]
    (folder / "records.csv").write_text("\n".join(["age,marital,sex", *rows]) + "\n")
    (folder / "sex.csv").write_text("count,sex\n30,2\n30,1\n")
    Ledger.create(folder / "ledger", budget=rp.zcdp("0.1"), data_set="people")
    return folder


@pytest.fixture
def release(run, files):
    """Write a spec with an [output], and release it with some options."""

    def release(output, *options):
        (files / "spec.toml").write_text(SPEC.format(output=output))
        return run("release", "spec.toml", "records.csv", "-o", "out", "--ledger", "ledger", *options)

    return release


def nothing_was_spent(files):
    return not Ledger.open(files / "ledger").entries and not (files / "out").exists()


def test_a_spec_asks_for_non_negative_integers_that_agree_with_what_is_known(files, release):
    found = release(FACTS)
    assert found.exit_code == 0, found.output
    tables = rp.load_tables(files / "out")
    assert tables.product.name == "non-negative rounded"
    assert tables.product.facts == (
        "the number of records",
        "the table of sex",
        "that there is no record in which age is 0-11 and marital is married",
    )
    assert tables["age", "marital"].estimate[0, 1] == 0
    assert tables["sex", "age"].estimate.sum(axis=1).tolist() == [30, 30]
    assert (tables["age", "marital"].estimate >= 0).all()
    by_hand = rp.rounded(
        rp.nonnegative(
            rp.reconstruct(rp.load_tables(files / "out")),
            known={(): 60, "sex": [30, 30]},
            impossible=[{"age": "0-11", "marital": "married"}],
        )
    )
    for query in by_hand:
        assert tables[query].estimate.tolist() == by_hand[query].estimate.tolist()
    assert "non-negative and rounded to integers that add up" in found.stdout
    assert "Public facts from other sources" in found.stdout


def test_reconstruct_makes_the_same_tables_of_the_same_spec_and_others_of_other_options(run, files, release):
    release(FACTS)
    run("reconstruct", "out", "--spec", "spec.toml", "-o", "same")
    for path in (files / "out/tables").iterdir():
        assert path.read_bytes() == (files / "same/tables" / path.name).read_bytes()
    options = ("--nonnegative", "--round-to", "5", "--with-unbiased", "--published-errors", "10", "--format", "csv")
    run("reconstruct", "out", "-o", "fives", *options, status=0)
    tables = rp.load_tables(files / "fives")
    assert tables.product == rp.rounded(rp.nonnegative(rp.reconstruct(rp.load_tables(files / "out"))), base=5).product
    assert "estimate_unbiased" in tables.numbers.frame(("age", "sex"))
    assert tables.numbers.published_errors["simulations"].tolist() == [10] * 3
    run("reconstruct", "out", "-o", "unbiased", status=0)
    assert rp.load_tables(files / "unbiased").product.is_unbiased


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sex,number\n1,30\n2,30\n", "its first line must name the columns sex, count, and no others"),
        *(
            (f"sex,count\n1,30\n{line}", "must have one line for each cell of the table")
            for line in ("", "1,30\n", "canary,30\n", "2,30,canary\n", "2,30\n2,30\n")
        ),
        ("sex,count\n1,30\n2,canary\n", 'in the column "count" of a line there is no number'),
        ("sex,count\n1,30\n2,1_0\n", 'in the column "count" of a line there is no number'),
        ("sex,count\n1,30\n2,\udcff\n", "is not CSV in UTF-8"),
    ],
)
def test_files_of_known_tables_are_refused_without_being_shown(files, release, text, message):
    (files / "sex.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    found = release(FACTS)
    assert found.exit_code == 2
    assert message in found.stderr
    assert "[[output.known]] number 2: sex.csv" in found.stderr
    assert "canary" not in found.stderr
    assert nothing_was_spent(files)


def test_reconstruct_names_the_spec_of_facts_that_are_wrong(run, files, release):
    release("")
    (files / "wrong.toml").write_text(
        SPEC.format(output="nonnegative = true\nknown = [{ query = ['a'], counts = [1] }]")
    )
    for more in ((), ("--dry-run",)):
        found = run("reconstruct", "out", "--spec", "wrong.toml", "-o", "again", *more, status=2)
        assert found.stderr.startswith("Error: wrong.toml: [[output.known]] number 1: ")
        assert not (files / "again").exists()


#: Tables of 2**28 cells, 105 of them: non-negative ones take more than any machine has.
HUGE = 'budget = { zcdp = "0.1" }\n[domain]\n' + "".join(f"a{number} = 16384\n" for number in range(15))
HUGE += "[[workload]]\norder = 2\n[output]"


def test_the_memory_of_non_negative_tables_is_told_and_too_little_is_refused_before_anything_is_spent(run, folder):
    (folder / "records.csv").write_text(",".join(f"a{number}" for number in range(15)) + "\n")
    (folder / "spec.toml").write_text(f"{HUGE}\nnonnegative = true\n")
    releasing = ("release", "spec.toml", "records.csv", "-o", "out")
    for more in ((), ("--dry-run",)):
        found = run(*releasing, *more, status=1)
        assert "too little memory: non-negative tables are made all at once, in " in found.stderr
        assert "publish the unbiased tables" in found.stderr
    (folder / "spec.toml").write_text(f"{HUGE}\n".replace("16384", "300"))
    dry = (*releasing, "--dry-run", "--json")
    few, more = (told(run(*dry, *words))["would-take"]["bytes"] for words in ((), ["--nonnegative"]))
    assert more > few + 10**8
    assert sorted(path.name for path in folder.iterdir()) == ["records.csv", "spec.toml"]


def test_the_command_that_a_failed_release_tells_makes_the_same_numbers(run, files, release, failing):
    with failing("tables"):
        failed = release(FACTS, "--round-to", "5")
    assert failed.exit_code == 1
    (command,) = [line.removeprefix("Next: residualplanner ") for line in failed.stderr.splitlines() if "Next" in line]
    assert command == "reconstruct out.measurement -o out --spec spec.toml --round-to 5"
    refused = release(FACTS, "--round-to", "5")
    assert refused.exit_code == 2
    assert f"residualplanner {command}\n" in refused.stderr
    run(*command.split(), status=0)
    assert rp.load_tables(files / "out").product.base == 5
    assert rp.load_tables(files / "out").product.facts
    assert len(Ledger.open(files / "ledger").entries) == 1
