"""PySpark frames, classic and over Spark Connect, on one Spark in this process's charge."""

import hashlib
import logging
import os
import re
import shutil
import signal
import socket
import sys
import threading
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import amounts_by_hand as by_hand
import residualplanner as rp
from benchmarks.s3_server import s3_server
from counted_records import DOMAIN, GROUPS, TEXT, assert_counts, columns_of, naive_tables
from residualplanner import Attribute, Bins, Domain, Workload, marginals, measure, pcost, select
from scale.parts import Bucket, CountingTask, Folder, open_cluster, open_source

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.skipif(not (shutil.which("java") or os.environ.get("JAVA_HOME")), reason="Spark needs Java"),
]
CANARY = "canary-4f1c"
TYPES = pa.schema(
    {"text": pa.string(), "code": pa.int8(), "integer": pa.int64(), "truth": pa.bool_(), "number": pa.float64()}
)


def free_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


@pytest.fixture(scope="module")
def sessions():
    """A classic session, and one over Spark Connect to a server in the same Java machine."""
    from pyspark.sql import SparkSession
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    port = free_port()
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "512m",
        "spark.driver.maxResultSize": "16m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # compiling less is faster for so little
        "spark.sql.shuffle.partitions": "2",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        classic = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
        remote = RemoteSession.builder.remote(f"sc://localhost:{port}").create()
        java = classic.sparkContext._gateway.proc
        yield {"classic": classic, "connect": remote}
        remote.stop()
        classic.stop()
        java.stdin.close()  # by which it knows that it is to end
        java.wait(timeout=60)


@pytest.fixture(params=["classic", "connect"])
def session(request, sessions):
    return sessions[request.param]


def some_records():
    draw = np.random.default_rng(5)
    values = {
        "text": [*TEXT, "odd", "NO ", "no", None],
        "code": [0, 1, 2, 3, 4, -1, None],
        "integer": [5, -3, 0, 2**40, 7, None],
        "truth": [True, False, None],
        "number": [-1.0, -0.0, 0.0, 2.5, 10.0, 11.0, float("nan"), float("inf"), None],
    }
    return [{name: column[draw.integers(len(column))] for name, column in values.items()} for _ in range(400)]


def test_spark_counts_like_a_list_of_records_and_reads_them_once(session, tmp_path):
    records = some_records()
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
    return [stack.tolist() for stack in open_source(data, domain).count(groups)]


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
        open_source(session.createDataFrame(table), Domain({"B": 2}))
    frame = session.range(3).selectExpr("id", "cast(id as double) as x", "array(id) as list")
    for name, attribute, message in (
        ("id", ["F", "M"], "of a type that holds numbers"),
        ("list", 3, "of a type that holds dates, bytes, lists"),
        ("x", [1, 2**60], r"holds floats, .* from 2\*\*53 on"),
    ):
        with pytest.raises(rp.errors.DataError, match=message):
            open_source(frame, Domain({name: attribute}))


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
        open_source(frame, Domain({"moment": bins}))


def test_no_records_give_tables_of_zeros_from_which_every_task_is_drawn(session):
    frame, domain = session.range(1).where("id > 5"), Domain({"id": 2})
    assert count(frame, domain) == [[[0, 0]]]
    assert count(session.range(7), Domain({}), [np.empty((1, 0), dtype=int)]) == [[7]]
    tasks, digest = [CountingTask(number, (np.array([[0]]),)) for number in range(3)], digesting()
    found = open_cluster(frame, domain).draw(tasks, digest)
    assert found == [digest(number, [np.zeros((1, 2), dtype=np.int64)]) for number in range(3)]


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


@pytest.mark.parametrize("case", [unknown_value, failing_cast, failing_function])
def test_an_error_tells_nothing_of_the_records(case, session, caplog, capfd):
    frame, message = case(session)
    caplog.set_level(logging.DEBUG)
    source = open_source(frame, Domain({"name": ["x", "y"]}))
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
    jobs, _ = stages_of(context, "count", lambda: open_source(frame, domain).count(groups))
    assert jobs <= 2
    task = CountingTask(0, (np.array([[0]]),))
    _, tasks = stages_of(context, "draw", lambda: open_cluster(frame, domain).draw([task], digesting()))
    assert len(tasks) == 2
    assert tasks[-1] == 1


def test_counts_that_the_session_would_not_send_are_refused_before_the_charge(session):
    plan = select(Workload(Domain({"a": 1500, "b": 1500}), [("a", "b")]), budget=pcost(1))
    frame, ledger = session.range(10).selectExpr("id as a", "id as b"), rp.Ledger(pcost(2))
    with pytest.raises(rp.errors.ResourceError, match="sends at most 16,777,216"):
        measure(plan, frame, ledger=ledger)
    assert ledger.spent == 0


def digesting():
    """A receipt that depends on the counts; a function in a function, as Spark's workers do not have this module."""

    def digest(number, tables):
        return bytes([number]) + hashlib.sha256(b"".join(table.tobytes() for table in tables)).digest()

    return digest


def test_workers_draw_from_the_sums_of_all_partitions_and_only_receipts_come_back(session, tmp_path):
    records = some_records()
    frame = session.createDataFrame(pa.table(columns_of(records), TYPES)).repartition(3)
    cluster = open_cluster(frame, DOMAIN)
    tasks = [CountingTask(3, tuple(GROUPS[:2])), CountingTask(1, tuple(GROUPS[2:]))]
    cluster.require_ready()
    digest = digesting()
    assert cluster.draw(tasks, digest) == [
        digest(task.number, naive_tables(DOMAIN, records, task.groups)) for task in tasks
    ]
    assert cluster.draw(tasks[1:], digest) == [digest(1, naive_tables(DOMAIN, records, GROUPS[2:]))]


