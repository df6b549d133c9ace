"""What is measured into a store is what `measure` gives, is charged once, and can be completed after any end."""

import os
from contextlib import ExitStack
from fractions import Fraction
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
from full_disks import files_of_at_most
from inner_parts import Folder, InsecureTestBits, discrete, measure_with_bits, opening, release, spend
from inner_parts import cluster as cluster_part
from inner_parts import source as source_part
from inner_parts import tasks as tasks_part
from leaks import DIGITS, leaks_of_error
from random_plans import plan_by_set, plans, sample_workload
from replayed_measuring import after_noise, before_noise, drawn_scales, integers_of, noise_left_out, refinements
from stored_releases import DOMAIN, LITTLE, PLAN, RECORDS, Interrupted, Watched, stopped, stored

PUBLISHED = 200  # bytes: an answer has more, what closes one has less


def published(store):
    return {name: content for name in store.names(release.ANSWERS) if len(content := store.read(name)) > PUBLISHED}


class Full(Folder):
    """On a disk that has hardly any room left."""

    def free_bytes(self):
        return 100


# What is drawn.


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
    drawn, draw = [], discrete.draw_flat

    def flat(scales, sizes, source):
        for numerator, denominator, size in zip(scales.numerators, scales.denominators, sizes, strict=True):
            drawn.extend([Fraction(numerator, denominator)] * int(size))
        return draw(scales, sizes, source)

    expected = drawn_scales(plan)
    monkeypatch.setattr(discrete, "draw_flat", flat)
    codes = np.zeros((1, len(plan.domain)), dtype=np.int64)
    stored(plan, codes, MemoryStore(), source=InsecureTestBits(1), task_cells=8)
    assert sorted(drawn) == sorted(expected)


@pytest.mark.parametrize("budget", [rp.zcdp(1), rp.pcost(Fraction(1, 10**37))], ids=["int64", "wide"])
def test_one_task_gives_the_very_integers_of_measure_from_the_same_bits(budget):
    plan = rp.select(rp.marginals(DOMAIN, up_to=2), budget=budget)
    found = stored(plan, RECORDS, MemoryStore(), source=InsecureTestBits(7))
    expected = measure_with_bits(plan, RECORDS, InsecureTestBits(7))
    assert integers_of(found).keys() == integers_of(expected).keys()
    for members, integers in integers_of(expected).items():
        assert (integers_of(found)[members] == integers).all()
    assert bool(found.residuals.wide) == (budget.pcost < 1e-9)
    assert found.noise == expected.noise


def test_a_complete_release_is_a_measurement_as_any_other(tmp_path):
    ledger = rp.Ledger.unlimited("a test")
    found = rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "store", ledger=ledger)
    assert found.noise == rp.measure(PLAN, RECORDS, ledger=rp.Ledger.unlimited("a test")).noise
    assert "a test" in found.noise.sentence
    assert ledger.spent == found.noise.pcost
    found.save(tmp_path / "some.measurement")
    stored_one = rp.scale.load_stored_measurement(tmp_path / "store")
    without_records = rp.scale.resume_measuring(tmp_path / "store", None)
    for again in (rp.load_measurement(tmp_path / "some.measurement"), stored_one, without_records):
        assert (again.residuals.numbers == found.residuals.numbers).all()
        assert again.noise == found.noise
    rp.reconstruct(stored_one).save(tmp_path / "tables")
    with pytest.raises(rp.errors.StoreError, match="holds a complete release"):
        rp.scale.abort_measuring(tmp_path / "store")


@pytest.mark.slow
def test_an_object_store_holds_a_release(tmp_path):
    with s3_server() as bucket:  # all servers of a process have the same objects
        store = bucket(tmp_path.name)
        stopped(store)
        found = rp.scale.resume_measuring(store, RECORDS)
        again = rp.scale.load_stored_measurement(store)
    assert (again.residuals.numbers == found.residuals.numbers).all()


# Tasks.


