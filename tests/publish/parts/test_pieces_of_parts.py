"""Every byte of a part is in a piece whose hash is compared, and one table needs two pieces only."""

import hashlib
import os
from itertools import accumulate, pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from made_releases import any_release, forge_rows, rows_of_list

DOMAIN = rp.Domain({"a": 3, "b": ["x", "y"], "c": 4, "d": 5})
WORKLOAD = rp.marginals(DOMAIN, up_to=3) + rp.Workload(DOMAIN, [{"d": rp.Prefix(), "b": rp.Identity()}])
RELEASE = any_release(rp.select(WORKLOAD, budget=rp.pcost(1)))


@pytest.fixture
def folder(tmp_path):
    RELEASE.save(tmp_path / "out", "parts")
    return tmp_path / "out"


def pieces_of(folder, part):
    """From the two lists: where each piece starts and stops, its hash, and its first table, none for a footer."""
    name = f"parts/part-{part:06}.parquet"
    rows = [row for row in rows_of_list(folder / "row-groups.csv") if row["file"] == name]
    (about,) = (row for row in rows_of_list(folder / "parts.csv") if row["file"] == name)
    sizes = [int(row["bytes"]) for row in rows] + [int(about["footer_bytes"])]
    hashes = [row["sha256"] for row in rows] + [about["footer_sha256"]]
    firsts = [int(row["first_table"]) for row in rows] + [None]
    return about, list(zip(pairwise([0, *accumulate(sizes)]), hashes, firsts, strict=True))


def groups_of(path):
    return pq.read_metadata(path).num_row_groups


def test_the_lists_say_which_bytes_are_in_which_piece_and_what_their_hashes_are(folder):
    files = sorted((folder / "parts").iterdir())
    assert len(files) > 2
    counts = [pq.read_metadata(path).row_group(number).num_rows for path in files for number in range(groups_of(path))]
    assert [int(row["cells"]) for row in rows_of_list(folder / "row-groups.csv")] == counts
    assert not pq.read_metadata(folder / "tables.parquet").row_group(0).column(0).is_stats_set
    for part, path in enumerate(files):
        content = path.read_bytes()
        about, pieces = pieces_of(folder, part)
        assert about["sha256"] == hashlib.sha256(content).hexdigest()
        assert int(about["bytes"]) == len(content) == pieces[-1][0][1]
        assert [hashlib.sha256(content[start:stop]).hexdigest() for (start, stop), _, _ in pieces] == [
            digest for _, digest, _ in pieces
        ]
        metadata = pq.read_metadata(path)
        assert len(pieces) == metadata.num_row_groups + 1 > 1
        for group, ((start, stop), _, first) in enumerate(pieces[:-1]):
            column = metadata.row_group(group).column(metadata.num_columns - 1)
            assert start < column.data_page_offset < stop
            assert metadata.row_group(group).column(0).statistics.min == first


def test_no_byte_of_a_part_can_be_altered_without_a_refusal_of_the_tables_that_it_is_about(folder):
    saved, path = rp.load_tables(folder), folder / "parts" / "part-000001.parquet"
    content, (_, pieces) = path.read_bytes(), pieces_of(folder, 1)
    tables = range(*saved.layout.parts[1:3])
    assert len(pieces) > 3
    for place in {*range(0, len(content), 211), *(start for (start, _), _, _ in pieces), len(content) - 1}:
        path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        ((_, _, first),) = (piece for piece in pieces if piece[0][0] <= place < piece[0][1])
        for number in tables:
            group = max(start for _, _, start in pieces[:-1] if start <= number)
            if first is None or group == first:
                with pytest.raises(rp.errors.FileFormatError, match=r"part-000001\.parquet was altered"):
                    saved.numbers.cells_of(number)
            else:
                saved.numbers.cells_of(number)
    path.write_bytes(content)
    for number in tables:
        assert np.array_equal(saved.numbers.cells_of(number), RELEASE[list(RELEASE)[number]].estimate.ravel())


def put_a_folder(path):
    path.unlink()
    path.mkdir()


DAMAGES = {
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:900]), "was altered"),
    "longer": (lambda path: path.write_bytes(path.read_bytes() + b"x"), "was altered"),
    "another": (lambda path: path.write_bytes(path.with_name("part-000001.parquet").read_bytes()), "was altered"),
    "a folder": (put_a_folder, "is missing"),
    "absent": (lambda path: path.unlink(), "is missing"),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES)
def test_a_part_that_is_not_the_saved_one_is_refused(folder, damage, words):
    path = folder / "parts" / "part-000000.parquet"
    damage(path)
    with pytest.raises(rp.errors.FileFormatError, match=f"{path} {words}.*save the release again"):
        rp.load_tables(folder)[()]


CHANGES = {
    "a row group less": lambda rows: rows.pop(),
    "a row group twice": lambda rows: rows.append(rows[-1]),
    "other tables": lambda rows: rows[1].update(first_table="1"),
    "of another part": lambda rows: rows[1].update(file="parts/part-000002.parquet"),
    "more bytes": lambda rows: rows[1].update(bytes=str(int(rows[1]["bytes"]) + 1)),
    "bytes of another": lambda rows: (rows[0].update(bytes="-4"), rows[1].update(bytes="9")),
    "no bytes": lambda rows: rows[1].update(bytes=""),
    "words": lambda rows: rows[1].update(bytes="many"),
    "too many bytes": lambda rows: rows[1].update(bytes="9" * 19),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_list_of_other_row_groups_is_refused(folder, change):
    forge_rows(folder / "row-groups.csv", change)
    with pytest.raises(rp.errors.FileFormatError, match="out"):
        rp.load_tables(folder)


@pytest.mark.parametrize(
    "change",
    [lambda rows: rows[0].update(footer_bytes="12"), lambda rows: rows.pop(), lambda rows: rows.insert(0, rows.pop(1))],
)
def test_a_list_of_other_parts_is_refused(folder, change):
    forge_rows(folder / "parts.csv", change)
    with pytest.raises(rp.errors.FileFormatError, match="names other parts"):
        rp.load_tables(folder)


@pytest.mark.parametrize("name", ["parts.csv", "row-groups.csv"])
def test_a_list_that_was_altered_or_is_absent_is_refused(folder, name):
    (folder / name).write_text((folder / name).read_text().replace("0", "1", 1))
    with pytest.raises(rp.errors.FileFormatError, match=f"{name} was altered"):
        rp.load_tables(folder)
    os.unlink(folder / name)
    with pytest.raises(rp.errors.FileFormatError, match=f"{name} is missing"):
        rp.load_tables(folder)
