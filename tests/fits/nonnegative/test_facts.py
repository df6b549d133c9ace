"""What is known anyway: exact in the tables, refused by name where it contradicts itself, told in every file."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from made_releases import answers_of, any_release, exact_release
from nearest_tables import EXACT, nearest
from random_plans import noise_of, plan_by_set, query_rows, sample_workload
from residualplanner.fits.nonnegative.nonnegative import Adjustments, StatedTable, StatedZeros

DOMAIN = rp.Domain({"age": 4, "marital": ["single", "married", "widowed"], "sex": ["F", "M"], "one": 1})
PAIRS = [("age", "marital"), ("marital", "sex"), ("age", "sex", "one")]
PLAN = rp.select(rp.Workload(DOMAIN, PAIRS), budget=rp.zcdp("0.05"))


def release(seed=0):
    chance = np.random.default_rng(seed)
    return exact_release(PLAN, chance.poisson(1.0, DOMAIN.sizes) + chance.normal(0, 3, DOMAIN.sizes))


def test_a_known_total_or_table_is_itself_and_every_other_agrees_with_it():
    made = rp.nonnegative(release(), known={(): 40})
    assert [float(table.estimate.sum()) for table in made.tables()] == pytest.approx([40] * 3, abs=1e-9)
    counts = [[3, 0, 4], [1, 5, 0], [2, 2, 2], [0, 9, 1]]
    made = rp.nonnegative(release(), known={("age", "marital"): counts})
    assert made["age", "marital"].estimate == pytest.approx(np.array(counts), abs=1e-9)
    assert made["marital", "sex"].estimate.sum(axis=1) == pytest.approx(np.sum(counts, axis=0), abs=1e-7)
    assert made["age", "sex", "one"].estimate.sum(axis=(1, 2)) == pytest.approx(np.sum(counts, axis=1), abs=1e-7)
    known = rp.nonnegative(release(1))["marital", "age"]  # a table, in any order
    made = rp.nonnegative(release(), known={("marital", "age"): known})
    assert made["age", "marital"].estimate == pytest.approx(known.estimate.T, abs=1e-7)


def test_cells_that_cannot_occur_are_0_in_every_table():
    made = rp.nonnegative(release(), impossible=[{"age": [0, 1], "marital": "married"}, {"age": range(1), "sex": "M"}])
    assert made["age", "marital"].estimate[:2, 1].tolist() == [0, 0]
    assert made["age", "sex", "one"].estimate[0, 1, 0] == 0
    assert made["age", "marital"].estimate.sum(axis=1)[0] == pytest.approx(made["age", "sex"].estimate[0, 0], abs=1e-7)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000))
def test_tables_with_facts_are_those_of_a_general_solver(seed):
    chance, noisy = np.random.default_rng(seed), release(seed)
    truth = chance.poisson(1.0, DOMAIN.sizes).astype(float) + 0.1
    truth[0, 1] = 0
    known = {"sex": truth.sum(axis=(0, 1, 3))}
    made = rp.nonnegative(noisy, known=known, impossible=[{"age": 0, "marital": "married"}], gap=1e-9)
    rows = {members: dense.marginal(DOMAIN.sizes, members) for members in PLAN.closure}
    zero, rows[0, 1] = rows[0, 1][[1]], np.delete(rows[0, 1], 1, axis=0)
    freedoms = {members: variance * 30 ** len(members) for members, variance in noise_of(PLAN).items()}
    fixed, answers = [(), (2,)], answers_of(noisy)
    for members in fixed:
        freedoms[members] = 0.0
        answers[members] = dense.residual(DOMAIN.sizes, members) @ truth.ravel()
    x, _ = nearest(PLAN, answers, freedoms, constraint_rows=rows.values(), zero_rows=[zero], **EXACT)
    for query in PLAN.workload:
        assert made[query].estimate.ravel() == pytest.approx(query_rows(PLAN, query) @ x, abs=1e-4)


@pytest.mark.parametrize("seed", [0, 6, 7])
def test_facts_hold_where_bases_vary_by_set(seed):
    plan = plan_by_set(sample_workload(), seed)
    made = rp.nonnegative(any_release(plan, seed), known={"c": [5, 0, 7]}, impossible=[{"a": 0, "c": 2}])
    assert made["c"].estimate == pytest.approx([5, 0, 7], abs=1e-9)
    assert made["a", "c"].estimate[0, 2] == 0
    assert made["a", "c"].estimate[:, 1].tolist() == [0] * 4


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (
            {"known": {"sex": [3, 4], (): 8}},
            r"known\[\('sex',\)\] and known\[\(\)\] contradict each other about the to",
        ),
        (
            {"known": {("age", "sex"): np.ones((4, 2)), ("marital", "sex"): np.full((3, 2), 2.0)}},
            r"known\[\('age', 'sex'\)\] and known\[\('marital', 'sex'\)\] contradict each other about \('sex',\)",
        ),
        (
            {"known": {("age", "sex"): np.ones((4, 2))}, "impossible": [{"age": [1, 2], "sex": "F"}]},
            r"known\[\('age', 'sex'\)\] and impossible\[\{'age': \[1, 2\], 'sex': 'F'\}\] contradict each other",
        ),
        (
            {"known": {"age": [1, 2, 3, 4]}, "impossible": [{"age": 0, "sex": "F"}, {"age": 0, "sex": "M"}]},
            r"no non-negative tables that agree with all of these .*known\[\('age',\)\], impossible\[.*'F'.*'M'\}\]",
        ),
        ({"known": {"sex": [-1, 4]}}, r"known\[\('sex',\)\] has a negative count"),
        (
            {"known": {"sex": [1, 2, 3]}},
            r"known\[\('sex',\)\] must be finite counts of shape \(2,\), got shape \(3,\)",
        ),
        (
            {"known": {"sex": [1, np.nan]}},
            r"must be finite counts of .*, of at most 9,007,199,254,740,992; leave out a table",
        ),
        ({"known": {(): math.inf}}, r"must be finite counts of shape \(\), got shape \(\), of at most"),
        ({"known": {(): "40"}}, r"must be an array of counts of shape \(\), got '40'"),
        ({"impossible": [{"age": []}]}, r"impossible: no label of 'age' is given; write one, or several"),
        (
            {"impossible": [{"sex": ["F", "M"]}]},
            r"\['F', 'M'\]\}\]: no cell is left in which a record could be; correct",
        ),
        ({"impossible": [{"one": 0}]}, r"no cell is left in which a record could be; correct this, or write known="),
        ({"known": {(): 40}, "impossible": [{"sex": "F"}, {"sex": "M"}]}, "no non-negative tables that agree with all"),
        (
            {"known": {("age", "marital", "sex"): np.ones((4, 3, 2))}},
            r"no table of the release has the attributes \('age', 'marital', 'sex'\) together; leave it out",
        ),
        ({"impossible": [{"age": 0, "marital": "single", "sex": "F"}]}, "no table of the release has the attributes"),
        ({"impossible": {"age": 0}}, "impossible must be a list of mappings"),
        ({"known": [1, 2]}, "known must be a mapping from queries to tables"),
    ],
)
def test_facts_that_contradict_one_another_or_fit_no_table_are_refused_by_name(facts, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        rp.nonnegative(release(), max_steps=400, **facts)


def released(query):
    return any_release(rp.select(rp.Workload(rp.Domain({"a": 4}), [query]), budget=rp.zcdp(1)))


@pytest.mark.parametrize(
    ("made", "facts", "error", "message"),
    [
        (release, {"impossible": [{"marital": "divorced"}]}, rp.errors.DomainError, "has no value 'divorced'"),
        (release, {"known": {"gender": [1, 2]}}, rp.errors.DomainError, "unknown attribute"),
        (
            lambda: released({"a": rp.Range()}),
            {"known": [({"a": rp.Range()}, np.arange(10.0))]},
            rp.errors.WorkloadError,
            "give the marginal of these attributes, from which other answers follow",
        ),
    ],
)
def test_facts_that_are_not_about_the_tables_are_refused(made, facts, error, message):
    with pytest.raises(error, match=message):
        rp.nonnegative(made(), **facts)


def test_facts_about_tables_that_are_not_made_non_negative_are_refused():
    for facts in ({"known": (StatedTable("age", [1, 2, 3, 4]),)}, {"impossible": (StatedZeros({"age": 0}),)}):
        with pytest.raises(rp.errors.WorkloadError, match="what is known anyway is for non-negative tables only"):
            Adjustments(base=1, **facts).require_fit(PLAN)


def test_what_no_solver_copes_with_is_refused_from_the_plan():
    domain = rp.Domain({"a": 12, "b": 10, "c": 8, "d": 3, "e": 2})
    threshold = rp.Threshold(tuple(domain.names), 3)
    plan = rp.select(rp.Workload(domain, [threshold]), budget=rp.pcost(1))
    with pytest.raises(
        rp.errors.WorkloadError, match=r"without a limit.* up to 4,000 cells, and these have 5,760; publish"
    ):
        Adjustments(is_nonnegative=True).require_fit(plan)
    few = rp.Domain({**dict.fromkeys("abcd", 3), "e": 2})
    beside = rp.Workload(domain, [threshold, tuple(domain.names)])
    for workload in (beside, rp.Workload(few, [rp.Threshold(tuple("abcde"), 3)])):
        Adjustments(is_nonnegative=True).require_fit(rp.select(workload, budget=rp.pcost(1)))


def test_files_say_what_was_taken_from_elsewhere_and_is_not_protected(tmp_path):
    made = rp.nonnegative(release(), known={(): 40}, impossible=[{"age": 0, "marital": ["married", "widowed"]}])
    made.save(tmp_path / "tables", "csv")
    sentence = (
        "Public facts from other sources, not protected by this release: the number of records; that there is no "
        "record in which age is 0 and marital is married or widowed."
    )
    manifest, metadata = (
        json.loads((tmp_path / "tables" / f"{name}.json").read_text()) for name in ("manifest", "metadata")
    )
    assert manifest["tables"]["product"]["statement"] == sentence
    assert metadata["tables"]["product"]["statement"] == sentence
    assert sentence in (tmp_path / "tables/tables/csv-metadata.json").read_text()
    assert rp.load_tables(tmp_path / "tables").product.elsewhere == sentence


@pytest.mark.parametrize("file_format", ["csv", "parts"])
@pytest.mark.parametrize("labels", [["two\nlines", "tab\there"], [f"municipality {number}" for number in range(1_000)]])
def test_a_folder_states_facts_about_any_labels_and_can_be_read_back(tmp_path, labels, file_format):
    domain = rp.Domain({"place": [*labels, "elsewhere"], "sex": ["F", "M"]})
    plan = rp.select(rp.Workload(domain, ["place"]), budget=rp.zcdp(1))
    made = rp.nonnegative(exact_release(plan, np.ones(domain.sizes)), impossible=[{"place": labels}])
    made.save(tmp_path / "tables", file_format)
    sentence = f"that there is no record in which place is {' or '.join(labels)}."
    assert rp.load_tables(tmp_path / "tables").product.elsewhere.endswith(sentence)


def test_where_there_are_no_records_no_cell_need_be_possible():
    made = rp.nonnegative(release(), known={(): 0}, impossible=[{"sex": ["F", "M"]}])
    assert all((table.estimate == 0).all() for table in made.tables())
