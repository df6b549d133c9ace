"""One person's entries, whatever they are, change nothing of what is kept and counted of all others.

Each test puts odd entries into the records of one person and compares the cells of the others, in every column that a
rule reads and in every kind of source.  A person's own order is compared with a slow reading of the documented one.
"""

import datetime as dt
import math
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

import residualplanner as rp
from forms_of_records import FORMS, counts, dask_of

KEY = bytes(range(32))
PEOPLE, CELLS, RECORDS = 8, 4, 6
DOMAIN = rp.Domain({"who": PEOPLE, "what": rp.Attribute("what", CELLS, unknown="drop", missing="drop")})
ZONE = dt.timezone(dt.timedelta(hours=5))
ODD = {
    "text": "soon",
    "number in text": "7",
    "integer": 3,
    "truth": True,
    "half a surrogate pair": "\ud800",
    "float": 0.5,
    "large float": 2.0**60,
    "integer beyond 64 bits": 10**30,
    "decimal": Decimal("0.1"),
    "infinity": math.inf,
    "none": None,
    "nan": math.nan,
    "nat": pd.NaT,
    "na": pd.NA,
    "bytes": b"7",
    "tuple": (1, 2),
    "list": [1],
    "date": dt.date(2020, 1, 1),
    "moment": dt.datetime(2020, 1, 1, 12),
    "moment in a zone": dt.datetime(2020, 1, 1, tzinfo=ZONE),
    "timestamp in a zone": pd.Timestamp("2020-01-01", tz="Asia/Tokyo"),
    "moment of numpy": np.datetime64("2020-01-01T00:00:00.000000001"),
    "span": dt.timedelta(1),
    "narrow float": np.float16(0.1),
    "complex": 1j,
    "NUL": "\0",
}
ORDERS = {
    "integers": lambda rng: rng.randint(-3, 9),
    "integers above 2**53": lambda rng: 2**53 + rng.randint(0, 3),
    "unsigned": lambda rng: 2**63 + rng.randint(0, 3),
    "floats": lambda rng: rng.choice([0.5, -1.5, 1e300, 0.1]),
    "decimals": lambda rng: Decimal(rng.randint(-9, 9)) / 10,
    "dates": lambda rng: dt.date(2020, 1, rng.randint(1, 9)),
    "moments": lambda rng: dt.datetime(2020, 1, rng.randint(1, 9), rng.randint(0, 23)),
    "text": lambda rng: rng.choice(["a", "b", "10", "9", "é"]),
}


def records_of(order, seed=0):
    rng = random.Random(seed)
    rows = [(f"p{who}", who, rng.randrange(CELLS), ORDERS[order](rng)) for who in range(PEOPLE) for _ in range(RECORDS)]
    rng.shuffle(rows)
    frame = pd.DataFrame(rows, columns=["name", "who", "what", "day"])
    return frame.assign(day=pd.Series([row[3] for row in rows], dtype=object))


def with_odd(frame, column, entry):
    """The first person's records with this entry in a column; the others' as they were."""
    changed = frame.copy()
    entries = changed[column].astype(object)
    for row in changed.index[changed.who == 0]:
        entries.at[row] = entry
    changed[column] = entries
    return changed


def kept(data, order="day", domain=DOMAIN, keep=2):
    limited = rp.LimitedRecords(data, person="name", keep=keep, order=order, key=KEY)
    return np.array(counts(limited, domain, (0, 1), keep))


@pytest.mark.cases(7)
@pytest.mark.parametrize("form", [lambda frame: frame, dask_of], ids=["pandas", "dask"])
@pytest.mark.parametrize("order", ORDERS)
def test_no_entry_of_an_order_column_changes_which_records_of_others_are_kept(form, order):
    frame = records_of(order)
    expected = kept(frame)[1:]
    assert expected.sum() == 2 * (PEOPLE - 1)
    for name, entry in ODD.items() if form is not dask_of else list(ODD.items())[::4]:
        assert (kept(form(with_odd(frame, "day", entry)))[1:] == expected).all(), name


