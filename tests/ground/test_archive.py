"""Files hold exactly what was written, appear whole or not at all, and nothing a stranger writes is believed."""

import hashlib
import io
import json
import os
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import residualplanner as rp
from inner_parts import archive as archive_part
from inner_parts import array_hashes, parse_json

HEADER = {"words": ["a", "é", ""], "number": 0.1, "whole": 2**70, "nothing": None}
ARRAYS = {
    "floats": np.array([[0.1, -np.inf], [np.nan, 5e-324]]),
    "part/codes": np.arange(6, dtype=np.int32).reshape(2, 3),
    "scalar": np.array(7),
    "empty": np.empty((0, 3)),
    "flags": np.array([True, False]),
}
KIND = {"kind": "plan"}


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "file.rp"
    archive_part.write_archive(target, **KIND, header=HEADER, arrays=ARRAYS)
    return target


def same_arrays(one, other):
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype
        and one[name].shape == other[name].shape
        and one[name].tobytes() == other[name].tobytes()
        for name in one
    )


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def forge(path, edit):
    """Rewrite the header of a file after ``edit`` changed it in place, with checksums that fit."""
    members = members_of(path)
    header = json.loads(members["header.json"])
    edit(header)
    members["header.json"] = json.dumps(header).encode()
    rewrite(path, members)


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, **options)
    return stream.getvalue()


def test_what_is_written_is_read_and_cannot_be_changed(path):
    header, arrays = archive_part.read_archive(path, **KIND)
    assert header == HEADER
    assert same_arrays(arrays, ARRAYS)
    assert not any(array.flags.writeable for array in arrays.values())


types = st.sampled_from(["?", "i1", "u1", "<i2", "<i4", "<i8", "<u2", "<u4", "<u8", "<f4", "<f8"])


@given(array=hnp.arrays(types, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0)))
def test_arrays_come_back_bit_for_bit(tmp_path_factory, array):
    target = tmp_path_factory.mktemp("any") / "file"
    archive_part.write_archive(target, **KIND, header={}, arrays={"a": array, "turned": array.T})
    _, arrays = archive_part.read_archive(target, **KIND)
    assert same_arrays(arrays, {"a": array, "turned": array.T})


def test_equal_content_gives_equal_bytes_in_whatever_order_it_is_written(path, tmp_path):
    header = dict(reversed(HEADER.items()))
    archive_part.write_archive(
        tmp_path / "again", **KIND, header=header, arrays={n: a.copy("F") for n, a in ARRAYS.items()}
    )
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_big_endian_arrays_are_stored_as_little_endian_ones(tmp_path):
    archive_part.write_archive(tmp_path / "a", **KIND, header={}, arrays={"a": np.array([1.5, 2.0], dtype=">f8")})
    assert archive_part.read_archive(tmp_path / "a", **KIND)[1]["a"].tolist() == [1.5, 2.0]


def test_the_content_hash_depends_on_everything_and_on_nothing_else():
    known = array_hashes.content_hash(HEADER, ARRAYS)
    assert len(known) == 64
    assert array_hashes.content_hash(dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items()))) == known
    others = [
        array_hashes.content_hash(HEADER | {"number": 0.2}, ARRAYS),
        array_hashes.content_hash(HEADER, {name: array for name, array in ARRAYS.items() if name != "scalar"}),
        array_hashes.content_hash(HEADER, ARRAYS | {"scalar": np.array(8)}),
        array_hashes.content_hash(HEADER, ARRAYS | {"scalar": np.array([7])}),
        array_hashes.content_hash(HEADER, ARRAYS | {"scalar": np.array(7, dtype=np.int32)}),
    ]
    assert len({known, *others}) == 6


@pytest.mark.slow
def test_every_flipped_bit_is_refused_or_changes_nothing_and_every_truncated_file_is_refused(path):
    known = {"n": 0.1}, {"part/codes": ARRAYS["part/codes"]}
    archive_part.write_archive(path, **KIND, header=known[0], arrays=known[1])
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        altered = bytearray(whole)
        altered[place] ^= 1 << (place % 8)
        path.write_bytes(altered)
        try:
            header, arrays = archive_part.read_archive(path, **KIND)
        except rp.errors.FileFormatError as error:
            refused += str(path) in str(error)
        else:
            assert header == known[0]
            assert same_arrays(arrays, known[1])
        path.write_bytes(whole[:place])
        with pytest.raises(rp.errors.FileFormatError, match=r"write it again|not a residualplanner file"):
            archive_part.read_archive(path, **KIND)
    assert refused > 0.8 * len(whole)


