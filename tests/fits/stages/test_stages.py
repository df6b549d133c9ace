"""Stages cost what they are charged in every course of events, are unbiased, and go on where they were stopped."""

import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks.courses_of_stages import largest_change, stages_of
from inner_parts import InsecureTestBits
from residualplanner.fits.stages import folder, measuring
from residualplanner.fits.stages.staged_plan import choose
from residualplanner.fits.synthesis import coarsening, records
from residualplanner.ground.errors import (
    ArgumentError,
    BudgetError,
    DomainError,
    FileFormatError,
    UnexpectedError,
    WorkloadError,
)

DOMAIN = rp.Domain({"a": 12, "b": 3, "c": ["x", "y"], "d": 1})
SMALL = rp.fits.Ensemble(2, 20, rp.fits.Descent(60), rp.fits.Descent(20, 0.1))


def people(count=3000, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 12, count)
    b = (a // 4 + (rng.random(count) < 0.2)) % 3
    return np.stack([a, b, (rng.random(count) < 0.3) | (a > 9), 0 * a], axis=1).astype(int)


def measured(rho="1", neighbors="add-remove", codes=None, seed=0, domain=DOMAIN):
    plan = rp.fits.StagedPlan(domain, budget=rp.zcdp(rho), neighbors=neighbors)
    return plan, measuring.measure_with_bits(plan, people() if codes is None else codes, InsecureTestBits(seed))


# Privacy.


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rho=st.sampled_from(["1e-5", "1e-3", "0.05", "1", "20"]),
    neighbors=st.sampled_from(["add-remove", "replace"]),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
)
def test_all_stages_together_cost_what_is_charged_by_their_operators(seed, rho, neighbors, sizes):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, size, 200) * (rng.random(200) < 0.7) for size in sizes], axis=1)
    domain = rp.Domain({f"a{number}": size for number, size in enumerate(sizes)})
    if max(sizes) == 1:
        with pytest.raises(WorkloadError, match="more than one value"):
            rp.fits.StagedPlan(domain, budget=rp.zcdp(rho))
        return
    plan, release = measured(rho, neighbors, codes, seed, domain)
    costs = [largest_change(stage, sizes, neighbors) for stage in stages_of(plan, release)]
    for cost, measurement in zip(costs, release.measurements, strict=True):
        assert cost <= float(measurement.noise.pcost) * (1 + 1e-9)
    assert sum(costs) <= float(plan.cost) * (1 + 1e-9)
    assert release.noise.pcost <= plan.cost
    if neighbors == "add-remove":
        assert sum(costs) >= float(plan.cost) * (1 - 1e-5)  # all of it is used, whatever is measured


def test_what_a_stage_measures_follows_from_noisy_answers_alone():
    plan, release = measured()
    stages = stages_of(plan, release)
    assert [stage.measurement.plan.noise_variances.tolist() for stage in stages] == [
        each.plan.noise_variances.tolist() for each in release.measurements
    ]
    assert choose(plan, stages) is None


@pytest.mark.parametrize("records_per_person", [1, 3])
def test_the_noise_grows_with_the_records_of_a_person(records_per_person):
    plan = rp.fits.StagedPlan(DOMAIN, budget=rp.zcdp(1), records_per_person=records_per_person)
    first = choose(plan, [])
    variance = float(first.plan.noise_variances[0])
    assert variance == pytest.approx(records_per_person**2 / (2 * 0.01), rel=1e-6)  # a hundredth


# What is measured is right.


@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_without_noise_tables_are_those_of_the_records(neighbors):
    _, release = measured("1e9", neighbors)
    codes = people()
    for names, table in release.tables.items():
        groups = [each.groups[codes[:, each.attribute]] for each in table.coarsenings]
        truth = np.zeros(table.estimate.shape)
        np.add.at(truth, tuple(groups), 1)
        assert np.abs(table.estimate - truth).max() < 0.01, names
    assert len(release.tables) == 3


