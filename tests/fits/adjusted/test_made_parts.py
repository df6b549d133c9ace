"""Non-negative and rounded releases in parts: the same numbers, under their own names, whoever writes them."""

import json
import os
import pickle

import numpy as np
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import residualplanner as rp
from made_releases import exact_release
from residualplanner.release import layout as layouts

DOMAIN = rp.Domain({"a": 3, "b": ["x", "y"], "c": 4, "one": 1})
WORKLOAD = rp.Workload(DOMAIN, [("b", "a"), ("a", "c"), ("b", "c", "one"), {"a": rp.Prefix()}, ()])
PLAN = rp.select(WORKLOAD, budget=rp.zcdp("0.1"))
MADE = {
    "non-negative": lambda release: rp.nonnegative(release, known={(): 30}),
    "rounded": rp.rounded,
    "rounded to 5": lambda release: rp.rounded(release, base=5),
    "non-negative rounded": lambda release: rp.rounded(rp.nonnegative(release)),
}


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    """Parts of some tables, so that there are several."""
    monkeypatch.setattr(layouts, "PART_CELLS", 16)
    monkeypatch.setattr(layouts, "ROW_GROUP_CELLS", 8)


def release():
    chance = np.random.default_rng(3)
    return exact_release(PLAN, chance.poisson(1.0, DOMAIN.sizes) + chance.normal(0, 3, DOMAIN.sizes))


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", MADE)
def test_parts_are_read_back_as_what_they_are(tmp_path, name):
    made = MADE[name](release())
    made.save(tmp_path / "out", "parts")
    saved = rp.load_tables(tmp_path / "out")
    assert len(saved.numbers.files) > 1
    assert saved.product == made.product
    assert list(saved) == list(made)
    for query in made:
        assert saved[query].estimate.tolist() == made[query].estimate.tolist()
        assert saved[query].std_err.tolist() == release()[query].std_err.tolist()
        assert saved[query].product == made.product
    with pytest.raises(rp.errors.WorkloadError, match="is known of unbiased estimates only"):
        saved["a", "c"].moe()


@pytest.mark.parametrize("name", MADE)
def test_sql_sees_columns_that_say_what_the_numbers_are(tmp_path, name):
    made = MADE[name](release())
    made.save(tmp_path / "out", "parts")
    ending = made.product.ending
    rows = ds.dataset(tmp_path / "out" / "parts").to_table().to_pandas()
    assert list(rows.columns) == ["table_id", "cell", f"estimate{ending}", "std_err_unbiased"]
    assert (rows[f"estimate{ending}"].dtype == np.int64) == ("rounded" in name)
    number = list(made).index(("b", "a"))
    mine = rows[rows["table_id"] == number].sort_values("cell")
    assert mine[f"estimate{ending}"].tolist() == made["b", "a"].estimate.ravel().tolist()
    assert mine["std_err_unbiased"].to_numpy() == pytest.approx(release()["b", "a"].std_err.ravel())
    about = json.loads((tmp_path / "out" / "manifest.json").read_text())["tables"]
    assert about["product"]["mark"] == made.product.mark
    assert json.loads((tmp_path / "out" / "metadata.json").read_text())["tables"]["product"] == about["product"]


@pytest.mark.parametrize("name", MADE)
def test_unbiased_estimates_in_parts_are_those_of_the_release_bit_for_bit(tmp_path, name):
    made = MADE[name](release())
    made.save(tmp_path / "alone", "parts")
    made.save(tmp_path / "out", "parts", with_unbiased=True)
    saved, column = rp.load_tables(tmp_path / "out"), f"estimate{made.product.ending}"
    for query in made:
        assert saved[query].estimate.tolist() == made[query].estimate.tolist()
        assert saved.unbiased[query].estimate.tolist() == release()[query].estimate.tolist()
        assert saved.unbiased[query].moe().tolist() == release()[query].moe().tolist()
    alone, rows = (ds.dataset(tmp_path / each / "parts").to_table() for each in ("alone", "out"))
    assert rows.column_names == ["table_id", "cell", column, "estimate_unbiased", "std_err_unbiased"]
    assert rows.drop_columns("estimate_unbiased") == alone.replace_schema_metadata(rows.schema.metadata)
    columns = json.loads((tmp_path / "out/metadata.json").read_text())["tables"]["columns"]
    assert [each["name"] for each in columns[:3]] == rows.column_names[2:]
    without = rp.load_tables(tmp_path / "alone").unbiased  # from the measurement in the folder
    assert without["a", "c"].estimate.tolist() == release()["a", "c"].estimate.tolist()
    with pytest.raises(rp.errors.WorkloadError, match="has no table for"):
        saved.unbiased["a", "one"]


