"""A new form of records and a new engine are a module or two and a line in a table: invented ones, added from outside.

What is measured of them is what is measured of the same records on the plain road, from the same random bits.
"""

import pickle
import sys
from functools import partial
from types import ModuleType

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import residualplanner as rp
from inner_parts import ProcessWorkers, cluster, coding, engines, opening, partitions, records
from replayed_measuring import CountedBits, measured_with
from stored_releases import stored

DOMAIN = rp.Domain({"a": ["x", "y", "z"], "b": 2})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp(1))
CHANCE = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {"who": CHANCE.integers(0, 30, 60), "a": CHANCE.choice(list("xyz"), 60), "b": CHANCE.integers(0, 2, 60)}
)
WRONG = FRAME.assign(a="odd")
TWO_EACH = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp(1), records_per_person=2)


class Cards:
    """Records as an invented library has them: a list of dictionaries."""

    def __init__(self, frame):
        self.names, self.cards = tuple(frame), pa.Table.from_pandas(frame).to_pylist()


def source_of(data, domain, contributions, watch):
    """What the module of a form of records has: what counts them."""
    names = coding.names_of_columns(domain, contributions)
    coding.require_columns(names, names_of(data))
    table = pa.table({name: [card[name] for card in data.cards] for name in names})
    batches = partial(table.to_batches, max_chunksize=7)
    return records.source_of_blocks(domain, lambda: coding.blocks_of_batches(domain, contributions, batches()))


def names_of(data):
    """And the names of its columns."""
    return data.names


class Shards:
    """Records as an invented engine has them: frames, each at a worker of its own."""

    def __init__(self, frame):
        self.columns = list(frame.columns)
        worker_of = frame["who"] if "who" in frame else np.arange(len(frame))
        self.frames = [frame[worker_of % 3 == worker] for worker in range(3)]


def sent(what):
    """What a worker gets, which is small."""
    content = pickle.dumps(what)
    assert len(content) < 3000
    return pickle.loads(content)  # noqa: S301 - our own


class WorkersOfShards(ProcessWorkers):
    """The engine's workers, which are this process."""

    def map(self, function, numbers, /):
        return map(sent(function), numbers)


class ShardRecords(cluster.EngineCluster):
    """What counts the engine's frames where they are."""

    def __init__(self, frame, domain, contributions, progress=None):
        self._frames = frame.frames
        super().__init__(domain, contributions, self.workers_of(frame), progress)

    @staticmethod
    def is_frame(data):
        return isinstance(data, Shards)

    @staticmethod
    def workers_of(frame):
        return WorkersOfShards(len(frame.frames))

    def rows(self, work, finish, progress):
        rows = [row for frame in self._frames for row in partitions.rows_of_pandas(sent(work), frame)]
        return list(partitions.finished(work, sent(finish), sorted(rows, key=lambda row: row.task)))


@pytest.fixture(params=[Cards, Shards])
def made(request, monkeypatch):
    """What makes the invented records of a frame, when their line is in its table."""
    if request.param is Shards:
        monkeypatch.setitem(engines.ENGINES, "Shards", ShardRecords)
    else:
        module = ModuleType("residualplanner.gate.sources.cards")
        module.source_of, module.names_of = source_of, names_of
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(opening._FORMS, (__name__.partition(".")[0], "Cards"), "gate.sources.cards")
    return request.param


@pytest.mark.parametrize("road", ["measure", "store"])
@pytest.mark.parametrize(
    ("plan", "limited"),
    [(PLAN, lambda data: data), (TWO_EACH, partial(rp.LimitedRecords, person="who", keep=2, key=bytes(32)))],
    ids=["all", "two of each person"],
)
def test_its_measurement_is_that_of_the_plain_road(made, plan, limited, road, tmp_path):
    data = limited(made(FRAME))
    if road == "measure":
        found = measured_with(plan, data, 7)
    else:
        found = stored(plan, data, tmp_path / "store", source=CountedBits(7))
    expected = measured_with(plan, limited(FRAME), 7)
    assert (found.residuals.values == expected.residuals.values).all()
    assert found.noise.pcost == expected.noise.pcost


@pytest.mark.parametrize("measure", [rp.measure, rp.scale.measure_in_store], ids=["measure", "store"])
@pytest.mark.parametrize("wrong", [WRONG, FRAME.drop(columns="a")], ids=["another value", "no such column"])
def test_records_that_do_not_fit_are_refused_before_the_charge(made, measure, wrong, tmp_path):
    ledger, store = rp.Ledger(rp.zcdp(9)), [tmp_path / "store"] * (measure is rp.scale.measure_in_store)
    with pytest.raises(rp.errors.DataError) as caught:
        measure(PLAN, made(wrong), *store, ledger=ledger)
    assert ledger.entries == ()
    assert "odd" not in str(caught.value)


def test_it_keeps_the_laws_of_sources(made):
    rp.testing.check_source(lambda columns: made(pd.DataFrame(columns)), records=40)


def test_without_their_lines_they_are_no_records():
    for data in (Cards(FRAME), Shards(FRAME)):
        with pytest.raises(rp.errors.DataError, match="are not understood; give a pandas DataFrame"):
            rp.measure(PLAN, data, ledger=rp.Ledger(rp.zcdp(9)))