@pytest.mark.parametrize("entry", ["soon", 3, True, "\ud800", 0.5, Decimal("0.1"), dt.date(2020, 1, 1), b"x"])
def test_an_unused_category_of_another_type_changes_nothing(entry):
    for order in ORDERS:
        frame = records_of(order)
        for column, unused in (("day", [entry]), ("name", [7, b"x"])):
            categories = [*dict.fromkeys(frame[column])]
            codes = [categories.index(value) for value in frame[column]]
            index = pd.Index(categories + [value for value in unused if value not in categories], dtype=object)
            assert (kept(frame.assign(**{column: pd.Categorical.from_codes(codes, index)})) == kept(frame)).all()


@pytest.mark.slow
def test_blocks_of_records_are_read_as_one():
    """An entry in the last block, and one that makes a block of objects, change nothing of the first."""
    many = 66_000
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"name": [f"p{n % (PEOPLE - 1) + 1}" for n in range(many)]})
    frame["who"] = [int(name[1]) for name in frame.name]
    frame["what"], frame["day"] = rng.integers(0, CELLS, many), pd.Series(rng.permutation(many), dtype=object)
    expected = kept(frame)
    for is_first, entry in ((True, "soon"), (False, "\ud800"), (False, dt.date(2020, 1, 1))):
        one = pd.DataFrame({"name": "p0", "who": 0, "what": 0, "day": pd.Series([entry], dtype=object)})
        found = kept(pd.concat([one, frame] if is_first else [frame, one], ignore_index=True))
        assert (found[1:] == expected[1:]).all()
        assert found[0].sum() == 1


PERSONS = ["p1", 7, "7", 7.0, True, "", None, b"p1", (1,), "\ud800", np.int8(7), 2**70]


def test_two_entries_are_one_person_by_their_own_values_alone():
    """Whoever else is there: an entry that is no person is refused, or left out with its record by a rule."""
    frame = records_of("integers")
    frame = frame[frame.who > 0]
    same = {"p1": b"p1", 7: b"7", "7": b"7", np.int8(7): b"7", 2**70: str(2**70).encode(), "\ud800": b"\xed\xa0\x80"}
    for entry in PERSONS:
        text = same.get(entry) if not isinstance(entry, bool | float) else None
        own = pd.DataFrame({"name": pd.Series([entry] * 4, dtype=object), "who": 0, "what": [0, 1, 2, 3], "day": 1})
        both = pd.concat([own, frame], ignore_index=True)
        if text is None:
            with pytest.raises(rp.errors.DataError, match="does not say whose each record is"):
                kept(both)
            both.loc[both.who == 0, "what"] = CELLS
            assert (kept(both)[1:] == kept(frame)[1:]).all()
        elif text != b"p1":
            assert (kept(both)[1:] == kept(frame)[1:]).all()
            assert kept(both)[0].sum() == 2


def test_integers_and_text_of_one_person_come_to_one_worker():
    """Persons 0 .. 9, some of whose records have the integer and some its text, over several partitions."""
    numbers = np.arange(10).repeat(6)
    names = pd.Series([int(n) if k % 2 else str(n) for k, n in enumerate(numbers)], dtype=object)
    frame = pd.DataFrame({"name": names, "who": numbers % PEOPLE, "what": 1, "day": 1}).sample(frac=1, random_state=1)
    assert kept(dask_of(frame.reset_index(drop=True))).sum() == kept(frame).sum() == 20


ATTRIBUTES = {
    "codes": (rp.Attribute("a", 4, unknown="other", missing="none"), [0, 1, 2, 3]),
    "integers": (rp.Attribute("a", labels=[5, 2**53 + 1], unknown="other", missing="none"), [5, 2**53 + 1]),
    "text": (rp.Attribute("a", labels=["x", "é", "1"], unknown="other", missing="none"), ["x", "é", "1", 1]),
    "truth": (rp.Attribute("a", labels=[True, False], unknown="other", missing="none"), [True, False]),
    "bins": (rp.Attribute("a", bins=rp.Bins([0, 0.7, 1.1]), unknown="other", missing="none"), [0.7, Decimal("0.7"), 1]),
    "dates": (
        rp.Attribute("a", bins=rp.Bins.months("2020-01", "2020-03"), unknown="other", missing="none"),
        [dt.date(2020, 1, 5), dt.datetime(2020, 2, 1), "2020-03-31"],
    ),
    "amounts": (
        rp.Attribute("a", numeric=rp.Numeric(0, 9, bins=3, outside="clip"), unknown="other", missing="none"),
        [1, 2.5, Decimal(7), 99],
    ),
}