@pytest.mark.parametrize(("cells", "passes"), [(LITTLE, range(2, 99)), (10**6, [1])])
def test_records_are_read_once_for_as_many_tasks_as_fit(cells, passes, monkeypatch):
    tasks, read, drawn = tasks_part.tasks_of_noise(discrete.exact_noise(PLAN), LITTLE), [], []
    count = opening.open_source(RECORDS, DOMAIN)._count
    source = source_part.Source(lambda *asked: read.append(1) or count(*asked))
    counting = [tasks.counting(number) for number in range(len(tasks))]
    monkeypatch.setattr(cluster_part, "PASS_CELLS", cells)
    cluster = cluster_part.LocalCluster(source, DOMAIN)
    cluster.check(counting)
    cluster.draw(counting, lambda number, tables: drawn.append(number) or b"")
    assert drawn == list(range(len(tasks)))
    assert len(read) in passes


# What is refused before the charge.

BAD = np.where(np.arange(RECORDS.size).reshape(RECORDS.shape) == 70, DIGITS, RECORDS)
CONTINUOUS = rp.select(PLAN.workload, budget=rp.privacy.gdp(1))
ERRORS = rp.errors
#: What is given instead, the error, and its words.
REFUSED = {
    "a plan of another kind": (lambda _: {"plan": RECORDS}, ERRORS.ArgumentError, "plan must be a Plan"),
    "no store": (lambda _: {"store": 3}, ERRORS.ArgumentError, "a store must be the path"),
    "a file": (lambda folder: {"store": folder / "file"}, ERRORS.StoreError, "could not be read or written"),
    "a store in use": (lambda folder: {"store": folder / "used"}, ERRORS.StoreError, "holds a release already"),
    "too little left": (lambda _: {"ledger": rp.Ledger(rp.pcost("1/2"))}, ERRORS.BudgetError, "the ledger has"),
    "continuous noise": (lambda _: {"plan": CONTINUOUS}, ERRORS.BudgetError, "continuous"),
    "a column is missing": (lambda _: {"records": pd.DataFrame({"a": [1]})}, ERRORS.DataError, "column"),
    "another value": (lambda _: {"records": BAD}, ERRORS.DataError, "has values outside its schema"),
    "records that are gone when read": (
        lambda _: {"records": pa.table(dict(zip("abcd", RECORDS.T, strict=True))).to_reader()},
        ERRORS.ResourceError,
        "can be read only once",
    ),
    "a full disk": (
        lambda folder: {"store": Full(folder / "s")},
        ERRORS.ResourceError,
        r"too little room: the answers and .* take .*nothing was charged",
    ),
    "no progress": (lambda _: {"progress": 3}, ERRORS.ArgumentError, "progress must be a function of two numbers"),
    **{
        f"scratch that is {what}": (
            lambda folder, what=what: {"scratch": folder / what},
            ERRORS.ResourceError,
            r"cannot be put into a file in .*nothing was charged.* scratch=",
        )
        for what in ("absent", "file")
    },
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_be_foreseen_costs_nothing_and_opens_nothing(case, tmp_path):
    changed, error, words = REFUSED[case]
    (tmp_path / "file").write_text("")
    rp.scale.measure_in_store(PLAN, RECORDS, tmp_path / "used")
    given = {"plan": PLAN, "records": RECORDS, "store": tmp_path / "s", "ledger": rp.Ledger(rp.pcost(9))}
    given |= changed(tmp_path)
    plan, records, store = given.pop("plan"), given.pop("records"), given.pop("store")
    with pytest.raises(error, match=words) as caught:
        rp.scale.measure_in_store(plan, records, store, **given)
    assert leaks_of_error(caught.value, records) == []
    assert given["ledger"].entries == ()
    assert Folder(tmp_path / "s").names("release.json") == []


@pytest.mark.slow
def test_a_store_that_overwrites_is_refused_before_the_charge():
    ledger = rp.Ledger(rp.pcost(9))
    with s3_server(ignores_conditions=True) as bucket, pytest.raises(rp.errors.ResourceError, match="If-None-Match"):
        rp.scale.measure_in_store(PLAN, RECORDS, bucket("s"), ledger=ledger)
    assert ledger.entries == ()


#: What file systems, programs and people leave in folders.
LEFT_BEHIND = [
    *("notes.txt", ".DS_Store", "release.json.bak", "manifest.json.tmp", "answers/.nfs0001", "answers/readme.txt"),
    *("answers/000000.000000.tmp", "claims/.DS_Store", "claims/000000.000000~", "generations/.nfs01"),
    "generations/old",
]


def test_files_that_others_leave_in_a_store_are_no_part_of_a_release(tmp_path):
    for name in LEFT_BEHIND:
        path = tmp_path / "s" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left behind")
    ledger = rp.Ledger(rp.pcost(9))
    stopped(Folder(tmp_path / "s"), ledger=ledger)
    measurement = rp.scale.resume_measuring(tmp_path / "s", RECORDS, ledger=ledger)
    assert ledger.spent == measurement.noise.pcost
    found = rp.scale.load_stored_measurement(tmp_path / "s")
    assert (found.residuals.numbers == measurement.residuals.numbers).all()
    stopped(Folder(tmp_path / "t"))
    (tmp_path / "t" / "answers" / ".nfs0001").write_text("left behind")
    rp.scale.abort_measuring(tmp_path / "t")
    assert (tmp_path / "t" / "answers" / ".nfs0001").exists()


# Runs that end early.


def test_a_run_that_ended_early_is_gone_on_with_for_the_same_charge(tmp_path):
    """By another process, on a disk that has room for no more than the rest."""
    rp.Ledger.create(tmp_path / "l", budget=rp.pcost(9), data_set="people")
    store = Full(tmp_path / "s")
    error = stopped(Folder(store.path), ledger=rp.Ledger.open(tmp_path / "l"), draws=2)
    assert any("The charge stays" in note for note in error.__notes__)
    assert any("resume_measuring" in note for note in error.__notes__)
    with pytest.raises(rp.errors.FileFormatError, match="is not complete"):
        rp.scale.load_stored_measurement(store)
    first = {name: store.read(name) for name in store.names(release.ANSWERS)}
    assert len(first) == 2
    found = rp.scale.resume_measuring(store, RECORDS, ledger=rp.Ledger.open(tmp_path / "l"))
    (entry,) = rp.Ledger.open(tmp_path / "l").entries
    assert entry.cost == found.noise.pcost
    assert entry.label.startswith("release ")
    assert {name: store.read(name) for name in first} == first
    assert store.read("claims/000000.000000") != release.CLOSED
    assert store.read("claims/000002.000000") == store.read("answers/000002.000000") == release.CLOSED


def test_where_the_disk_gets_full_what_was_published_stays_and_the_rest_is_drawn_for_the_same_charge(tmp_path):
    ledger, store = rp.Ledger(rp.zcdp(5)), Folder(tmp_path / "store")
    with ExitStack() as disk:

        def fill(done, _total):
            if done == 2:
                disk.enter_context(files_of_at_most(PUBLISHED))

        words = r"some tasks could not be drawn in 3 attempts; see that .* has room, and that all workers"
        with pytest.raises(rp.errors.StoreError, match=words) as caught:
            stored(PLAN, RECORDS, store, ledger=ledger, progress=spend.WatchedProgress(fill), task_cells=LITTLE)
    assert "resume_measuring(store, records) has the others drawn" in "".join(caught.value.__notes__)
    assert store.names("generations/") == [f"generations/00000{number}" for number in range(3)]
    there, spent = published(store), ledger.spent
    assert len(there) == 2
    measurement = rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    assert ledger.spent == spent == measurement.noise.pcost
    assert {name: store.read(name) for name in there} == there


def test_a_run_that_ended_before_its_charge_is_charged_when_it_is_resumed():
    ledger, store = Interrupted(rp.pcost(9)), MemoryStore()
    with pytest.raises(KeyboardInterrupt):
        rp.scale.measure_in_store(PLAN, RECORDS, store, ledger=ledger)
    with pytest.raises(rp.errors.BudgetError, match="this release is charged to a ledger; give the same one again"):
        rp.scale.resume_measuring(store, RECORDS)
    assert store.names(release.ANSWERS) == []
    assert rp.scale.resume_measuring(store, RECORDS, ledger=ledger).noise.pcost == ledger.spent


def test_a_release_that_is_charged_to_one_ledger_is_not_charged_to_another():
    first, second, store = rp.Ledger(rp.pcost(9)), rp.Ledger(rp.pcost(9)), MemoryStore()
    stopped(store, ledger=first)
    with pytest.raises(rp.errors.BudgetError, match=r"was charged to another ledger.* give that one.* abort_measuring"):
        rp.scale.resume_measuring(store, RECORDS, ledger=second)
    assert second.entries == ()
    assert rp.scale.resume_measuring(store, RECORDS, ledger=first).noise.pcost == first.spent


def test_an_entry_of_a_lower_cost_does_not_count_as_the_charge():
    ledger, store = rp.Ledger(rp.pcost(9)), MemoryStore()
    stopped(store)
    ledger.charge(Fraction(1, 9), "0" * 64, neighbors="add-remove", label=release.opened_release(store).purpose)
    found = rp.scale.resume_measuring(store, RECORDS, ledger=ledger)
    assert ledger.spent == found.noise.pcost + Fraction(1, 9)


def test_a_release_that_is_given_up_loses_its_answers_and_is_never_complete():
    store = MemoryStore()
    stopped(store, draws=2)
    for _ in range(2):
        rp.scale.abort_measuring(store)
    assert all(store.read(name) == release.CLOSED for name in store.names(release.ANSWERS))
    for use in (lambda: rp.scale.resume_measuring(store, RECORDS), lambda: rp.scale.load_stored_measurement(store)):
        with pytest.raises(rp.errors.StoreError, match="was given up"):
            use()


def test_a_release_that_is_given_up_while_a_generation_is_issued_is_not_drawn():
    store = Watched(lambda name, _: name == "generations/000000" and rp.scale.abort_measuring(store))
    with pytest.raises(rp.errors.StoreError, match="was given up"):
        stored(PLAN, RECORDS, store, task_cells=LITTLE)
    assert store.names("claims/") == []


def test_a_driver_that_another_has_followed_gives_up():
    def follow(name, content):
        if name.startswith(release.ANSWERS) and content != release.CLOSED:
            store.create_if_absent("generations/000001", b"another")
            raise rp.errors.StoreError("the answers are lost")

    store = Watched(follow)
    with pytest.raises(rp.errors.StoreError, match="another run draws the same release"):
        stored(PLAN, RECORDS, store, task_cells=LITTLE)


def test_machines_that_were_cloned_are_found_out(monkeypatch):
    store = MemoryStore()
    monkeypatch.setattr(os, "urandom", lambda count: b"a" * count)
    with pytest.raises(rp.errors.ResidualPlannerError, match="two tasks have the same random bytes"):
        stored(PLAN, RECORDS, store, task_cells=LITTLE, source=InsecureTestBits(0))
    assert store.names(release.MANIFEST) == []


def test_a_worker_whose_noise_failed_a_check_ends_the_run():
    store, bits = MemoryStore(), SimpleNamespace(is_secure=False, mark="os.urandom", read=bytes)
    with pytest.raises(rp.errors.ResidualPlannerError, match="nothing may be released"):
        stored(PLAN, RECORDS, store, source=bits)
    assert store.names(release.ANSWERS) == []


@pytest.mark.parametrize("cells", [LITTLE, 2**22])
def test_the_room_that_is_asked_for_is_what_a_release_takes_and_little_more(cells, tmp_path):
    stored(PLAN, RECORDS, Folder(tmp_path), task_cells=cells)
    blocks = sum(-(-path.stat().st_size // 4096) * 4096 for path in tmp_path.rglob("*") if path.is_file())
    tasks = tasks_part.tasks_of_noise(discrete.exact_noise(PLAN), cells)
    assert blocks <= tasks.stored_bytes <= blocks + 12_000 * (len(tasks) + 4)


def test_the_room_that_is_asked_for_has_the_labels_of_the_plan():
    sizes = [
        tasks_part.tasks_of_noise(discrete.exact_noise(plan_of(values)), LITTLE).stored_bytes
        for values in (500, [f"{number:0200}" for number in range(500)])
    ]
    assert sizes[1] - sizes[0] > 500 * 200


def plan_of(values):
    return rp.select(rp.marginals(rp.Domain({"a": values}), order=1), budget=rp.pcost(1))
