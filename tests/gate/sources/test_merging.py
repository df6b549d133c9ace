"""Counts with merged values: the wanted cells are those of the whole table, and every record counts once."""

import numpy as np
import pandas as pd
import pytest

from forms_of_records import opened
from inner_parts import ProcessWorkers, cluster, limited_records, partitions
from inner_parts import source as source_part
from residualplanner import Domain

DOMAIN = Domain({"a": 4, "b": 1, "c": 5, "d": 3})
CODES = np.random.default_rng(0).integers(0, DOMAIN.sizes, (60, 4))
WHOLE = np.zeros(DOMAIN.sizes, dtype=np.int64)
np.add.at(WHOLE, tuple(CODES.T), 1)
GROUPS = [np.array([[0, 1, 2]]), np.array([[3]]), np.empty((1, 0), dtype=int), np.array([[0, 2, 3]])]


class OneWorker(cluster.EngineCluster):
    """An engine with one partition and one worker, which is this process."""

    def __init__(self):
        super().__init__(DOMAIN, limited_records.Contributions(), ProcessWorkers(1), None)

    def rows(self, work, finish, _report=None):
        return list(
            partitions.finished(
                work, finish, partitions.rows_of_pandas(work, pd.DataFrame(CODES, columns=DOMAIN.names))
            )
        )


@pytest.mark.parametrize(
    "source",
    [lambda: opened(CODES, DOMAIN), lambda: opened({DOMAIN.names: WHOLE}, DOMAIN), lambda: OneWorker().source()],
    ids=["codes", "ready counts", "engine"],
)
def test_merged_values_share_the_last_cell_and_the_others_keep_theirs(source):
    kept = {0: range(1, 3), 2: range(4, 5)}
    found = source().count(GROUPS, merged=source_part.MergedValues(tuple(kept.items())))
    for rows, table in zip(GROUPS, found, strict=True):
        expected = np.zeros(table.shape[1:], dtype=int)
        for record in CODES:
            cell = []
            for position in rows[0]:
                code, values = int(record[position]), kept.get(int(position))
                cell.append(code if values is None else values.index(code) if code in values else len(values))
            expected[tuple(cell)] += 1
        assert table[0].tolist() == expected.tolist()
        assert table.sum() == len(CODES)