@pytest.mark.parametrize("kind", ATTRIBUTES)
def test_no_entry_of_an_attribute_changes_how_others_are_counted(kind):
    """In pandas and Dask; one more record, with an odd entry, adds one record to one cell."""
    attribute, entries = ATTRIBUTES[kind]
    domain = rp.Domain({"who": 2, "a": attribute})
    rng = random.Random(3)
    frame = pd.DataFrame({"who": 1, "a": pd.Series([rng.choice(entries) for _ in range(50)], dtype=object)})
    expected = counts(frame, domain, (0, 1))
    for number, (name, entry) in enumerate(ODD.items()):
        one = pd.DataFrame({"who": 0, "a": pd.Series([entry], dtype=object)})
        for at in range(2):
            both = pd.concat([one, frame] if at else [frame, one], ignore_index=True)
            found = counts(both, domain, (0, 1))
            assert (found[1], sum(found[0])) == (expected[1], attribute.denominator), name
        if number % 6 == 0:
            assert counts(dask_of(both), domain, (0, 1))[1] == expected[1], name


def test_no_entry_of_weights_changes_what_others_weigh():
    """An odd weight is refused, or a rule leaves its record out; then the others weigh what they did."""
    domain = rp.Domain({"what": rp.Attribute("what", 2, unknown="drop")}, weight=rp.Weight("w", maximum=60, unit="0.1"))
    weights = [7, "7.5", Decimal("0.1"), np.float32(0.3), 59.9]
    frame = pd.DataFrame({"what": [0, 1, 0, 1, 0], "w": pd.Series(weights, dtype=object)})
    for name, entry in ODD.items():
        one = pd.DataFrame({"what": 2, "w": pd.Series([entry], dtype=object)})
        assert counts(pd.concat([frame, one]), domain) == [70 + 1 + 599, 75 + 3], name


@pytest.mark.slow
@pytest.mark.parametrize("order", ["integers", "dates", "decimals", "text", "floats"])
@pytest.mark.cases(1)
def test_no_text_changes_which_records_of_others_are_kept(order, tmp_path):
    frame = records_of(order)
    frame["day"] = frame.day.map(str)
    expected = kept(frame)
    assert (expected == kept(records_of(order))).all()  # text stands where what it is written for stands
    for text in ("soon", "1e400", "2020-01-01", "-0", "é", "true"):
        table = pa.Table.from_pandas(with_odd(frame, "day", text).astype({"day": str}))
        for name, form in FORMS.items():
            assert (kept(form(table, tmp_path))[1:] == expected[1:]).all(), (text, name)


FOLDERS = [
    ([1, 2, 3, 4], [1.0, None, 3.5, 0.5]),
    ([dt.date(2020, 1, 5)] * 4, ["2020-01-04", "2020-01-05 01:00", "x", "2021-01-01"]),
    (np.array([2**53 + 1, 5, 6, 7]), np.array([2**63, 2**64 - 1, 1, 2], dtype=np.uint64)),
    (np.array([0.1, 0.7, 0.3, 0.2], dtype=np.float32), np.array([0.1, 0.7, 0.3, 0.25])),
]


@pytest.mark.parametrize("parts", FOLDERS)
def test_files_of_a_folder_may_have_order_columns_of_different_types(parts, tmp_path):
    """They were refused while records were counted, after the charge."""
    rows = []
    for number, days in enumerate(parts):
        frame = pd.DataFrame({"name": "ann", "who": 0, "what": range(CELLS), "day": days})
        frame.to_parquet(tmp_path / f"{number}.parquet")
        rows += [(place(day), what) for day, what in zip(list(days), range(CELLS), strict=True)]
    ordered = sorted(rows)
    for keep in range(1, 2 * CELLS):
        if ordered[keep - 1][0] < ordered[keep][0]:
            table = kept(tmp_path, keep=keep)
            assert table[0].tolist() == [sum(what == cell for _, what in ordered[:keep]) for cell in range(CELLS)]


