"""What is measured into a store is what `measure` gives, is charged once, and can be completed after any end."""

import os
import pickle
import subprocess
import sys
import time
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from benchmarks.protocol_world import MemoryStore
from benchmarks.s3_server import s3_server
from leaks import leaks_of_error
from random_plans import plan_by_set, plans, sample_workload
from replayed_measuring import after_noise, before_noise, drawn_scales, integers_of, noise_left_out, refinements
from residualplanner.gate.discrete_gaussian import InsecureTestBits
from residualplanner.gate.measurement import discrete as mechanism
from residualplanner.gate.measurement.discrete import exact_noise
from residualplanner.gate.measurement.measure import measure_with_bits
from residualplanner.gate.sources.opening import open_source
from residualplanner.ground.stores import Folder
from residualplanner.scale.engines import cluster
from residualplanner.scale.engines.cluster import LocalCluster
from residualplanner.scale.stored import measuring
from residualplanner.scale.stored.generations import Driver
from residualplanner.scale.stored.release import ANSWERS, CLOSED, MANIFEST
from residualplanner.scale.stored.tasks import tasks_of_noise

DOMAIN = rp.Domain({"a": 3, "b": 2, "c": 4, "d": 2})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp(1))
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.sizes, (300, len(DOMAIN)))
LITTLE = 16  # cells a task: several tasks


def stored(plan, records, store, **options):
    """What is measured with options that users do not have."""
    return measuring.begun(plan, records, store, measuring.Options(**options))


def begin(store, monkeypatch, *, ledger=None, draws=1, error=rp.errors.DataError("the engine failed"), **options):  # noqa: B008
    """A run that ends after some tasks were drawn."""
    draw = LocalCluster.draw

    def draw_some(self, tasks, function):
        draw(self, tasks[:draws], function)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(LocalCluster, "draw", draw_some)
        with pytest.raises(type(error)) as caught:
            stored(PLAN, RECORDS, store, ledger=ledger, task_cells=LITTLE, **options)
    return caught.value


@given(plans(), st.integers(1, 200), st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_answers_in_a_store_are_f_xi_v_and_noise_of_each_sets_own_scale(plan, task_cells, records, seed):
    """Source: eqs. (35), (36) and (44), without noise; and the scales of the noise by themselves."""
    codes = np.random.default_rng(seed).integers(0, plan.domain.sizes, (records, len(plan.domain)))
    with pytest.MonkeyPatch.context() as patch:
        noise_left_out(patch)
        found = stored(plan, codes, MemoryStore(), task_cells=task_cells)
    groups, f = found.residuals.groups, refinements(plan)
    for number, (members, integers) in enumerate(integers_of(found).items()):
        bases = groups.bases[groups.group[number]]
        counts = np.zeros([plan.domain.sizes[i] for i in members], dtype=np.int64)
        np.add.at(counts, tuple(codes[:, members].T), 1 if members else records)
        expected = after_noise(f[number] * before_noise(counts[None], bases), bases)
        assert (integers == expected.ravel()).all()


@pytest.mark.parametrize(
    "plan", [PLAN, plan_by_set(sample_workload()), rp.select(sample_workload(), budget=rp.pcost(1))]
)
def test_every_set_is_drawn_once_with_its_own_scale(plan, monkeypatch):
    drawn, draw = [], mechanism.draw_flat

    def flat(scales, sizes, source):
        for numerator, denominator, size in zip(scales.numerators, scales.denominators, sizes, strict=True):
            drawn.extend([Fraction(numerator, denominator)] * int(size))
        return draw(scales, sizes, source)

    expected = drawn_scales(plan)
    monkeypatch.setattr(mechanism, "draw_flat", flat)
    codes = np.zeros((1, len(plan.domain)), dtype=np.int64)
    stored(plan, codes, MemoryStore(), source=InsecureTestBits(1), task_cells=8)
    assert sorted(drawn) == sorted(expected)


@pytest.mark.parametrize("budget", [rp.zcdp(1), rp.pcost(Fraction(1, 10**37))], ids=["int64", "wide"])
def test_one_task_gives_the_very_integers_of_measure_from_the_same_bits(budget, tmp_path):
    plan = rp.select(rp.marginals(DOMAIN, up_to=2), budget=budget)
    found = stored(plan, RECORDS, tmp_path / "store", source=InsecureTestBits(7))
    expected = measure_with_bits(plan, RECORDS, InsecureTestBits(7))
    assert integers_of(found).keys() == integers_of(expected).keys()
    for members, integers in integers_of(expected).items():
        assert (integers_of(found)[members] == integers).all()
    assert bool(found.residuals.wide) == (budget.pcost < 1e-9)
    assert found.noise == expected.noise


def test_what_may_be_claimed_is_what_may_be_claimed_of_measure(tmp_path):
    ledger = rp.Ledger.unlimited("a test")
    found = rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "store", ledger=ledger)
    assert found.noise == rp.measure(PLAN, RECORDS, ledger=rp.Ledger.unlimited("a test")).noise
    assert "a test" in found.noise.sentence
    assert rp.scale.load_stored_measurement(tmp_path / "store").noise == found.noise
    assert ledger.spent == found.noise.pcost


