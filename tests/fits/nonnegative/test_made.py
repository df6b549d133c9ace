"""Non-negative and rounded tables as releases: the same mapping, files, parts and reports, with their own mark."""

import json
import os

import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest

import residualplanner as rp
from made_releases import exact_release
from residualplanner.release import layout as layouts

DOMAIN = rp.Domain({"age": 4, "sex": ["F", "M"], "c": 3, "one": 1})
QUERIES = [("sex", "age"), ("age", "c"), ("sex", "c", "one"), ("age", "one"), {"age": rp.Prefix()}, ()]
PLAN = rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp("0.1"))
MADE = {
    "non-negative": lambda release: rp.nonnegative(release, known={(): 30}),
    "rounded": rp.rounded,
    "non-negative rounded": lambda release: rp.rounded(rp.nonnegative(release)),
}


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of some tables, so that there are several."""
    for name, cells in (("PART_CELLS", 16), ("ROW_GROUP_CELLS", 8)):
        monkeypatch.setattr(layouts, name, cells)


BOTH = ("manifest.json", "metadata.json")


def release():
    chance = np.random.default_rng(3)
    return exact_release(PLAN, chance.poisson(1.0, DOMAIN.sizes) + chance.normal(0, 3, DOMAIN.sizes))


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", MADE)
def test_a_table_says_what_its_numbers_are_and_has_no_errors_but_those_of_the_unbiased_ones(name):
    made, unbiased = MADE[name](release()), release()["sex", "age"]
    table, end = made["sex", "age"], "_" + name.replace("non-negative", "nonneg").replace(" ", "_")
    assert made.product.name == name
    assert {profile: list(table.to_frame(profile=profile).columns)[2:] for profile in ("default", "acs", "gls")} == {
        "default": [
            f"estimate{end}",
            "std_err_unbiased",
            "moe_unbiased",
            "conf_level",
            "ci_low_unbiased",
            "ci_high_unbiased",
        ],
        "acs": [f"E{end}", "M_unbiased"],
        "gls": ["query", f"estimate{end}", "std_dev_unbiased"],
    }
    assert ("age", "one") in made
    assert "nowhere" not in made
    frame = table.to_frame()
    assert frame["std_err_unbiased"].tolist() == unbiased.to_frame()["std_err"].tolist()
    assert (frame[f"estimate{end}"].dtype == np.int64) == ("rounded" in name)
    for ask in (table.moe, lambda: made["age"].combine([1, 1, 1, 1]), lambda: table.at(sex="F", age=0)):
        with pytest.raises(rp.errors.WorkloadError, match="is known of unbiased estimates only"):
            ask()
    assert repr(table).splitlines()[1].split() == ["sex", "age", f"estimate{end}", "std_err_unbiased"]
    assert f"estimate{end}" in table._repr_html_()
    summed = table.sum("sex")
    assert summed.product == table.product
    assert summed.estimate.tolist() == table.estimate.sum(axis=0).tolist()


def test_mark_and_meaning_stand_in_manifest_and_metadata(tmp_path):
    rp.nonnegative(release()).save(tmp_path / "tables", "csv")
    product = {"name": "non-negative", "mark": "non-negative; estimates are biased", "facts": [], "statement": ""}
    for name in ("manifest", "metadata"):
        assert json.loads((tmp_path / "tables" / f"{name}.json").read_text())["tables"]["product"] == product
    columns = json.loads((tmp_path / "tables/metadata.json").read_text())["tables"]["columns"]
    assert columns[0]["meaning"] == "non-negative; estimates are biased"
    assert "not that of this number" in columns[1]["meaning"]


@pytest.mark.parametrize("format", ["parquet", "parts"])
def test_a_product_that_contradicts_itself_or_is_passed_off_as_unbiased_is_refused(tmp_path, format):
    release().save(tmp_path / "unbiased", format)
    assert "product" not in json.loads((tmp_path / "unbiased/manifest.json").read_text())["tables"]
    MADE["rounded"](release()).save(tmp_path / "tables", format)
    stated = {path: json.loads(path.read_text()) for path in map((tmp_path / "tables").joinpath, BOTH)}
    product, wrong = stated[tmp_path / "tables/manifest.json"]["tables"]["product"], "it does not say what its numbers"
    for changed, message in (
        *((product | {"name": name}, wrong) for name in ("unbiased", "exact")),
        *((product | {"facts": facts}, wrong) for facts in ("none", ["a\nb"])),
        *((product | change, wrong) for change in ({"mark": "exact"}, {"statement": "protected"}, {"more": 1})),
        (None, None),
    ):
        for path, about in stated.items():
            tables = {key: value for key, value in about["tables"].items() if key != "product"}
            path.write_text(json.dumps(about | {"tables": tables | ({"product": changed} if changed else {})}))
        with pytest.raises(rp.errors.FileFormatError, match=message):
            rp.load_tables(tmp_path / "tables")


def figure(folder):
    (found,) = (each for each in map(pd.read_csv, folder.glob("table-*.csv")) if list(each)[:2] == ["age", "c"])
    return found


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["non-negative", "rounded"])
def test_a_report_shows_the_mark_and_intervals_cut_at_what_is_possible(tmp_path, name):
    made = MADE[name](release())
    rp.publish.write_report(made, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert made.product.mark in page
    assert "Estimates are unbiased" not in page
    assert "cut at the counts that are possible" in page
    data = figure(tmp_path / "page-figures")
    assert list(data.columns) == ["age", "c", "estimate", "std_err_unbiased", "ci_low_unbiased", "ci_high_unbiased"]
    frame = made["age", "c"].to_frame()
    assert data["ci_low_unbiased"].to_numpy() == pytest.approx(frame["ci_low_unbiased"].to_numpy())
    assert data["ci_high_unbiased"].to_numpy() == pytest.approx(frame["ci_high_unbiased"].to_numpy())
    if name == "non-negative":
        made.save(tmp_path / "tables")
        rp.publish.write_report(rp.load_tables(tmp_path / "tables"), tmp_path / "again.html")
        assert figure(tmp_path / "again-figures").equals(data)


@pytest.mark.parametrize("name", MADE)
def test_parts_are_read_back_as_what_they_are_with_the_unbiased_bit_for_bit(small_parts, tmp_path, name):
    made, ending = MADE[name](release()), MADE[name](release()).product.ending
    made.save(tmp_path / "alone", "parts")
    made.save(tmp_path / "out", "parts", with_unbiased=True)
    alone, saved = (rp.load_tables(tmp_path / each) for each in ("alone", "out"))
    assert len(saved.numbers.files) > 1
    assert alone.product == saved.product == made.product
    assert list(alone) == list(saved) == list(made)
    for query in made:
        assert alone[query].estimate.tolist() == saved[query].estimate.tolist() == made[query].estimate.tolist()
        assert saved[query].std_err.tolist() == release()[query].std_err.tolist()
        assert saved[query].product == made.product
        assert saved.unbiased[query].estimate.tolist() == release()[query].estimate.tolist()
        assert saved.unbiased[query].moe().tolist() == release()[query].moe().tolist()
    # that of a folder without it is from the measurement there
    assert alone.unbiased["age", "c"].estimate.tolist() == release()["age", "c"].estimate.tolist()
    with pytest.raises(rp.errors.WorkloadError, match="is known of unbiased estimates only"):
        saved["age", "c"].moe()
    assert saved.unbiased["sex", "one"].estimate.tolist() == release()["sex", "one"].estimate.tolist()
    tables, both = (ds.dataset(tmp_path / each / "parts").to_table() for each in ("alone", "out"))
    assert both.column_names == ["table_id", "cell", f"estimate{ending}", "estimate_unbiased", "std_err_unbiased"]
    assert both.drop_columns("estimate_unbiased") == tables.replace_schema_metadata(both.schema.metadata)
    assert (both.to_pandas()[f"estimate{ending}"].dtype == np.int64) == ("rounded" in name)
    manifest, metadata = (json.loads((tmp_path / "out" / each).read_text())["tables"] for each in BOTH)
    assert manifest["product"] == metadata["product"]
    assert manifest["product"]["mark"] == made.product.mark
    assert manifest["product"]["facts"] == ["the number of records"] * (name == "non-negative")
    assert [each["name"] for each in metadata["columns"][:3]] == both.column_names[2:]


@pytest.mark.slow
def test_processes_write_the_same_bytes_of_one_measurement_or_several(small_parts, tmp_path):
    records = np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(30, 4))
    made = MADE["non-negative rounded"](rp.reconstruct([rp.measure(PLAN, records), rp.measure(PLAN, records)]))
    made.save(tmp_path / "one", "parts", with_unbiased=True)
    made.save(tmp_path / "two", "parts", with_unbiased=True, workers=2)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_an_interrupted_run_goes_on_and_is_not_mixed_with_other_numbers(small_parts, tmp_path):
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
