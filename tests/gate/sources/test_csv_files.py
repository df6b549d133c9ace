"""Every line of a CSV file after the first is one record, whatever is in it."""

import csv
import gzip
import io
import re
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import counts, opened
from inner_parts import csv_files
from residualplanner import Attribute, CsvFile, Domain

reproducible = settings(derandomize=True, deadline=None)
LABELS = ["x", "y", '"', "a,b", " x", "?", "-"]
FIELD = re.compile(rb'(?:([^",\r]*)|"((?:[^"]|"")*)"),')
REFUSED = "has .*; repair the file, or declare unknown= for every attribute"


def attribute(name="v", **rules):
    return Attribute(name, labels=LABELS, **({"unknown": "?", "missing": "-"} | rules))


def written(folder, text, name="records.csv"):
    (folder / name).write_bytes(text)
    return folder / name


@contextmanager
def small(piece, longest=csv_files.LONGEST):
    """Files are read in pieces of so many bytes, and no line is longer than so many."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PIECE": piece, "LONGEST": longest}.items():
            patch.setattr(csv_files, name, value)
        yield


def fields_of_line(line):
    """The fields of a line, in which quotes stand around whole fields only, or None; slowly."""
    line = line.removesuffix(b"\r") + b","
    found, position = [], 0
    while position < len(line):
        match = FIELD.match(line, position)
        if match is None:
            return None
        plain, quoted = match.groups()
        found.append(plain if quoted is None else quoted.replace(b'""', b'"'))
        position = match.end()
    return found


def label_of(field):
    try:
        text = field.decode()
    except UnicodeDecodeError:
        return "?"
    return "-" if text == "" else text if text in LABELS else "?"


def expected_counts(text, columns, place):
    lines = text.removesuffix(b"\n").split(b"\n") if text else []
    found = [fields_of_line(line) for line in lines]
    labels = [label_of(each[place]) if each is not None and len(each) == columns else "?" for each in found]
    return [labels.count(label) for label in LABELS]


pieces = st.sampled_from(
    [b'"', b'"', b",", b",", b"\n", b"\n", b"\r\n", b"\r", b"x", b"y", b" x", b"\xff", b"\0", b'""', b"\xef\xbb\xbf"]
)
texts = st.lists(pieces, max_size=25).map(b"".join)


@pytest.mark.parametrize("size", [1, 7, 2**22])
@given(text=texts, columns=st.integers(1, 3), data=st.data())
@example(text=b"a\n\na\n", columns=1, data=None)
@example(text=b"\xef\xbb\xbfx\n\xef\xbb\xbfx\n\xef\xbb\xbf\n", columns=1, data=None)  # as files put together have
@settings(derandomize=True, deadline=None, max_examples=150)
def test_each_line_is_read_like_one_record_by_itself(size, text, columns, data, tmp_path_factory):
    place = data.draw(st.integers(0, columns - 1)) if data else 0
    header = ",".join("v" if i == place else f"other{i}" for i in range(columns)).encode()
    file = written(tmp_path_factory.mktemp("csv"), header + b"\n" + text)
    with small(size):
        assert counts(file, Domain({"v": attribute()})) == expected_counts(text, columns, place)


def test_a_stray_quote_takes_no_other_record(tmp_path):
    domain = Domain({"sex": Attribute("sex", labels=["F", "M", "?"], unknown="?", missing="?")})
    lines = [b'F,"y', b'F,y"', b'F,"y"z', b'"F,y', b'F,5" tall', b'F,"', b"F", b"F,y,z", b"", b"F,y\rM,y", b",,"]
    for spoiled in lines:
        file = written(tmp_path, b"sex,note\n" + spoiled + b"\n" + b"M,x\n" * 1000)
        assert counts(file, domain) == [0, 1000, 1]
        strict = Domain({"sex": Attribute("sex", labels=["F", "M", "?"], missing="?")})
        with pytest.raises(rp.errors.DataError, match=REFUSED) as caught:
            counts(file, strict)
        assert not re.search("1000|line [0-9]|tall|1,000", str(caught.value))


def test_lines_that_are_no_records_are_dropped_where_the_rule_is_drop(tmp_path):
    domain = Domain({"v": attribute(), "w": attribute("w", unknown="drop")})
    file = written(tmp_path, b'v,w\nx,x\nx\nx,x,x\n"x,x\n\ny,y\n')
    assert counts(file, domain)[:2] == [1, 1]
    assert counts(file, domain, ()) == 2


@small(64, longest=1000)
def test_lines_of_any_length_are_records_and_memory_is_bounded(tmp_path):
    domain = Domain({"v": attribute()})
    for length in (10, 995, 996, 997, 998, 999, 1000, 1001, 5000):
        for record in (b"x," + b"z" * length, b'x,"' + b"z" * length + b'"', b"x" * length, b'","' * length):
            longest = max(map(len, csv_files.pieces_of_records(io.BytesIO(record + b"\n"), newlines_in_values=False)))
            assert longest <= 1000 + 64
            file = written(tmp_path, b"v,w\ny,\n" + record + b"\ny,\n")
            is_read = len(record) + 1 <= 1000 and record.count(b",") == 1
            assert counts(file, domain) == [int(is_read), 2, 0, 0, 0, int(not is_read), 0]


@given(
    records=st.lists(st.lists(st.text('x",\n\ry ', max_size=4), min_size=2, max_size=2), max_size=8),
    form=st.sampled_from([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, "\n"), (csv.QUOTE_ALL, "\r\n")]),
    size=st.sampled_from([1, 5, 2**22]),
)
@reproducible
def test_newlines_in_values_are_read_on_request(records, form, size, tmp_path_factory):
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=form[0], lineterminator=form[1])
    writer.writerows([["v", "w"], *records])
    file = written(tmp_path_factory.mktemp("csv"), text.getvalue().encode())
    values = [value for value, _ in records]
    labels = [*sorted({"x", *values} - {""}), "-"]
    domain = Domain({"v": Attribute("v", labels=labels, missing="-")})
    with small(size):
        found = counts(CsvFile(file, newlines_in_values=True), domain)
    assert found == [values.count(label) for label in [*labels[:-1], ""]]


@pytest.mark.parametrize("spoiled", [b'F,"y\n', b'F,5" tall\n', b'F,"y"z\n', b"F,\rx\n"])
def test_where_newlines_in_values_are_read_quotes_out_of_place_are_refused_whatever_the_rules(spoiled, tmp_path):
    domain = Domain({"v": attribute()})
    file = written(tmp_path, b"v,w\n" + spoiled + b"x,y\n" * 3)
    with pytest.raises(rp.errors.DataError, match="quote"):
        counts(CsvFile(file, newlines_in_values=True), domain)
    fine = written(tmp_path, b'v,w\nx\nx,"\n"\n')
    assert counts(CsvFile(fine, newlines_in_values=True), domain) == [1, 0, 0, 0, 0, 1, 0]


@small(16, longest=64)
def test_a_record_without_an_end_is_refused_in_bounded_memory(tmp_path):
    file = written(tmp_path, b'v,w\nx,"' + b"y\n" * 1000)
    with pytest.raises(rp.errors.DataError, match="a quote that does not close, or a record of more than 16 MiB"):
        counts(CsvFile(file, newlines_in_values=True), Domain({"v": attribute()}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty; its first line must hold the names"),
        (b"\n", r"column 'v' is missing"),
        (b"v;w\nx;y\n", "separated by semicolons, not by commas; write the file with commas"),
        (b'"v";"w"\n"x";"y"\n', "separated by semicolons, not by commas"),
        (b"v\tw\nx\ty\n", "separated by tabs"),
        (b"v|w\n", "separated by vertical bars"),
        (b"v,v\nx,y\n", r"column 'v' occurs more than once"),
        (b"w,w\nx,y\n", r"column 'v' is missing"),
        (b" v,w\n", r"column 'v' is missing"),
        (b'v,"w\nx,y\n', "a quote does not close or stands inside a name"),
        (b"v,w\rx,y\rx,y\r", "lines end with carriage returns alone"),
        (b"v,\xff\nx,y\n", "is not a line of column names in UTF-8"),
        ("v,w\nx,y\n".encode("utf-16"), "is not a line of column names"),
        (b"v," + b"w" * 200_000 + b"\n", "is not a line of column names"),
    ],
    ids=range(14),
)
def test_a_header_that_cannot_be_used_is_refused(text, message, tmp_path):
    file = written(tmp_path, text)
    with pytest.raises(rp.errors.DataError, match=message) as caught:
        opened(file, Domain({"v": attribute()}))
    assert "www" not in str(caught.value)


@pytest.mark.parametrize("unknown", ["error", "drop"])
def test_a_file_that_cannot_be_unpacked_to_its_end_is_said_to_be_damaged(unknown, tmp_path):
    domain = Domain({"v": Attribute("v", labels=["x", "y"], unknown=unknown, missing="drop")})
    numbers = np.random.default_rng(1).integers(10**9, size=500)
    zipped = gzip.compress(b"v,w\n" + b"".join(b"x,%d\n" % number for number in numbers))
    inside = bytearray(zipped)
    inside[500:520] = b"\xff" * 20
    for content in (b"v,w\nx,y\n", zipped[:15], zipped[:1000], zipped[:-6], bytes(inside)):
        with pytest.raises(rp.errors.DataError, match=r"'r\.csv\.gz' is not gzipped, or damaged or cut off; copy or"):
            counts(written(tmp_path, content, "r.csv.gz"), domain)


def test_where_no_line_is_a_record_the_empty_text_may_be_a_label_all_the_same(tmp_path):
    domain = Domain({"v": Attribute("v", labels=["x", ""], unknown="x")})
    assert counts(written(tmp_path, b"v,w\ny\n"), domain) == [1, 0]
    assert counts(written(tmp_path, b"v,w\ny\n,z\n"), domain) == [1, 1]