def test_a_measurement_from_a_store_is_saved_and_read_as_any_other(tmp_path):
    found = stored(PLAN, RECORDS, tmp_path / "store", task_cells=LITTLE)
    found.save(tmp_path / "some.measurement")
    for again in (
        rp.load_measurement(tmp_path / "some.measurement"),
        rp.scale.load_stored_measurement(tmp_path / "store"),
    ):
        assert (again.residuals.integers == found.residuals.integers).all()
        assert again.noise == found.noise
    rp.reconstruct(rp.scale.load_stored_measurement(tmp_path / "store")).save(tmp_path / "tables")


@pytest.mark.slow
def test_an_object_store_holds_a_release(tmp_path, monkeypatch):
    with s3_server() as bucket:  # all servers of a process have the same objects
        store = bucket(tmp_path.name)
        begin(store, monkeypatch)
        found = rp.scale.resume_measuring(store, RECORDS)
        again = rp.scale.load_stored_measurement(store)
    assert (again.residuals.integers == found.residuals.integers).all()


@given(plans(), st.integers(1, 300))
def test_each_set_is_in_one_task_and_tasks_of_several_maximal_sets_are_within_the_limit(plan, most):
    tasks = tasks_of_noise(exact_noise(plan), most)
    sets = [tasks.division.members(number) for number in range(len(tasks))]
    assert sorted(np.concatenate(sets).tolist()) == list(range(len(plan.closure)))
    cells = [sum(np.prod([plan.domain.sizes[i] for i in list(plan.closure)[number]]) for number in own) for own in sets]
    assert tasks.division.cells.tolist() == cells
    for number, (own, size) in enumerate(zip(sets, cells, strict=True)):
        counted = [row for rows in tasks.counting(number).groups for row in rows.tolist()]
        names = {frozenset(list(plan.closure)[one]) for one in own}
        assert {frozenset(row) for row in counted} == {s for s in names if not any(s < t for t in names)}
        assert size <= most or len(counted) == 1


def test_what_is_sent_to_workers_can_be_pickled_and_is_small(tmp_path, monkeypatch):
    sent = []

    class Remote(LocalCluster):
        def draw(self, tasks, draw):
            sent.extend([pickle.dumps(tasks), pickle.dumps(draw)])
            return super().draw(*map(pickle.loads, sent[:2]))

        def map(self, function, numbers):
            return super().map(pickle.loads(pickle.dumps(function)), numbers)  # noqa: S301 - our own

    monkeypatch.setattr(measuring, "open_cluster", lambda data, domain, **_: Remote(open_source(data, domain), domain))
    found = stored(PLAN, RECORDS, tmp_path / "store", task_cells=LITTLE)
    assert (found.residuals.integers == rp.scale.load_stored_measurement(tmp_path / "store").residuals.integers).all()
    assert len(sent[1]) < 1000