def test_tables_are_unbiased_with_the_standard_errors_that_they_state():
    codes, scores = people(400), []
    for seed in range(60):
        _, release = measured("0.05", codes=codes, seed=seed)
        for table in release.tables.values():
            truth = np.zeros(table.estimate.shape)
            np.add.at(truth, tuple(each.groups[codes[:, each.attribute]] for each in table.coarsenings), 1)
            scores.append(((table.estimate - truth) / table.std_err).ravel())
    found = np.concatenate(scores)
    assert len(found) > 1000
    assert abs(found.mean()) < 0.1
    assert found.std() == pytest.approx(1, abs=0.05)


def test_tables_have_the_labels_of_their_groups():
    _, release = measured("0.0001")
    frame = release["a", "c"].to_frame()
    assert frame.columns.tolist()[1:] == ["c", "estimate", "std_err"]
    assert frame.columns[0].startswith("a in ")
    assert set(frame["c"]) == {"x", "y"}
    assert release.to_frame()["attribute"].tolist() == ["a", "a", "b"]
    with pytest.raises(WorkloadError, match=r"was not measured as a pair"):
        release["a"]


def test_where_noise_would_hide_pairs_all_of_the_budget_is_for_single_attributes():
    plan, release = measured("1e-7")
    assert (len(release.pairs), len(release.measurements)) == (0, 2)
    assert float(release.noise.pcost / plan.cost) > 1 - 1e-6
    people_made = rp.synthesize(release, 300)
    one, other = (people_made.mixture.table((attribute,)) for attribute in (0, 1))
    assert np.abs(people_made.mixture.table((0, 1)) - np.outer(one, other)).max() < 1e-12


def test_pairs_that_depend_on_each_other_are_measured_again_more_exactly():
    """In a, b the dependence is strong; of c with b there is hardly any."""
    _, release = measured("0.1")
    last = release.pairs[1].measurement.plan
    noise = {
        tuple(each.attribute for each in table.coarsenings): table.noise_variance
        / np.prod([1 - 1 / each.count for each in table.coarsenings])
        for table in release.tables.values()
    }
    assert noise[0, 1] < noise[1, 2]
    assert last.status.startswith("a stage of synthetic records")


# Groups of values.


@given(
    counts=st.lists(st.floats(1e-6, 1), min_size=1, max_size=40),
    wanted=st.integers(1, 45),
)
def test_groups_are_runs_of_values_none_empty(counts, wanted):
    found = coarsening.equal_mass(0, np.array(counts), wanted)
    assert np.unique(found.groups).tolist() == list(range(found.count))
    assert (np.diff(found.groups) >= 0).all()
    assert found.count <= max(wanted, len(counts) if wanted >= 0.75 * len(counts) else 1)


@given(sizes=st.lists(st.integers(2, 300), min_size=2, max_size=4), cells=st.floats(1, 1e6))
def test_tables_have_no_more_cells_than_they_may(sizes, cells):
    counts = coarsening.counts_within(sizes, cells)
    smallest = np.prod([min(2, size) for size in sizes])
    assert np.prod(counts) <= max(cells, 4, smallest)
    assert all(1 <= count <= size for count, size in zip(counts, sizes, strict=True))


def test_coarsened_domains_tell_groups_from_attributes_of_the_same_name():
    domain = rp.Domain({"age": 4, "age in 2 groups": 3})
    halves = coarsening.equal_mass(0, np.ones(4), 2)
    uneven = coarsening.Coarsening(0, np.array([0, 1, 0, 1]))
    found = coarsening.coarsened_domain(domain, [halves, uneven, coarsening.fine(1, 3)])
    assert len(set(found.names)) == 3
    assert [list(each.value_labels) for each in found.attributes][:2] == [["0 to 1", "2 to 3"], ["0 or 2", "1 or 3"]]


# Runs that are stopped.


class StoppedError(Exception):
    pass


class StoppingStore:
    """A folder whose run is killed when it has written so many objects."""

    def __init__(self, path, left):
        self.folder, self.left = folder.open_store(path), left

    def __getattr__(self, name):
        return getattr(self.folder, name)

    def __str__(self):
        return str(self.folder)

    def create_if_absent(self, name, content):
        if self.left == 0:
            raise StoppedError
        self.left -= 1
        return self.folder.create_if_absent(name, content)


@pytest.fixture
def ledger(tmp_path):
    return rp.Ledger.create(tmp_path / "l.ledger", budget=rp.zcdp(1), data_set="people")


