"""What is given out is a function of the plan, the counts and the noise, and of nothing else.

It tells neither how many records there are, nor in what form, order or file they came, nor when and where it was made.
"""

import itertools
import json
import os
import platform
import random
import re
import socket
import time
import traceback
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from command_line import outcome
from random_plans import plan_by_set
from residualplanner import Attribute, Domain, Prefix, marginals, measure, reconstruct, select, zcdp
from watching import Seen, content, run, watched

DOMAIN = Domain(
    {
        "sex": ["F", "M"],
        "age": Attribute("age", size=9, unknown="drop"),
        "one": 1,
        "region": Attribute("region", labels=["N", "S", "?"], unknown="?", missing="?"),
    }
)
PLANS = {
    "two-way": select(marginals(DOMAIN, up_to=2), budget=zcdp("0.5")),
    "all": select(marginals(DOMAIN, order=4), budget=zcdp("0.5"), loss="max"),
    "by set": plan_by_set(marginals(DOMAIN, up_to=2, kinds={"age": Prefix(), "region": Prefix()}), 3),
}
#: Words that would tell when, where, or from how many records something was made.
TELLING = re.compile(r"time|date|host|user|path|record_?count|n_?records|rows|duration|count_of|mtime", re.IGNORECASE)


def frame(size: int, seed: int = 3) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": draw.choice(["F", "M"], size).astype(object),
            "age": draw.integers(0, 10, size),
            "one": np.zeros(size, dtype=int),
            "region": draw.choice(["N", "S", "far"], size).astype(object),
        }
    )


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_no_one_and_ten_thousand_records_differ_in_the_noisy_numbers_alone(plan, tmp_path):
    run(plan, frame(5), tmp_path / "warm", release=True, trace=False)
    shown = [run(plan, frame(size), tmp_path / str(size), release=True, trace=False).shown for size in (0, 1, 10_000)]
    assert shown[0] == shown[1] == shown[2]
    assert {"measurement", "csv", "parquet", "csv/manifest.json", "csv/tables"} <= shown[0]["files"].keys()
    assert len(shown[0]["random bytes"]) > 0


def words(value: object) -> list[str]:
    """Every key, all the way down."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*(value if isinstance(value, dict) else ()), *itertools.chain.from_iterable(map(words, inner))]


def test_no_field_of_a_file_is_for_a_time_a_place_or_a_number_of_records(tmp_path):
    run(PLANS["two-way"], frame(100), tmp_path / "out", release=True, trace=False)
    manifest = json.loads((tmp_path / "out" / "csv" / "manifest.json").read_text())
    fields = words({name: part for name, part in manifest.items() if name not in ("files", "plan")})
    header = content(tmp_path / "out" / "measurement")[2]["content"]
    fields += words({name: part for name, part in header.items() if name != "plan"})
    assert len(fields) > 10
    assert [field for field in fields if TELLING.search(field)] == []


def everything(plan, data, folder: Path, seed: bytes = b"replay") -> dict[str, bytes]:
    """Every byte that a release writes, with the same random bytes each time."""
    folder.mkdir()
    with watched(Seen(), trace=False, seed=seed):
        measurement = measure(plan, data)
        measurement.save(folder / "measurement")
        reconstruct(measurement).save(folder / "csv", format="csv")
        reconstruct(measurement).save(folder / "parquet")
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def test_the_order_the_form_and_the_file_of_the_records_play_no_part(tmp_path):
    given, plan = frame(300), PLANS["two-way"]
    expected = everything(plan, given, tmp_path / "expected")
    shuffled = given.sample(frac=1, random_state=1)[["region", "one", "age", "sex"]].assign(other=1)
    given.to_csv(tmp_path / "a.csv", index=False)
    shuffled.to_csv(tmp_path / "a long name.csv.gz", index=False)
    os.utime(tmp_path / "a.csv", (1, 1))
    pq.write_table(pa.table(given), tmp_path / "a.parquet", row_group_size=7)
    arrow = pa.table(shuffled)
    forms = [
        shuffled,
        shuffled.astype("category"),
        pl.DataFrame(given),
        pa.concat_tables([arrow.slice(0, 11), arrow.slice(11)]),
        arrow.to_reader(max_chunksize=13),
        tmp_path / "a.csv",
        str(tmp_path / "a long name.csv.gz"),
        tmp_path / "a.parquet",
    ]
    for number, data in enumerate(forms):
        assert everything(plan, data, tmp_path / str(number)) == expected, type(data)


def test_the_clock_the_folder_and_the_environment_play_no_part(tmp_path, monkeypatch):
    plan, data = PLANS["two-way"], frame(50)
    expected = everything(plan, data, tmp_path / "now")
    now = time.time()
    for module, name, other in (
        (time, "time", lambda: now + 10**8),
        (time, "time_ns", lambda: int(now * 10**9) + 10**17),
        (socket, "gethostname", lambda: "elsewhere"),
        (platform, "node", lambda: "elsewhere"),
    ):
        monkeypatch.setattr(module, name, other)
    monkeypatch.setenv("USER", "somebody-else")
    monkeypatch.setenv("HOSTNAME", "elsewhere")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    (tmp_path / "deeper").mkdir()
    monkeypatch.chdir(tmp_path / "deeper")
    np.random.seed(5)  # noqa: NPY002 - it must play no part
    random.seed(5)
    assert everything(plan, data, tmp_path / "deeper" / "later") == expected


def test_other_records_or_other_random_bytes_do_change_the_files(tmp_path):
    plan = PLANS["two-way"]
    expected = everything(plan, frame(50), tmp_path / "one")
    assert everything(plan, frame(50, seed=4), tmp_path / "two") != expected
    assert everything(plan, frame(50), tmp_path / "three", seed=b"other") != expected


SPEC = """\
budget = { zcdp = "0.5" }