def test_records_are_read_once_for_as_many_tasks_as_fit(monkeypatch, tmp_path):
    passes = []
    for cells in (LITTLE, 10**6):
        passes.append(0)

        class Counted:
            def count(self, groups, *, later=()):
                passes[-1] += 1
                return open_source(RECORDS, DOMAIN).count(groups)

        monkeypatch.setattr(cluster, "PASS_CELLS", cells)
        monkeypatch.setattr(measuring, "open_cluster", lambda *_, **__: LocalCluster(Counted(), DOMAIN))
        stored(PLAN, RECORDS, tmp_path / str(cells), task_cells=LITTLE)
    assert passes[0] > passes[1] == 1


def test_progress_counts_tasks(tmp_path):
    steps = []
    rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 1)]
    with pytest.raises(ZeroDivisionError):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "t", progress=lambda done, _: 1 // (done - 1))


class Unready(LocalCluster):
    def require_ready(self):
        raise rp.errors.ResourceError("spark.speculation is true")


REFUSED = {
    "a plan of another kind": (lambda: {"plan": RECORDS}, rp.errors.ArgumentError, "plan must be a Plan"),
    "no store": (lambda: {"store": 3}, rp.errors.ArgumentError, "a store must be the path"),
    "too little left": (lambda: {"ledger": rp.Ledger(rp.pcost("1/2"))}, rp.errors.BudgetError, "the ledger has"),
    "strict without a ledger": (
        lambda: {"ledger": None, "is_strict": True},
        rp.errors.BudgetError,
        "a ledger is needed",
    ),
    "continuous noise": (
        lambda: {"plan": rp.select(PLAN.workload, budget=rp.privacy.gdp(1))},
        rp.errors.BudgetError,
        "continuous",
    ),
    "a column is missing": (lambda: {"records": pd.DataFrame({"a": [1]})}, rp.errors.DataError, "column"),
    "records that are gone when read": (
        lambda: {"records": pa.table(dict(zip("abcd", RECORDS.T, strict=True))).to_reader()},
        rp.errors.ResourceError,
        "can be read only once",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_be_foreseen_costs_nothing_and_opens_nothing(case, tmp_path):
    changed, error, words = REFUSED[case]
    given = {"plan": PLAN, "records": RECORDS, "store": tmp_path / "s", "ledger": rp.Ledger(rp.pcost(9))} | changed()
    plan, records, store = given.pop("plan"), given.pop("records"), given.pop("store")
    with pytest.raises(error, match=words) as caught:
        rp.scale.measure_in_store(plan, records, store, **given)
    assert leaks_of_error(caught.value, records) == []
    assert given["ledger"] is None or given["ledger"].entries == ()
    if store != 3:
        assert Folder(store).names("release.json") == []


def test_a_cluster_that_is_not_ready_is_refused_before_the_charge(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring, "open_cluster", lambda data, domain, **_: Unready(open_source(data, domain), domain))
    ledger = rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.errors.ResourceError, match="speculation"):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger)
    assert ledger.entries == ()


@pytest.mark.slow
def test_too_little_memory_or_disk_and_stores_that_overwrite_are_refused_before_the_charge(tmp_path, monkeypatch):
    ledger = rp.Ledger(rp.pcost(9))
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "free_bytes", lambda self: 100)
        with pytest.raises(
            rp.errors.ResourceError, match=r"too little room: the answers and .* take .*nothing was charged"
        ):
            rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger)
    with monkeypatch.context() as patch:
        patch.setattr(
            import_module("residualplanner.scale.workers.workers"), "memory_left", lambda: iter([(10, "the machine")])
        )
        with pytest.raises(rp.errors.ResourceError, match="too little memory"):
            rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger)
    with s3_server(ignores_conditions=True) as bucket, pytest.raises(rp.errors.ResourceError, match="If-None-Match"):
        rp.scale.measure_in_store(PLAN, RECORDS, bucket("s"), ledger=ledger)
    (tmp_path / "file").write_text("")
    with pytest.raises(rp.errors.StoreError, match="could not be read or written"):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "file", ledger=ledger)
    assert ledger.entries == ()