WRONGLY, OTHER = "describes array 'flags' wrongly", "has other fields, or names other arrays, than it should"
HEADERS = [
    (lambda h: h.update(format="residualplanner/measurement"), "holds a 'measurement', not a 'plan'; name the plan"),
    (lambda h: h.update(format="zip"), "not a residualplanner file"),
    (lambda h: h.update(format=3), "not a residualplanner file"),
    (
        lambda h: h.update(version=2, package_version="1.2.0"),
        r"written by a newer version \(format 2, this reads 1\); update the package residualplanner",
    ),
    (
        lambda h: h.update(version=6, package_version="0.1.0"),
        "format 6 was written by version 0.1.0, which was before 1.0, and is no longer read; make the plan again",
    ),
    (
        lambda h: h.update(version=0, package_version=None),
        "format 0 was written by a version before 1.0, and is no longer read; make the plan again with this version",
    ),
    *((lambda h, v=v: h.update(version=v), "is no longer read") for v in (0, True, "3", ["3"] * 99)),
    (lambda h: h.update(extra=1), OTHER),
    (lambda h: h.pop("content"), OTHER),
    (lambda h: h.update(content=[]), OTHER),
    (lambda h: h.update(arrays=[]), OTHER),
    (lambda h: h["arrays"].pop("flags"), OTHER),
    (lambda h: h["arrays"].update(more=h["arrays"]["flags"]), OTHER),
    (lambda h: h["arrays"].update(flags=None), WRONGLY),
    (lambda h: h["arrays"]["flags"].update(more=1), WRONGLY),
    *((lambda h, t=t: h["arrays"]["flags"].update(dtype=t), WRONGLY) for t in ("|O", ">f8", ["|b1"])),
    *((lambda h, s=s: h["arrays"]["flags"].update(shape=s), WRONGLY) for s in ("2", [-2], [2.0], [1] * 65)),
    (lambda h: h["arrays"]["flags"].update(dtype="|u1"), "not what its header says"),
    (lambda h: h["arrays"]["flags"].update(shape=[1, 2]), "not what its header says"),
    (lambda h: h["arrays"]["flags"].update(shape=[1000]), "not what its header says"),
    (lambda h: h["arrays"]["flags"].update(shape=[2**30]), "not what its header says"),
    (lambda h: h["arrays"]["flags"].update(shape=[2**20, 2**20]), "too large: array 'flags'"),
    (lambda h: h["arrays"]["flags"].update(sha256="0" * 64), "array 'flags' was altered"),
    (lambda h: h["arrays"]["flags"].update(sha256=0), WRONGLY),
]
#: Contents of a member of an archive, and what is said of it.
MEMBERS = [
    ("header.json", b"", "not valid JSON"),
    ("header.json", b"[1]", "not a residualplanner file"),
    ("header.json", b'{"a": 1, "a": 1}', "'a' occurs twice"),
    ("header.json", b'{"a": {"b": 1, "b": 1}}', "'b' occurs twice"),
    ("header.json", b'{"a": NaN}', "NaN is not a finite number"),
    ("header.json", b'{"a": -Infinity}', "-Infinity is not a finite number"),
    ("header.json", b'{"a": 1e400}', "1e400 is not a finite number"),
    ("header.json", b"[" * 40 + b"]" * 40, "nested more than 32 levels"),
    ("header.json", b"[" * 10**6, "nested more than 32 levels"),
    ("header.json", b"1" * 5000, "not valid JSON"),
    ("header.json", b'{"a": "\xff"}', "damaged"),
    ("header.json", b" " * (2**25 + 1), "no header.json of at most 33,554,432 bytes"),
    ("flags.npy", npy(np.array([True, False], dtype=object), allow_pickle=True), "not what its header says"),
    ("flags.npy", npy(np.array([1, 0], dtype=np.uint8)), "not what its header says"),
    ("flags.npy", npy(np.array([True, False]), version=(2, 0)), "not what its header says"),
    ("flags.npy", npy(np.array([True, False])) + b"more", "not what its header says"),
    ("flags.npy", b"\x93NUMPY\x01\x00", "not what its header says"),
    ("flags.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"(" * 118 + b"1234", "not what its header says"),
    ("flags.npy", b"\x93NUMPY\x01\x00\x76\x00" + b"-" * 118 + b"1234", "not what its header says"),
    ("flags.npy", b"\x93NUMPY\x01\x00\x28\x23" + b"-" * 9000 + b"1234", "not what its header says"),
    ("flags.npy", b"\x80\x04cos\nsystem\n" + b"x" * 200, "damaged"),
    ("flags.npy", b"", "not what its header says"),
    ("part/codes.npy", npy(np.asfortranarray(ARRAYS["part/codes"])), "not what its header says"),
]


def test_an_edited_header_is_refused(path):
    members = members_of(path)
    for edit, reason in HEADERS:
        rewrite(path, members)
        forge(path, edit)
        with pytest.raises(rp.errors.FileFormatError, match=reason):
            archive_part.read_archive(path, **KIND)


def test_a_member_that_is_no_plain_json_or_not_the_array_declared_is_refused(path):
    members = members_of(path)
    for name, content, reason in MEMBERS:
        rewrite(path, members | {name: content})
        with pytest.raises(rp.errors.FileFormatError, match=reason):
            archive_part.read_archive(path, **KIND)


def test_brackets_within_text_are_not_nesting():
    assert parse_json('["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "\\"[["]') == ["[" * 38, '"[[']


def test_compressed_members_are_refused_before_they_are_expanded(path):
    members = members_of(path)
    rewrite(path, members | {"bomb.npy": bytes(10**8)}, compression=zipfile.ZIP_DEFLATED)
    start = time.perf_counter()
    with pytest.raises(rp.errors.FileFormatError, match="its members are compressed"):
        archive_part.read_archive(path, **KIND)
    assert time.perf_counter() - start < 1


def test_a_member_that_claims_more_than_the_file_has_is_refused_before_memory_is_asked_for(path):
    claimed = 2**31
    forge(path, lambda header: header["arrays"]["flags"].update(shape=[claimed - 128]))
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"flags.npy") - 46
    assert content[entry : entry + 4] == b"PK\x01\x02"
    content[entry + 20 : entry + 28] = claimed.to_bytes(4, "little") * 2
    path.write_bytes(content)
    tracemalloc.start()
    with pytest.raises(rp.errors.FileFormatError, match="larger than the file"):
        archive_part.read_archive(path, **KIND)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10**7


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_is_no_archive_of_ours_is_refused(path, tmp_path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("flags.npy", b"")
    with pytest.raises(rp.errors.FileFormatError, match="there twice"):
        archive_part.read_archive(path, **KIND)
    rewrite(path, {"flags.npy": b""})
    with pytest.raises(rp.errors.FileFormatError, match=r"no header\.json"):
        archive_part.read_archive(path, **KIND)
    for content in (b"", b"{}", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), b"\x80\x04K\x01.", "näh".encode(), bytes(9)):
        path.write_bytes(content)
        with pytest.raises(rp.errors.FileFormatError, match=r"file.*not a residualplanner file"):
            archive_part.read_archive(path, **KIND)


def test_a_missing_file_is_the_error_everyone_knows(tmp_path):
    with pytest.raises(FileNotFoundError):
        archive_part.read_archive(tmp_path / "nothing", **KIND)


@pytest.mark.parametrize(
    ("header", "arrays", "reason"),
    [
        ({"a": float("nan")}, {}, "not JSON compliant"),
        ({}, {"a": np.array([None])}, "must hold numbers"),
        ({}, {"a": np.array(["text"])}, "must hold numbers"),
        ({}, {"a": np.array([1j])}, "must hold numbers"),
        ({"text": "x" * 2**25}, {}, "too large: a header of 33,554,"),
        ({"lists": [[]] * 2**21}, {}, "too large: a header of more than 2,097,152 lists and objects"),
        ({}, {"../a": np.zeros(1)}, "lower-case words"),
        ({}, {"header": np.zeros(1)}, "lower-case words"),
        ({}, {"A": np.zeros(1)}, "lower-case words"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_leaves_the_old_file(path, header, arrays, reason):
    before = path.read_bytes()
    with pytest.raises(ValueError, match=reason):
        archive_part.write_archive(path, **KIND, header=header, arrays=arrays)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_json_of_very_many_lists_or_values_is_refused_before_they_are_made():
    for text in ("[" + "[]," * 2**21 + "0]", "[" + "0," * 2**23 + "0]", '{"a":' * (2**21 + 1)):
        tracemalloc.start()
        with pytest.raises(
            rp.errors.FileFormatError, match="too large: JSON of more than 2,097,152 lists and objects, or 8,388,"
        ):
            parse_json(text)
        assert tracemalloc.get_traced_memory()[1] < 2**20
        tracemalloc.stop()


def test_a_name_that_stands_twice_is_found_among_many():
    names = ",".join(f'"{number}":0' for number in range(300_000))
    with pytest.raises(rp.errors.FileFormatError, match="the name '299999' occurs twice"):
        parse_json(f'{{{names},"299999":0}}')


@pytest.mark.parametrize("entries", [0, 1, 3, 4, 5, 8, 9])
def test_an_array_of_several_blocks_has_the_hash_of_the_hashes_of_its_blocks(monkeypatch, entries):
    monkeypatch.setattr(array_hashes, "BLOCK", 32)
    array = np.arange(entries, dtype=np.int64)
    content = array.tobytes()
    blocks = [content[start : start + 32] for start in range(0, len(content), 32)]
    stated = content if len(blocks) <= 1 else b"".join(hashlib.sha256(block).digest() for block in blocks)
    assert array_hashes.array_hash(array) == hashlib.sha256(stated).hexdigest()
