"""Records in stages meet every form of records, column, rule and limit: each pair of values, at next to no noise.

What they are made of, their number, their values and their files are compared with the records that count, by
arithmetic of its own; and what is charged with the budget.  Factors, records and their forms are those of tables.
"""

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from inner_parts import InsecureTestBits
from meetings import factors, refusals
from meetings.build import SEXES, SIZE, Built
from meetings.covering import Covering
from meetings.factors import MISSING, PLAIN, Case
from meetings.refusals import NOT_FILES, Rule
from meetings.roads import command
from residualplanner.fits.stages import measuring
from residualplanner.fits.synthesis import fitted_mixture

BUDGET = rp.pcost(10**9)
#: Enough for three attributes, and quick.
SMALL = rp.fits.Ensemble(2, 20, rp.fits.Descent(100), rp.fits.Descent(50, 0.1))
SHARED = ("source", "column", "odd entries", "records", "people", "neighbors", "amounts", "weights", "words")
FACTORS = {name: list(factors.FACTORS[name]) for name in SHARED} | {
    "amounts": ["none", "sum", "counts by bin"],
    "product": ["unbiased", "with known counts"],
    "way": ["function", "session", "command", "from its folder", "test bits"],
    "method": ["controlled", "sobol", "independent"],
    "file": [".csv", ".parquet"],
}
RULES = [
    Rule("records have listed values", {"amounts": FACTORS["amounts"][1:]}, "listed"),
    Rule("records count as one each", {"weights": refusals.WEIGHTED}, "weight"),
    Rule("records are read again", {"source": ["Arrow, stream"]}, "only once"),
    *[rule for rule in refusals.RULES if set(rule.pair) <= set(SHARED)],
]


def rule_of(row):
    """What forbids a case, or a part of one."""
    if row.get("way") == "command" and row.get("source") in NOT_FILES:
        return "commands read files"
    return next((rule for rule in RULES if rule.forbids(row)), None)


COVERING = Covering(FACTORS, rule_of)
ROWS = list(COVERING.rows(2))
#: The first cases hold half of all pairs: the usual suite makes these.
USUAL = 20
NUMBERS = [pytest.param(number, marks=[pytest.mark.thorough] * (number >= USUAL)) for number in range(len(ROWS))]
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.slow]


def built_of(row):
    """The records and the schema; what a spec says besides is plain."""
    built = Built(Case(PLAIN | {name: row[name] for name in row if name in PLAIN}))
    built.budget = str(BUDGET.pcost_exact)
    return built


def made_by_command(built, row, folder):
    spec, out = folder / "spec.toml", folder / f"made{row['file']}"
    spec.write_text(built.spec, encoding="utf-8")
    records = built.source(built.lines, folder)
    records = getattr(records, "data", records)
    command("synthesize", spec, records, "-o", out, "--method", row["method"])
    return rp.Ledger.open(folder / "ledger"), rp.fits.load_stages(f"{out}.stages"), None


def made(built, row, folder):
    """The ledger, what was measured, and the records; these are in a file."""
    if row["way"] == "command":
        return made_by_command(built, row, folder)
    records, facts = built.source(built.lines, folder), built.facts() if built.case["product"].known else {}
    terms = {"neighbors": row["neighbors"], "records_per_person": built.people.most}
    ledger = rp.Ledger(BUDGET, data_set="made up", **terms)
    options = facts | {"method": row["method"]}
    if row["way"] == "session":
        people = rp.Session(records, ledger=ledger).synthesize(built.domain, **options)
    else:
        plan, kept = rp.fits.StagedPlan(built.domain, budget=BUDGET, **terms), folder / "stages"
        if row["way"] == "test bits":
            staged, ledger = measuring.measure_with_bits(plan, records, InsecureTestBits(7)), None
        else:
            staged = rp.fits.measure_in_stages(plan, records, ledger=ledger, folder=kept)
        if row["way"] == "from its folder":
            again = rp.fits.measure_in_stages(plan, None, ledger=ledger, folder=kept)
            first, other = ([each.answers_sha256 for each in found.measurements] for found in (staged, again))
            assert first == other
            staged = rp.fits.load_stages(kept)
        people = rp.synthesize(staged, **options)
    people.save(folder / f"made{row['file']}")
    return ledger, people.release, people


def read(built, row, folder):
    """The records of a file in codes."""
    path = folder / f"made{row['file']}"
    frame = pd.read_parquet(path) if row["file"] == ".parquet" else pd.read_csv(path, dtype=str, keep_default_na=False)
    labels = {name: list(map(str, built.domain[name].value_labels)) for name in built.domain.names}
    assert frame.columns.tolist() == list(labels)
    return np.array([[labels[name].index(str(entry)) for entry in frame[name]] for name in labels], dtype=int).T


def check_read_back(domain, file, records):
    """Files of synthetic records are records of a schema, for tables of all its attributes."""
    plan = rp.select(rp.Workload(domain, [("a", "b", "d")]), budget=BUDGET)
    expected = np.zeros(domain.sizes)
    np.add.at(expected, tuple(records.T), 1)
    found = rp.reconstruct(rp.measure(plan, file, noise="gaussian"))
    assert np.abs(found["a", "b", "d"].estimate - expected).max() < 0.01


def check(row, folder):
    built = built_of(row)
    ledger, staged, people = made(built, row, folder)
    if ledger is not None:
        assert ledger.spent == BUDGET.pcost_exact >= staged.noise.pcost
        assert staged.noise.has_guarantee
    counted = [[values[name] for name in ("a", "b", "d")] for _, values in built.counted(built.lines)]
    truth, sizes = np.array(counted, dtype=int).reshape(-1, 3), (built.size, len(SEXES), SIZE)
    for axis, name in enumerate(("a", "b", "d")):
        if sizes[axis] > 1:
            of_one = np.bincount(truth[:, axis], minlength=sizes[axis])
            assert np.abs(staged.singles[name,].estimate - of_one).max() < 0.01, name
    for names, table in staged.tables.items():
        expected = np.zeros(table.estimate.shape)
        np.add.at(expected, tuple(each.groups[truth[:, each.attribute]] for each in table.coarsenings), 1)
        assert np.abs(table.estimate - expected).max() < 0.01, names
    records = read(built, row, folder)
    assert people is None or np.array_equal(records, people.codes)
    assert len(records) == len(truth)
    file, domain = folder / f"made{row['file']}", built.domain
    check_read_back(rp.Domain({name: domain[name].value_labels for name in domain.names}), file, records)
    if built.rules.missing != MISSING and not {"bins", "months"} & set(built.column.declared):
        check_read_back(domain, file, records)
    if row["method"] == "controlled":
        for axis, size in enumerate(sizes):
            of_one = (np.bincount(found[:, axis], minlength=size) for found in (records, truth))
            assert np.abs(np.subtract(*of_one)).max() <= 2, axis
    if built.case["product"].known:
        facts = built.facts()
        if row["method"] == "controlled":
            assert np.abs(np.bincount(records[:, 1], minlength=2) - facts["known"]["b"]).max() <= 1
        empty = {(SEXES.index(cell["b"]), cell["d"]) for cell in facts["impossible"]}
        assert not empty & set(map(tuple, records[:, 1:].tolist()))


@pytest.mark.parametrize("number", NUMBERS)
def test_a_case_gives_the_truth_at_the_stated_cost(number, tmp_path, monkeypatch):
    monkeypatch.setattr(fitted_mixture, "ensemble_for", lambda _: SMALL)
    check(ROWS[number], tmp_path)