#: What file systems, programs and people leave in folders.
LEFT_BEHIND = [
    *("notes.txt", ".DS_Store", "release.json.bak", "manifest.json.tmp", "answers/.nfs0001", "answers/readme.txt"),
    *(
        "answers/000000.000000.tmp",
        "claims/.DS_Store",
        "claims/000000.000000~",
        "generations/.nfs01",
        "generations/old",
    ),
]


def test_files_that_others_leave_in_a_store_are_no_part_of_a_release(tmp_path, monkeypatch):
    for name in LEFT_BEHIND:
        path = tmp_path / "s" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left behind")
    ledger = rp.Ledger(rp.pcost(9))
    begin(tmp_path / "s", monkeypatch, ledger=ledger)
    measurement = rp.scale.resume_measuring(tmp_path / "s", RECORDS, ledger=ledger)
    assert ledger.spent == measurement.noise.pcost
    found = rp.scale.load_stored_measurement(tmp_path / "s")
    assert (found.residuals.integers == measurement.residuals.integers).all()
    begin(tmp_path / "t", monkeypatch)
    (tmp_path / "t" / "answers" / ".nfs0001").write_text("left behind")
    rp.scale.abort_measuring(tmp_path / "t")
    assert (tmp_path / "t" / "answers" / ".nfs0001").exists()


def test_the_room_that_is_asked_for_is_what_a_release_takes_and_little_more(tmp_path):
    for cells in (LITTLE, 2**22):
        store = Folder(tmp_path / f"{cells}")
        stored(PLAN, RECORDS, store, task_cells=cells)
        files = [path for path in store.path.rglob("*") if path.is_file()]
        blocks = sum(-(-path.stat().st_size // 4096) * 4096 for path in files)
        tasks = tasks_of_noise(exact_noise(PLAN), cells)
        assert blocks <= tasks.stored_bytes <= blocks + 12_000 * (len(tasks) + 4)


def test_a_run_is_completed_on_a_disk_that_has_room_for_no_more_than_the_rest(tmp_path, monkeypatch):
    begin(tmp_path / "s", monkeypatch)
    monkeypatch.setattr(Folder, "free_bytes", lambda self: 100)
    assert len(rp.scale.resume_measuring(tmp_path / "s", RECORDS).plan.closure) == len(PLAN.closure)


def test_a_report_of_progress_that_cannot_be_called_is_refused_before_the_charge(tmp_path):
    ledger = rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.errors.ArgumentError, match="progress must be a function of two numbers, got 3"):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger, progress=3)
    with pytest.raises(rp.errors.ArgumentError, match="progress must be a function of two numbers, got 3"):
        rp.measure(PLAN, RECORDS, ledger=ledger, progress=3)
    assert ledger.entries == ()


@pytest.mark.parametrize("scratch", ["absent", "file"])
def test_a_folder_for_answers_that_cannot_be_used_is_refused_before_the_charge(tmp_path, scratch):
    (tmp_path / "file").write_text("")
    ledger = rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.errors.ResourceError, match=r"cannot be put into a file in .*nothing was charged.* scratch="):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger, scratch=tmp_path / scratch)
    assert ledger.entries == ()


def test_a_store_holds_one_release(tmp_path):
    rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s")
    ledger = rp.Ledger(rp.pcost(9))
    with pytest.raises(rp.errors.StoreError, match="holds a release already"):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger)
    assert ledger.entries == ()