def test_where_records_break_a_rule_nothing_is_drawn(session, tmp_path):
    note = str(tmp_path / "note")

    def noting(number, tables):
        with open(note, "a") as file:
            file.write("x")
        return b""

    frame = session.range(100).selectExpr("id % 3 as a").repartition(4)
    tasks = [CountingTask(number, (np.array([[0]]),)) for number in range(3)]
    for step in (lambda cluster: cluster.check(tasks), lambda cluster: cluster.draw(tasks, noting)):
        with pytest.raises(rp.errors.DataError, match="column 'a' has values outside its schema"):
            step(open_cluster(frame, Domain({"a": 2})))
    open_cluster(frame, Domain({"a": 3})).check(tasks)
    assert not Path(note).exists()
    assert open_cluster(frame, Domain({"a": 3})).draw(tasks, noting) == [b""] * 3
    assert Path(note).read_text() == "xxx"


def test_a_function_is_called_at_workers_with_each_number(session):
    workers = rp.scale.SparkWorkers(session)
    assert list(workers.map(lambda number: bytes([2 * number]), [4, 0, 9])) == [bytes([8]), bytes([0]), bytes([18])]
    assert list(workers.map(lambda number: b"", [])) == []
    with pytest.raises(rp.errors.ResourceError, match="Spark failed"):
        workers.map(lambda number: bytes([2 * number]), [200])


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


def test_noise_drawn_by_workers_is_charged_once_and_its_tables_are_about_the_records(session, tmp_path):
    """With a budget so large that the noise hardly matters."""
    plan = select(marginals(Domain({"a": 2, "b": 3}), up_to=2), budget=pcost(1e9))
    frame, ledger = session.range(100).selectExpr("id % 2 as a", "id % 3 as b"), rp.Ledger(pcost(1e9))
    measurement = rp.scale.measure_in_store(plan, frame, str(tmp_path / "store"), ledger=ledger)
    assert ledger.spent == measurement.noise.pcost
    table = rp.reconstruct(measurement)["a", "b"]
    assert np.abs(table.estimate - [[17, 16, 17], [17, 17, 16]]).max() < 0.1


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


def test_workers_that_lack_a_module_are_told_of_before_the_charge(session, tmp_path):
    refused(session, OwnStore(tmp_path / "store"), r"Spark's worker .* lacks the module .*; .*PYSPARK_PYTHON")


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="a name that is another folder in each process")
def test_workers_that_do_not_have_the_folder_are_told_of_before_the_charge(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(session, "/proc/self/cwd/store", r"Spark's worker .* does not reach /proc/self/cwd/store: .*have under the")


def test_workers_without_the_variables_of_a_bucket_are_told_of_before_the_charge(session, monkeypatch):
    with s3_server() as bucket:
        settings = dict(bucket("store").settings)
        for name in ("access_key_id", "secret_access_key"):
            monkeypatch.setenv(f"AWS_{name.upper()}", settings.pop(name))
        settings["metadata_endpoint"] = "http://127.0.0.1:9"  # a machine of Amazon's would find keys there
        store = Bucket("s3://curator/store", tuple(settings.items()))
        words = r"AWS_SECRET_ACCESS_KEY must be set there as here: spark\.executorEnv"
        assert "secret-of-the-test" not in refused(session, store, words)
        assert bucket("store").names("") == []


def test_progress_counts_tasks_of_spark_and_what_it_raises_ends_the_run(session, tmp_path):
    frame, steps = session.range(30).selectExpr("id % 3 as id").repartition(3), []
    rp.scale.measure_in_store(PLAN, frame, tmp_path / "a", progress=lambda done, total: steps.append((done, total)))
    assert steps[-1][0] == steps[-1][1] >= 1
    assert all(0 <= done <= total for done, total in steps)
    with pytest.raises(ZeroDivisionError):
        rp.scale.measure_in_store(PLAN, frame, tmp_path / "b", progress=lambda done, total: 1 // 0)


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
    assert (len(ledger.entries) == 1) == any("The charge stays" in note for note in found.value.__notes__)


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


@pytest.mark.slow
def test_weights_and_the_first_records_of_each_person_are_those_of_a_frame_in_memory(session):
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"a": random.integers(0, 3, 60), "w": random.integers(0, 9, 60) / 2})
    frame["Id"], frame["day"] = [f"p{number}" for number in random.integers(0, 6, 60)], random.integers(0, 4, 60)
    domain = Domain({"a": 3}, weight=rp.Weight("w", maximum=4, unit=0.5))
    expected, found = (
        open_source(
            rp.LimitedRecords(data, person="Id", order="day", key=bytes(32)), domain, records_per_person=2
        ).count([np.array([[0]])])
        for data in (frame, session.createDataFrame(frame).repartition(5))
    )
    assert found[0].tolist() == expected[0].tolist()
    nobody = session.createDataFrame([(0, 1.0, None)], "a int, w double, Id string")
    with pytest.raises(rp.errors.DataError, match="the column of persons does not say whose each record is"):
        open_source(rp.LimitedRecords(nobody, person="Id"), domain).count([np.array([[0]])])


@pytest.mark.slow
def test_columns_that_are_no_amounts_are_told_by_name(session):
    frame = session.createDataFrame(by_hand.RECORDS)
    wrong = frame.selectExpr("sex", "if(cents > 0, pay, double('inf')) as pay", "hours")
    with pytest.raises(rp.errors.DataError, match="column 'pay' has entries that are not finite numbers"):
        open_source(wrong, by_hand.DOMAIN).count(by_hand.GROUPS)
    with pytest.raises(rp.errors.DataError, match="column 'pay' is of a type that holds truth values"):
        open_source(frame.selectExpr("sex", "cents > 0 as pay", "hours"), by_hand.DOMAIN)