def test_facts_of_a_release_in_parts_stand_in_its_metadata(tmp_path):
    MADE["non-negative"](release()).save(tmp_path / "out", "parts")
    product = json.loads((tmp_path / "out/metadata.json").read_text())["tables"]["product"]
    assert product["facts"] == ["the number of records"]
    assert rp.load_tables(tmp_path / "out").product.facts == ("the number of records",)


def test_parts_cannot_be_passed_off_as_unbiased(tmp_path):
    MADE["rounded"](release()).save(tmp_path / "out", "parts")
    for name in ("manifest", "metadata"):
        path = tmp_path / f"out/{name}.json"
        stated = json.loads(path.read_text())
        del stated["tables"]["product"]
        path.write_text(json.dumps(stated))
    with pytest.raises(rp.errors.FileFormatError):
        rp.load_tables(tmp_path / "out")


@pytest.mark.slow
def test_processes_write_the_same_bytes_of_one_measurement_or_several(tmp_path):
    plan = rp.select(WORKLOAD, budget=rp.zcdp("0.1"))
    records = np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(30, 4))
    made = MADE["non-negative rounded"](rp.reconstruct([rp.measure(plan, records), rp.measure(plan, records)]))
    made.save(tmp_path / "one", "parts", with_unbiased=True)
    made.save(tmp_path / "two", "parts", with_unbiased=True, workers=2)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_numbers_for_workers_are_those_of_the_release(tmp_path):
    """What a worker does, without one: everything but the measurement is read from the folder."""
    made = MADE["non-negative rounded"](release())
    numbers = made.numbers.sent(tmp_path)
    assert hash(numbers) == hash(made.numbers.sent(tmp_path))
    ((batch,),) = numbers.of(made.measurement).chunks(1, 2)
    assert batch.estimates[0].tolist() == made[list(made)[1]].estimate.tolist()
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1] + b"\x3f")
    with pytest.raises(rp.errors.FileFormatError, match="was altered while parts were written"):
        numbers.of(made.measurement)


class Called:
    """What runs a function of its choice where it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


def test_a_worker_runs_nothing_that_stands_in_a_file_of_numbers(tmp_path):
    made = MADE["non-negative"](release())
    numbers = made.numbers.sent(tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_bytes(pickle.dumps(Called(tmp_path / "ran")))
    with pytest.raises(ValueError, match="allow_pickle"):
        numbers.of(made.measurement)
    assert not (tmp_path / "ran").exists()


def test_an_interrupted_run_goes_on_and_is_not_mixed_with_other_numbers(tmp_path):
    made, steps = MADE["non-negative"](release()), []

    def stop(done, total):
        steps.append(done)
        if len(steps) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made.save(tmp_path / "out", "parts", progress=stop)
    assert not (tmp_path / "out").exists()
    MADE["rounded"](release()).save(tmp_path / "out", "parts")
    assert rp.load_tables(tmp_path / "out").product.name == "rounded"
    (tmp_path / "out").rename(tmp_path / "rounded")
    made.save(tmp_path / "out", "parts", with_unbiased=True)
    (tmp_path / "out").rename(tmp_path / "both")
    (hidden,) = [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert len(os.listdir(tmp_path / hidden / "parts")) == 2
    made.save(tmp_path / "out", "parts")
    made.save(tmp_path / "whole", "parts")
    assert content(tmp_path / "out") == content(tmp_path / "whole")
    assert sorted(os.listdir(tmp_path)) == ["both", "out", "rounded", "whole"]


def test_some_parts_and_the_errors_of_published_numbers_can_be_written(tmp_path):
    made = MADE["non-negative"](release())
    errors = rp.fits.published_errors(made, simulations=10)
    made.save(tmp_path / "out", errors=errors, only=[1])
    saved = rp.load_tables(tmp_path / "out")
    assert list(saved.numbers.files) == [1]
    assert saved.numbers.published_errors["rmse"].tolist() == errors.to_frame()["rmse"].tolist()
    assert "std_err" in pq.read_schema(tmp_path / "out/tables.parquet").names


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"profile": "acs"}, "profile='acs' is for other formats"),
        ({"quality": rp.publish.Quality()}, "quality= is for other formats"),
        ({"only": [99]}, "only must be numbers of parts"),
        ({"workers": 0}, "workers must be a number of processes"),
    ],
)
def test_what_parts_cannot_hold_is_refused_with_a_remedy(tmp_path, options, message):
    with pytest.raises(rp.errors.WorkloadError, match=message):
        MADE["rounded"](release()).save(tmp_path / "out", "parts", **options)
    assert list(tmp_path.iterdir()) == []


def test_only_is_for_parts(tmp_path):
    with pytest.raises(rp.errors.WorkloadError, match=r'only= is for format="parts", not \'csv\''):
        MADE["rounded"](release()).save(tmp_path / "out", "csv", only=[0])