def test_a_run_that_ended_early_is_gone_on_with_for_the_same_charge(tmp_path, monkeypatch):
    ledger, store = rp.Ledger(rp.pcost(9)), Folder(tmp_path / "s")
    error = begin(store, monkeypatch, ledger=ledger, draws=2)
    assert any("The charge stays" in note for note in error.__notes__)
    assert any("resume_measuring" in note for note in error.__notes__)
    with pytest.raises(rp.errors.FileFormatError, match="is not complete"):
        rp.scale.load_stored_measurement(store)
    first = {name: store.read(name) for name in store.names(ANSWERS)}
    assert len(first) == 2
    found = rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    assert [entry.cost for entry in ledger.entries] == [found.noise.pcost]
    assert {name: store.read(name) for name in first} == first
    assert store.read("claims/000000.000000") != CLOSED
    assert store.read("claims/000002.000000") == store.read("answers/000002.000000") == CLOSED


def test_a_release_that_is_complete_is_resumed_without_its_records(tmp_path):
    found = rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=rp.Ledger(rp.pcost(9)))
    again = rp.scale.resume_measuring(tmp_path / "s", None)
    assert (again.residuals.integers == found.residuals.integers).all()


def test_a_run_that_ended_before_its_charge_is_charged_when_it_is_resumed(tmp_path, monkeypatch):
    ledger = rp.Ledger(rp.pcost(9))
    with monkeypatch.context() as patch:
        patch.setattr(rp.Ledger, "charge", lambda *_, **__: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s", ledger=ledger)
    with pytest.raises(rp.errors.BudgetError, match="this release is charged to a ledger; give the same one again"):
        rp.scale.resume_measuring(tmp_path / "s", RECORDS)
    assert Folder(tmp_path / "s").names(ANSWERS) == []
    found = rp.scale.resume_measuring(tmp_path / "s", RECORDS, ledger=ledger)
    assert ledger.spent == found.noise.pcost


def test_a_release_that_is_charged_to_one_ledger_is_not_charged_to_another(tmp_path, monkeypatch):
    first, second = rp.Ledger(rp.pcost(9)), rp.Ledger(rp.pcost(9))
    begin(tmp_path / "s", monkeypatch, ledger=first)
    with pytest.raises(rp.errors.BudgetError, match=r"was charged to another ledger.* give that one.* abort_measuring"):
        rp.scale.resume_measuring(tmp_path / "s", RECORDS, ledger=second)
    assert second.entries == ()
    assert rp.scale.resume_measuring(tmp_path / "s", RECORDS, ledger=first).noise.pcost == first.spent


def test_a_ledger_in_a_file_is_charged_once_by_two_runs(tmp_path, monkeypatch):
    rp.Ledger.create(tmp_path / "l", budget=rp.pcost(9), data_set="people")
    begin(tmp_path / "s", monkeypatch, ledger=rp.Ledger.open(tmp_path / "l"))
    rp.scale.resume_measuring(tmp_path / "s", RECORDS, ledger=rp.Ledger.open(tmp_path / "l"))
    (entry,) = rp.Ledger.open(tmp_path / "l").entries
    assert entry.label.startswith("release ")


def test_a_strict_release_is_charged_again_for_what_may_have_been_drawn(tmp_path, monkeypatch):
    """Of two tasks without answers one was claimed; its cost is that of its sets, 1 / sigma**2 times (n - 1) / n."""
    ledger, store = rp.Ledger(rp.pcost(9)), Folder(tmp_path / "s")
    begin(store, monkeypatch, ledger=ledger, draws=2, is_strict=True)
    store.remove("answers/000001.000000")  # as if the worker had died after the claim
    found = rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    first, again = ledger.entries
    tasks = tasks_of_noise(exact_noise(PLAN), LITTLE)
    sets = list(PLAN.closure)
    expected = sum(
        np.prod([1 - 1 / DOMAIN.sizes[i] for i in sets[number]]) / PLAN.noise_variances[number]
        for number in tasks.division.members(1)
    )
    assert first.cost == found.noise.pcost
    assert float(again.cost) == pytest.approx(expected)
    assert "drawn again in generation 1" in again.label


def test_a_strict_release_that_cannot_be_charged_again_is_not_drawn_again(tmp_path, monkeypatch):
    ledger, store = rp.Ledger(rp.pcost("2.0001")), Folder(tmp_path / "s")
    begin(store, monkeypatch, ledger=ledger, is_strict=True)
    store.remove("answers/000000.000000")
    with pytest.raises(rp.errors.BudgetError, match="the ledger has"):
        rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    assert all(store.read(name) == CLOSED for name in store.names(ANSWERS))
    assert store.names("generations/") == ["generations/000000"]


def test_a_release_that_is_given_up_loses_its_answers_and_is_never_complete(tmp_path, monkeypatch):
    store = Folder(tmp_path / "s")
    begin(store, monkeypatch, draws=2)
    for _ in range(2):
        rp.scale.abort_measuring(store)
    assert all(store.read(name) == CLOSED for name in store.names(ANSWERS))
    for use in (lambda: rp.scale.resume_measuring(store, RECORDS), lambda: rp.scale.load_stored_measurement(store)):
        with pytest.raises(rp.errors.StoreError, match="was given up"):
            use()
    rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "t")
    with pytest.raises(rp.errors.StoreError, match="holds a complete release"):
        rp.scale.abort_measuring(tmp_path / "t")
    rp.scale.load_stored_measurement(tmp_path / "t")


