"""DuckDB and Polars read a release in parts without this library, and find its numbers, labels and errors in it."""

import duckdb
import numpy as np
import pytest

import residualplanner as rp
from made_releases import any_release
from small_pieces import small_parts

DOMAIN = rp.Domain({"a": 3, "region": ["north", "south", "o'east"], "c": 4})
WORKLOAD = rp.marginals(DOMAIN, up_to=2) + rp.Workload(DOMAIN, [{"c": rp.Prefix(), "region": rp.Identity()}])
RELEASE = any_release(rp.select(WORKLOAD, budget=rp.pcost(1)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "release"
    with small_parts(16, 8):
        RELEASE.save(path, "parts")
    return path


def rows_of(table):
    """The cells of a table as rows: labels, estimate, standard error."""
    labels = np.stack(np.meshgrid(*(list(map(str, each)) for each in table.labels), indexing="ij"), axis=-1)
    numbers = zip(table.estimate.ravel().tolist(), table.std_err.ravel().tolist(), strict=True)
    return [(*words, *pair) for words, pair in zip(labels.reshape(-1, labels.shape[-1]).tolist(), numbers, strict=True)]


def same(found, expected):
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    assert [row[-1] for row in found] == pytest.approx([row[-1] for row in expected], rel=1e-12)


@pytest.mark.parametrize("query", [("a", "region"), ("region", "c"), {"c": rp.Prefix(), "region": rp.Identity()}])
def test_a_join_in_duckdb_gives_a_table_with_its_labels_and_errors(folder, query):
    table = RELEASE[query]
    kinds = [kind.name for kind in table.kinds]
    found = duckdb.execute(
        f"""
        SELECT first.label, second.label, parts.estimate, parts.std_err
        FROM '{folder}/parts/*.parquet' AS parts
        JOIN '{folder}/tables.parquet' AS tables USING (table_id)
        JOIN '{folder}/labels.parquet' AS first
            ON first.attribute = tables.attributes[1] AND first.kind = tables.kinds[1]
            AND first.index = parts.cell // tables.shape[2]
        JOIN '{folder}/labels.parquet' AS second
            ON second.attribute = tables.attributes[2] AND second.kind = tables.kinds[2]
            AND second.index = parts.cell % tables.shape[2]
        WHERE tables.attributes = ? AND tables.kinds = ?
        ORDER BY parts.cell
        """,
        [list(table.names), kinds],
    ).fetchall()
    same(found, rows_of(table))
