"""PySpark frames, classic and over Spark Connect, on one Spark in this process's charge."""

import logging
import os
import re
import signal
import threading
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import residualplanner as rp
from counted_records import DOMAIN, GROUPS, TYPES, assert_counts, columns_of, some_records
from inner_parts import Folder, engines, opening, partitions
from residualplanner import Attribute, Bins, Domain, marginals, measure, pcost, select

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
CANARY = "canary-4f1c"


@pytest.fixture(params=["classic", "connect"])
def session(request, sessions):
    return sessions[request.param]


@pytest.mark.cases(1)
def test_spark_counts_like_a_list_of_records_and_reads_them_once(session, tmp_path):
    records = some_records(400)
    for place, odd in enumerate((float("nan"), float("inf"))):
        records[place]["number"] = odd
    note = str(tmp_path / "note")

    def noting(batches):
        with open(note, "a") as file:
            file.write("x")
        yield from batches

    frame = session.createDataFrame(pa.table(columns_of(records), TYPES)).repartition(3)
    noted = frame.mapInArrow(noting, frame.schema)
    assert_counts(noted.select("number", "truth", "text", "integer", "code"), records, DOMAIN, GROUPS)
    with open(note) as file:
        assert file.read() == "xxx"  # once for each part, though there are five groups of tables


FIRST = [np.array([[0]])]


def count(data, domain, groups=FIRST):
    return [stack.tolist() for stack in opening.open_source(data, domain).count(groups)]


def test_names_and_types_are_matched_exactly(session):
    table = pa.table(
        {
            "A": [0, 0, 0],
            "a": pa.array([Decimal("0.0"), Decimal("1.0"), None], pa.decimal128(5, 1)),
            "a.b": ["1", "01", "1.0"],
            "`q": [1.0, 0.5, 2.0],
        }
    )
    domain = Domain(
        {
            "`q": Attribute("`q", 3, unknown=0),
            "a.b": Attribute("a.b", labels=["01", "1", "?"], unknown="?"),
            "a": Attribute("a", 2, missing=0),
        }
    )
    found = count(session.createDataFrame(table), domain, [np.array([[0], [1]]), np.array([[2]])])
    assert found == [[[1, 1, 1], [1, 1, 1]], [[2, 1]]]
    with pytest.raises(rp.errors.DataError, match=r"column 'B' is missing from the data"):
        opening.open_source(session.createDataFrame(table), Domain({"B": 2}))
    frame = session.range(3).selectExpr("id", "cast(id as double) as x", "array(id) as list")
    for name, attribute, message in (
        ("id", ["F", "M"], "of a type that holds numbers"),
        ("list", 3, "of a type that holds dates, bytes, lists"),
        ("x", [1, 2**60], r"holds floats, .* from 2\*\*53 on"),
    ):
        with pytest.raises(rp.errors.DataError, match=message):
            opening.open_source(frame, Domain({name: attribute}))


@pytest.mark.cases(1)
def test_dates_and_times_without_a_zone_are_counted_and_moments_are_refused(session):
    texts = ["1969-12-31 23:59:59.999999", "1970-01-01 00:00:00", "2020-02-29 12:00:00", "2020-03-01 00:00:00", None]
    frame = session.createDataFrame([(text,) for text in texts], "text string").selectExpr(
        "text", "cast(text as date) as date", "cast(text as timestamp_ntz) as time", "cast(text as timestamp) as moment"
    )
    bins = Bins(["1970-01-01", "2020-03-01"])
    for name in ("text", "date", "time"):
        domain = Domain({name: Attribute(name, bins=bins, unknown="another day", missing="Not stated")})
        assert count(frame, domain) == [[[2, 2, 1]]], name
    with pytest.raises(rp.errors.DataError, match="column 'moment' holds moments with a time zone"):
        opening.open_source(frame, Domain({"moment": bins}))


def unknown_value(session):
    return session.createDataFrame(pa.table({"name": ["x", CANARY]})), "column 'name' has values outside its schema"


def failing_cast(session):
    """Fails in the workers, not where the plan is made."""
    words = session.createDataFrame(pa.table({"word": ["1", CANARY]})).repartition(2)
    return words.selectExpr("cast(cast(word as int) as string) as name"), "the engine could not count the records"


def failing_function(session):
    def fail(batches):
        raise RuntimeError(CANARY)
        yield from batches

    return session.range(3).mapInArrow(fail, "name string"), "the engine could not count the records"


@pytest.mark.cases(3)
@pytest.mark.parametrize("case", [unknown_value, failing_cast, failing_function])
def test_an_error_tells_nothing_of_the_records(case, session, caplog, capfd):
    frame, message = case(session)
    caplog.set_level(logging.DEBUG)
    source = opening.open_source(frame, Domain({"name": ["x", "y"]}))
    caplog.clear()
    capfd.readouterr()
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        source.count([np.array([[0]])])
    error = caught.value
    assert CANARY not in str(error) + caplog.text + "".join(capfd.readouterr())
    assert (error.__cause__, error.__context__) == (None, None)
    traceback = error.__traceback__.tb_next
    while traceback is not None:
        assert not any(value is frame or CANARY in repr(value) for value in traceback.tb_frame.f_locals.values())
        assert "self" not in traceback.tb_frame.f_locals
        traceback = traceback.tb_next


def stages_of(context, group, work):
    """The jobs of some work, and the tasks of each of their stages that ran."""
    tracker = context.statusTracker()
    context.setJobGroup(group, "what is looked at")
    work()
    jobs = [tracker.getJobInfo(number) for number in sorted(tracker.getJobIdsForGroup(group))]
    stages = [tracker.getStageInfo(number) for number in sorted({number for job in jobs for number in job.stageIds})]
    return len(jobs), [stage.numTasks for stage in stages if stage is not None and stage.numCompletedTasks]