[domain]
sex = ["F", "M"]
age = { size = 9, unknown = "drop" }
one = 1
region = { labels = ["N", "S", "?"], unknown = "?", missing = "?" }

[[workload]]
up_to = 2
"""


def test_the_command_line_says_the_same_whatever_the_records(tmp_path, monkeypatch):
    said, written = [], []
    for size in (0, 1, 1000):
        folder = tmp_path / str(size)
        folder.mkdir()
        monkeypatch.chdir(folder)
        Path("spec.toml").write_text(SPEC)
        frame(size).to_csv("records.csv", index=False)
        result = outcome("release", "spec.toml", "records.csv", "-o", "out")
        assert result.exit_code == 0, result.output
        said.append(re.sub(r"\d+\.\d+ s\b|\d+ ms\b", "TIME", result.output))
        files = sorted(Path("out").absolute().rglob("*"))
        written.append({str(file.relative_to(folder)): content(file) for file in files})
    assert said[0] == said[1] == said[2] != ""
    assert written[0] == written[1] == written[2]


BAD = [("sex", "X"), ("sex", None), ("sex", ""), ("age", None)]


@pytest.mark.parametrize(("column", "value"), BAD)
def test_an_error_about_records_is_the_same_whichever_record_is_bad_and_however_many(column, value):
    """Attributes without a rule for bad values say so, and no more: for a curator, outside the privacy statement."""
    messages, seen_calls = set(), set()
    for size, rows in ((1, [0]), (30, [0]), (30, [29]), (30, [3, 4, 5]), (500, [77])):
        data = frame(size).astype(object)
        for row in rows:
            data.loc[row, column] = value
        seen = Seen()
        with watched(seen, trace=False), pytest.raises(rp.errors.DataError, match=column) as caught:
            measure(PLANS["two-way"], data)
        error = caught.value
        messages.add((type(error), str(error), error.args, error.column))
        frames = [(entry.name, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
        seen_calls.add((tuple(frames), str(seen.shown)))
    assert len(messages) == 1
    assert len(seen_calls) == 1


def sent(connection) -> None:
    connection.send(measure(PLANS["two-way"], frame(4)).residuals.numbers.tolist())
    connection.close()


def test_calls_and_copies_of_one_process_never_share_noise():
    found = [tuple(measure(PLANS["two-way"], frame(4)).residuals.numbers.tolist()) for _ in range(20)]
    context = get_context("fork")
    for _ in range(8):
        here, there = context.Pipe(duplex=False)
        child = context.Process(target=sent, args=(there,))
        child.start()
        found.append(tuple(here.recv()))
        child.join()
    assert len(set(found)) == 28