PLAN = rp.fits.StagedPlan(DOMAIN, budget=rp.zcdp("0.1"))


@pytest.mark.parametrize("after", range(9))
def test_a_run_that_is_killed_goes_on_at_no_further_cost(tmp_path, ledger, after):
    where = tmp_path / "stages"
    with pytest.raises(UnexpectedError if after else StoppedError):
        rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=StoppingStore(where, after))
    kept = {path.name: path.read_bytes() for path in where.glob("stage-*")}
    release = rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=where)
    assert ledger.spent == PLAN.cost
    assert release.noise.pcost <= PLAN.cost
    assert all((where / name).read_bytes() == content for name, content in kept.items())  # nothing is drawn again
    read = rp.fits.load_stages(where)
    assert [each.answers_sha256 for each in read.measurements] == [each.answers_sha256 for each in release.measurements]


def test_a_complete_run_is_read_without_records_and_costs_nothing(tmp_path, ledger):
    first = rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=tmp_path / "s")
    again = rp.fits.measure_in_stages(PLAN, None, ledger=ledger, folder=tmp_path / "s")
    assert again.singles["a",].estimate.tolist() == first.singles["a",].estimate.tolist()
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("after", [3, 5, 7])
def test_of_two_copies_of_a_run_one_goes_on(tmp_path, ledger, after):
    """Both would draw the same stage, and what is charged is for one."""
    where, copy = tmp_path / "stages", tmp_path / "copy"
    with pytest.raises(UnexpectedError):
        rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=StoppingStore(where, after))
    shutil.copytree(where, copy)
    rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=where)
    with pytest.raises(BudgetError, match="copy"):
        rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=copy)


def test_folders_of_other_runs_and_altered_files_are_refused(tmp_path, ledger):
    where = tmp_path / "stages"
    rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=where)
    other = rp.fits.StagedPlan(DOMAIN, budget=rp.zcdp("0.2"))
    with pytest.raises(FileFormatError, match="another schema, budget or neighbors"):
        rp.fits.measure_in_stages(other, people(), ledger=ledger, folder=where)
    shutil.copy(where / "stage-2.measurement", where / "stage-1.measurement")
    with pytest.raises(FileFormatError, match="is not of the groups"):
        rp.fits.load_stages(where)
    (where / "run.json").write_text("{}")
    with pytest.raises(FileFormatError, match="damaged"):
        rp.fits.load_stages(where)
    with pytest.raises(FileFormatError, match="holds no stages"):
        rp.fits.load_stages(tmp_path / "none")


def test_a_stage_that_is_removed_from_a_complete_run_is_not_drawn_again(tmp_path, ledger):
    where = tmp_path / "stages"
    rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=where)
    last = max(where.glob("stage-*.measurement"))
    last.unlink()
    with pytest.raises(FileFormatError, match="missing"):
        rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=where)
    (where / "complete").unlink()
    with pytest.raises(BudgetError, match="missing"):
        rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=where)


def test_a_stage_of_other_neighbors_is_refused(tmp_path, ledger):
    one, other = tmp_path / "one", tmp_path / "other"
    rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=one)
    replaced = replace(PLAN, neighbors="replace")
    rp.fits.measure_in_stages(
        replaced, people(), ledger=rp.Ledger(budget=rp.zcdp(1), neighbors="replace"), folder=other
    )
    shutil.copy(one / "stage-0.measurement", other / "stage-0.measurement")
    with pytest.raises(FileFormatError, match="other neighbors"):
        rp.fits.load_stages(other)


def test_stages_that_are_not_complete_are_said_to_be(tmp_path, ledger):
    where = tmp_path / "stages"
    with pytest.raises(UnexpectedError):
        rp.fits.measure_in_stages(PLAN, people(), ledger=ledger, folder=StoppingStore(where, 4))
    with pytest.raises(FileFormatError, match="not complete"):
        rp.fits.load_stages(where)


def test_a_budget_that_is_spent_is_refused_before_a_record_is_read(ledger):
    plan = replace(PLAN, budget=rp.zcdp(2))
    with pytest.raises(BudgetError, match="left"):
        rp.fits.measure_in_stages(plan, None, ledger=ledger)