def place(entry):
    """Where an entry stands, by the documented words: a kind, and a value that compares exactly."""
    is_nan = isinstance(entry, float | np.floating) and math.isnan(entry)
    if entry is None or entry is pd.NaT or entry is pd.NA or is_nan:
        return 9, Fraction(0)
    if isinstance(entry, np.floating) and entry.dtype.itemsize < 8:
        entry = str(entry)
    if isinstance(entry, str):
        return number_written(entry) or moment_written(entry) or (3, entry.encode(errors="surrogatepass"))
    if isinstance(entry, bool | int | np.integer):
        return 1, Fraction(int(entry))
    if isinstance(entry, float | Decimal):
        return 1, Fraction(float(entry))
    if isinstance(entry, dt.datetime):
        since = entry - dt.datetime(1970, 1, 1, tzinfo=dt.UTC if entry.tzinfo else None)
        return 2, Fraction(since // dt.timedelta(microseconds=1) * 1000 + getattr(entry, "nanosecond", 0))
    if isinstance(entry, dt.date):
        return 2, Fraction((entry - dt.date(1970, 1, 1)).days * 86_400 * 10**9)
    return 9, Fraction(0)


def number_written(text):
    try:
        found = Decimal(text) if text.strip("+-.0123456789eE") == "" and text[-1:] not in "eE" else None
    except ArithmeticError:
        return None
    if found is None:
        return None
    is_integer = text == str(int(found)) if abs(found) < 2**64 else False
    return 1, Fraction(int(text)) if is_integer else Fraction(float(text))


def moment_written(text):
    try:
        is_moment = len(text) >= 10 and text[4] == "-" and "+" not in text
        return place(dt.datetime.fromisoformat(text)) if is_moment else None
    except ValueError:
        return None


ENTRIES = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(-5, 5),
    st.booleans(),
    st.floats(allow_infinity=False),
    st.floats(width=16, allow_infinity=False).map(np.float16),
    st.integers(-50, 50).map(lambda n: Decimal(n) / 10),
    st.integers(-50, 50).map(lambda n: f"{n / 10:.1f}"),
    st.integers(2**53 - 3, 2**53 + 3).map(lambda n: random.Random(n).choice([n, str(n), float(n), np.uint64(n)])),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(ZONE), min_value=dt.datetime(2, 1, 1)),
    st.datetimes().map(lambda moment: moment.isoformat(" ", "microseconds")),
    st.dates().map(str),
    st.text(alphabet=["a", "é", "\ud800", "-", "1", "."], max_size=3),
    st.sampled_from([None, b"x", (1,), [1], pd.NA, pd.NaT, pd.Timestamp("2020-01-01 00:00:00.000000001")]),
)


@pytest.mark.slow
@given(entries=st.lists(ENTRIES, min_size=2, max_size=CELLS))
@settings(derandomize=True, deadline=None, max_examples=150)
def test_entries_of_all_types_have_one_order(entries):
    """The first records of a person whose records have these entries, one after another."""
    places = [place(entry) for entry in entries]
    frame = pd.DataFrame({"name": "ann", "who": 0, "what": range(len(entries))})
    frame["day"] = pd.Series([*entries], dtype=object)
    ordered = sorted(range(len(entries)), key=places.__getitem__)
    for keep in range(1, len(entries)):
        if places[ordered[keep - 1]] != places[ordered[keep]]:
            found = np.flatnonzero(kept(frame, keep=keep)[0])
            assert sorted(ordered[:keep]) == found.tolist()


def test_ordered_categories_are_refused(tmp_path):
    """Of some forms only those that occur are kept, and by its text "large" is before "small"."""
    frame = records_of("integers").assign(day=pd.Categorical(["b", "a"] * (PEOPLE * RECORDS // 2), ordered=True))
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "a.parquet")
    arrow = frame.astype({"day": pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string(), ordered=True))})
    enum = pl.from_pandas(frame.astype({"day": str})).with_columns(pl.col("day").cast(pl.Enum(["b", "a"])))
    for data in (frame, dask_of(frame), arrow, enum, enum.lazy(), pa.Table.from_pandas(frame), tmp_path):
        with pytest.raises(rp.errors.DataError, match=r"'day' must hold numbers, .*; of ordered categories give"):
            kept(data)
    words = frame.astype({"day": str})
    assert (kept(words.astype({"day": "category"})) == kept(words)).all()