def test_a_release_that_is_given_up_while_a_generation_is_issued_is_not_drawn(tmp_path, monkeypatch):
    store, create = Folder(tmp_path / "s"), Folder.create_if_absent

    def given_up_before(self, name, content):
        if name == "generations/000000":
            rp.scale.abort_measuring(store)
        return create(self, name, content)

    monkeypatch.setattr(Folder, "create_if_absent", given_up_before)
    with pytest.raises(rp.errors.StoreError, match="was given up"):
        stored(PLAN, RECORDS, store, task_cells=LITTLE)
    assert store.names("claims/") == []


def test_an_entry_of_a_lower_cost_does_not_count_as_the_charge(tmp_path, monkeypatch):
    ledger, store = rp.Ledger(rp.pcost(9)), Folder(tmp_path / "s")
    begin(store, monkeypatch)
    release = measuring.opened_release(store)
    ledger.charge(Fraction(1, 9), "0" * 64, neighbors="add-remove", label=release.purpose)
    found = rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    assert ledger.spent == found.noise.pcost + Fraction(1, 9)


def test_a_driver_that_another_has_followed_gives_up(tmp_path, monkeypatch):
    store = Folder(tmp_path / "s")
    draw = LocalCluster.draw

    def followed(self, tasks, function):
        store.create_if_absent("generations/000001", b"another")
        return draw(self, tasks[:1], function)

    monkeypatch.setattr(LocalCluster, "draw", followed)
    with pytest.raises(rp.errors.StoreError, match="another run draws the same release"):
        stored(PLAN, RECORDS, store, task_cells=LITTLE)


def test_machines_that_were_cloned_are_found_out(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda count: b"a" * count)
    with pytest.raises(rp.errors.ResidualPlannerError, match="two tasks have the same random bytes"):
        stored(PLAN, RECORDS, tmp_path / "s", task_cells=LITTLE, source=InsecureTestBits(0))
    assert Folder(tmp_path / "s").names(MANIFEST) == []


def test_a_worker_whose_noise_failed_a_check_ends_the_run(tmp_path):
    bits = SimpleNamespace(is_secure=False, mark="os.urandom", read=bytes)
    with pytest.raises(rp.errors.ResidualPlannerError, match="nothing may be released"):
        stored(PLAN, RECORDS, tmp_path / "s", source=bits)
    assert Folder(tmp_path / "s").names(ANSWERS) == []