@pytest.mark.parametrize(
    ("domain", "error"),
    [
        (rp.Domain({"pay": rp.Numeric(0, 100, bins=[0, 50, 100])}), DomainError),
        ("age", ArgumentError),
    ],
)
def test_what_gives_no_records_is_refused(domain, error):
    with pytest.raises(error):
        rp.fits.StagedPlan(domain, budget=rp.zcdp(1))


# Records.


def test_records_of_stages_keep_to_facts_and_say_what_they_are(tmp_path):
    _, release = measured()
    known = {("b",): [1000, 1200, 800]}
    made = rp.synthesize(release, known=known, impossible=[{"a": [0, 1], "c": "x"}], ensemble=SMALL)
    assert len(made) == 3000
    assert np.bincount(made.codes[:, 1]).tolist() == [1000, 1200, 800]
    assert not ((made.codes[:, 0] < 2) & (made.codes[:, 2] == 0)).any()
    assert made.unmeasured == ()
    quality = made.quality
    assert len({*quality.names}) == len(quality.names)  # stages measure pairs again, and a set has one row
    assert quality.freedoms.sum() == sum(table.freedom for table in made._measured.tables) > 0
    made.save(tmp_path / "p.csv")
    assert '"measurements"' in (tmp_path / "p.csv.json").read_text()


def test_sessions_spend_once_for_all_stages(tmp_path):
    session = rp.Session(people(), budget=rp.zcdp(1), data_set="people")
    made = session.synthesize(DOMAIN, budget=rp.zcdp("0.4"), folder=tmp_path / "s", ensemble=SMALL, records=50)
    assert len(made) == 50
    assert session.ledger.spent == rp.zcdp("0.4").pcost_exact
    assert isinstance(made.release, rp.fits.StagedRelease)
    assert made.release.noise.has_guarantee
    session.synthesize(DOMAIN, ensemble=SMALL, records=0)
    assert session.ledger.remaining == pytest.approx(0, abs=1e-9)


def test_what_noise_hides_of_pairs_is_said_and_drawn(tmp_path):
    """In a, b there is a strong dependence; of c with b there is little."""
    _, release = measured("0.05")
    made = rp.synthesize(release, 100, ensemble=SMALL)
    frame = made.dependence.set_index(["attribute", "other"])
    assert bool(frame.loc[("a", "b"), "is_shown"])
    assert frame.loc[("a", "b"), "measured"] > 3 * frame.loc[("b", "c"), "of_model"]
    assert frame.loc[("a", "b"), "of_model"] == pytest.approx(frame.loc[("a", "b"), "measured"], rel=0.3)
    made.plot().save(tmp_path / "pairs.svg")
    text = (tmp_path / "pairs.svg").read_text()
    assert "Dependence of pairs" in text
    assert made.caution == "" != rp.synthesize(measured("0.0001")[1], 10, ensemble=SMALL).caution


@pytest.mark.parametrize("name", ["p.csv", "p.parquet"])
def test_many_records_are_written_in_blocks(tmp_path, monkeypatch, name):
    made, done = rp.synthesize(measured()[1], 100, ensemble=SMALL), []
    made.save(tmp_path / f"whole-{name}")
    monkeypatch.setattr(records, "_BLOCK", 30)
    made.save(tmp_path / name, progress=lambda *each: done.append(each))
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    assert read(tmp_path / name).equals(read(tmp_path / f"whole-{name}"))
    assert done == [(0, 100), (30, 100), (60, 100), (90, 100)]
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert about["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()


def test_fits_at_a_strong_signal_come_as_near_to_the_answers_as_their_noise():
    chance, count = np.random.default_rng(0), 200_000
    first = chance.integers(0, 20, count)
    second = (first + chance.geometric(0.5, count)) % 16
    third = (3 * second + chance.integers(0, 2, count)) % 12
    records = np.stack([first, second, third, chance.integers(0, 3, count) + (first > 10)], axis=1)
    domain = rp.Domain({"a": 20, "b": 16, "c": 12, "d": 4})
    quality = rp.synthesize(measured("0.5", codes=records, domain=domain)[1], 1000).quality
    assert quality.distances.sum() < 1.3 * quality.freedoms.sum()  # 3.7 times with 250 and 150 steps, as there were
