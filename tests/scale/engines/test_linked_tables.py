"""Tables about the same units in frames of Spark: joined at the workers, with the counts that frames here have."""

import random

import numpy as np
import pytest

import residualplanner as rp
from forms_of_records import dask_of
from linked_units import changed, counted, linked_tables, random_units, records_of

TABLES = linked_tables()

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")


def in_spark(session, data):
    """The frames, in two partitions each."""
    return {name: session.createDataFrame(table).repartition(2) for name, table in data.items()}


@pytest.mark.parametrize("kind", ["classic", "connect"])
@pytest.mark.cases(1)
def test_workers_count_what_this_process_counts_and_one_unit_changes_no_more(kind, sessions):
    draw = random.Random(kind)
    units = [*random_units(draw), *random_units(draw)[:1]]
    found = []
    for some in (units, changed(draw, units)):
        data = records_of(some, draw)
        here = counted(TABLES, data)
        there = counted(TABLES, in_spark(sessions[kind], data))
        assert all((here[name] == there[name]).all() for name in TABLES)
        found.append(there)
    for name in TABLES:
        difference = np.abs(found[1][name] - found[0][name]).sum()
        assert difference <= 2 * TABLES[name].records


def test_breaches_are_named_in_their_table_and_engines_are_not_mixed(sessions):
    draw = random.Random(3)
    data = records_of(random_units(draw), draw)
    wrong = data["persons"].set_column(1, "age", data["persons"]["age"].cast("string").combine_chunks())
    wrong = wrong.set_column(1, "age", [["999"] * len(wrong)])
    session = sessions["classic"]
    with pytest.raises(rp.errors.DataError, match=r"^column .age. has values outside its schema"):
        counted(TABLES, in_spark(session, data | {"persons": wrong}))
    mixed = in_spark(session, data) | {"persons": dask_of(data["persons"].to_pandas())}
    with pytest.raises(rp.errors.DataError, match="must all be frames of one engine"):
        counted(TABLES, mixed)
    with pytest.raises(rp.errors.DataError, match="must all be frames of one engine"):
        counted(TABLES, in_spark(session, data) | {"persons": data["persons"]})