def test_workers_that_cannot_write_are_told_of_after_three_attempts(tmp_path, monkeypatch):
    create, generations = Folder.create_if_absent, []

    def failing(self, name, content):
        if name.startswith(ANSWERS) and content != CLOSED:
            generations.append(name[-1])
            raise rp.errors.StoreError("the disk is full")
        return create(self, name, content)

    monkeypatch.setattr(Folder, "create_if_absent", failing)
    with pytest.raises(
        rp.errors.StoreError,
        match=r"some tasks could not be drawn in 3 attempts; see that .* has room, and that all workers",
    ):
        rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "s")
    assert generations == ["0", "1", "2"]


@pytest.mark.parametrize(("name", "charge"), [("count", "counted"), ("count", "first"), ("draw", "counted")])
def test_errors_lead_to_no_record_and_cost_nothing_where_records_are_counted(name, charge, tmp_path, monkeypatch):
    data = pd.DataFrame({name: [f"canary-{number}" for number in range(3)] for name in "abcd"})
    domain = rp.Domain({name: [f"canary-{number}" for number in range(3)] for name in "abcd"})
    plan, ledger = rp.select(rp.marginals(domain, up_to=1), budget=rp.pcost(1)), rp.Ledger(rp.pcost(2))

    def fail(*_, **__):
        raise ValueError("canary-1")

    if name == "count":
        monkeypatch.setattr(import_module("residualplanner.gate.sources.source").Source, "count", fail)
    else:
        monkeypatch.setattr(Driver, "receipts", fail)
    with pytest.raises(rp.errors.UnexpectedError, match="unexpected ValueError at residualplanner/") as caught:
        rp.scale.measure_in_store(plan, data, tmp_path / "s", ledger=ledger, charge=charge)
    assert leaks_of_error(caught.value, data) == []
    is_charged = (name, charge) != ("count", "counted")
    assert bool(ledger.entries) == bool(Folder(tmp_path / "s").names("release.json")) == is_charged
    assert any("The charge stays" in note for note in caught.value.__notes__) == is_charged


def test_records_that_do_not_fit_the_schema_draw_nothing(tmp_path):
    bad = RECORDS.copy()
    bad[17, 1] = 987_654
    with pytest.raises(rp.errors.DataError) as caught:
        stored(PLAN, bad, tmp_path / "s", task_cells=LITTLE)
    assert "987" not in str(caught.value)
    assert Folder(tmp_path / "s").names(ANSWERS) == Folder(tmp_path / "s").names("claims/") == []


PROGRAM = """
import sys
import numpy as np
import residualplanner as rp
from residualplanner.scale.stored import measuring
domain = rp.Domain({"a": 3, "b": 2, "c": 4, "d": 2})
plan = rp.select(rp.marginals(domain, up_to=2), budget=rp.zcdp(1))
records = np.zeros((10, 4), dtype=np.int64)
print("ready", flush=True)
measuring.begun(plan, records, sys.argv[1], measuring.Options(rp.Ledger.open(sys.argv[2]), again=True, task_cells=4))
"""


@pytest.mark.slow
def test_a_process_that_is_killed_leaves_what_another_goes_on_with(tmp_path):
    rp.Ledger.create(tmp_path / "l", budget=rp.pcost(100), data_set="people")
    seen, opened = set(), 0
    for number in (0, 2, 4, 6):
        store = Folder(tmp_path / str(number))
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(store.path), str(tmp_path / "l")], stdout=subprocess.PIPE
        )
        process.stdout.readline()
        while process.poll() is None and len(store.names(ANSWERS)) < number:
            time.sleep(0.001)
        process.kill()
        process.communicate()
        ledger = rp.Ledger.open(tmp_path / "l")
        if store.names("release.json"):
            seen.add(len(store.names(ANSWERS)))
            opened += 1
            kept = {name: store.read(name) for name in store.names(ANSWERS)}
            rp.scale.resume_measuring(store, np.zeros((10, 4), dtype=np.int64), ledger=ledger)
            assert {name: store.read(name) for name in kept} == kept
            assert not os.path.exists(store.path / ".unfinished")
        assert len(ledger.entries) == opened
    assert len(seen) > 2