def test_one_count_is_one_job_and_its_sum_and_noise_is_drawn_in_the_last_of_two_stages(sessions):
    """Spark counts the stage before a shuffle as a job of its own; one shuffle brings counts together, none follows."""
    context, domain = sessions["classic"].sparkContext, Domain({"a": 2, "b": 3})
    frame = sessions["classic"].range(100).selectExpr("id % 2 as a", "id % 3 as b")
    groups = [np.array([[0]]), np.array([[1]]), np.array([[0, 1]])]
    jobs, _ = stages_of(context, "count", lambda: opening.open_source(frame, domain).count(groups))
    assert jobs <= 2
    task = partitions.CountingTask(0, (np.array([[0]]),))
    _, tasks = stages_of(
        context, "draw", lambda: engines.open_cluster(frame, domain).draw([task], lambda number, tables: b"")
    )
    assert len(tasks) == 2
    assert tasks[-1] == 1


@pytest.mark.cases(1)
def test_workers_write_the_parts_that_this_process_would_write(session, tmp_path):
    plan = select(marginals(Domain({name: 100 for name in "abcd"}), up_to=3), budget=pcost(1))
    measurement = measure(plan, np.zeros((10, 4), dtype=int))
    measurement.save(tmp_path / "some.measurement")
    release = rp.reconstruct(rp.load_measurement(tmp_path / "some.measurement", mapped=True))
    release.save(tmp_path / "one", "parts")
    release.save(tmp_path / "workers", "parts", workers=rp.scale.SparkWorkers(session))
    found, expected = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*") if path.is_file()}
        for name in ("workers", "one")
    )
    assert len(expected) > 7
    assert found == expected


class OwnStore(Folder):
    """Of this module, which the workers do not have."""


PLAN = select(marginals(Domain({"id": 3}), up_to=1), budget=pcost(1))


def refused(session, store, words):
    """The message with which measuring into a store is refused, at no cost."""
    ledger = rp.Ledger(pcost(1))
    with pytest.raises(rp.errors.ResourceError, match=words) as found:
        rp.scale.measure_in_store(PLAN, session.range(3), store, ledger=ledger)
    assert ledger.entries == ()
    return str(found.value)


def test_a_session_that_starts_slow_tasks_again_is_refused_before_the_charge(session, tmp_path):
    session.conf.set("spark.sql.legacy.setCommandRejectsSparkCoreConfs", "false")
    session.conf.set("spark.speculation", "true")
    try:
        refused(session, tmp_path / "store", r"spark\.speculation=false\.  Nothing was charged")
    finally:
        session.conf.unset("spark.speculation")
        session.conf.unset("spark.sql.legacy.setCommandRejectsSparkCoreConfs")
    assert not [*tmp_path.rglob("answers*")]


@pytest.mark.cases(1)
def test_workers_that_lack_a_module_are_told_of_before_the_charge(session, tmp_path):
    refused(session, OwnStore(tmp_path / "store"), r"workers cannot run Python with this library .*PYSPARK_PYTHON")


@pytest.mark.cases(1)
def test_an_interrupt_is_an_interrupt_and_says_what_was_charged(session, tmp_path):
    def slowly(batches):
        import time

        for batch in batches:
            time.sleep(30)
            yield batch

    ledger = rp.Ledger(pcost(1))
    timer = threading.Timer(5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as found:
        rp.scale.measure_in_store(
            PLAN, session.range(3).mapInArrow(slowly, "id long"), tmp_path / "store", ledger=ledger
        )
    timer.cancel()
    notes = getattr(found.value, "__notes__", ())  # none where it came before all that may be charged
    assert (len(ledger.entries) == 1) == any("The charge stays" in note for note in notes)


@pytest.mark.cases(1)
@pytest.mark.parametrize("page", ["data.md", "engines.md"])
def test_the_manuals_example_runs(session, page, tmp_path, monkeypatch):
    """The page's other examples are run with the manual's, where there is no Spark."""
    text = (Path(__file__).resolve().parents[3] / "docs" / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (block,) = [each for each in blocks if "spark." in each and "getOrCreate" not in each]
    monkeypatch.chdir(tmp_path)
    plan = select(marginals(Domain({"region": ["01", "02"], "age": Bins([0, 65, 120])}), up_to=2), budget=pcost(1))
    people = pd.DataFrame({"region": ["01", "02", "01"], "age": [3.0, 66.0, 120.0]})
    names = {"spark": session, "rp": rp, "plan": plan, "people": people}
    exec(block, names)  # the page is ours
    assert isinstance(names["measurement"], rp.Measurement)


@pytest.mark.cases(1)
@pytest.mark.slow
def test_weights_and_the_first_records_of_each_person_are_those_of_a_frame_in_memory(session):
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"a": random.integers(0, 3, 60), "w": random.integers(0, 9, 60) / 2})
    frame["Id"], frame["day"] = [f"p{number}" for number in random.integers(0, 6, 60)], random.integers(0, 4, 60)
    domain = Domain({"a": 3}, weight=rp.Weight("w", maximum=4, unit=0.5))
    expected, found = (
        opening.open_source(
            rp.LimitedRecords(data, person="Id", order="day", key=bytes(32)), domain, records_per_person=2
        ).count([np.array([[0]])])
        for data in (frame, session.createDataFrame(frame).repartition(5))
    )
    assert found[0].tolist() == expected[0].tolist()
    nobody = session.createDataFrame([(0, 1.0, None)], "a int, w double, Id string")
    with pytest.raises(rp.errors.DataError, match="the column of persons does not say whose each record is"):
        opening.open_source(rp.LimitedRecords(nobody, person="Id"), domain).count([np.array([[0]])])
