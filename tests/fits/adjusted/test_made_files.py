"""Non-negative and rounded tables as releases: the same mapping, files and reports, with their own mark."""

import json

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from made_releases import exact_release
from residualplanner.release.product import UNBIASED, Product

DOMAIN = rp.Domain({"age": 4, "sex": ["F", "M"], "one": 1})
PLAN = rp.select(rp.Workload(DOMAIN, [("sex", "age"), ("age", "one"), {"age": rp.Prefix()}, ()]), budget=rp.zcdp("0.1"))
MADE = {
    "non-negative": rp.nonnegative,
    "rounded": rp.rounded,
    "non-negative rounded": lambda release: rp.rounded(rp.nonnegative(release)),
}
PRODUCTS = {
    "non-negative": Product(is_nonnegative=True),
    "rounded": Product(is_rounded=True),
    "non-negative rounded": Product(is_nonnegative=True, is_rounded=True),
}
ENDINGS = {"non-negative": "_nonneg", "rounded": "_rounded", "non-negative rounded": "_nonneg_rounded"}


def release():
    chance = np.random.default_rng(3)
    return exact_release(PLAN, chance.poisson(1.0, DOMAIN.sizes) + chance.normal(0, 3, DOMAIN.sizes))


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("format", ["parquet", "csv", "xlsx"])
@pytest.mark.parametrize("profile", ["default", "acs", "gls"])
def test_folders_are_read_back_as_what_they_are(tmp_path, name, format, profile):
    made = MADE[name](release())
    made.save(tmp_path / "tables", format, profile=profile)
    saved = rp.load_tables(tmp_path / "tables")
    assert saved.product == made.product == PRODUCTS[name]
    for query in made:
        assert saved[query].estimate.tolist() == made[query].estimate.tolist()
        assert saved[query].std_err.tolist() == release()[query].std_err.tolist()
        assert saved[query].product == made.product
    frame = saved.numbers.frame(("sex", "age"))
    wanted = made["sex", "age"].to_frame(profile=profile)
    assert list(frame.columns) == list(wanted.columns)
    assert frame.to_numpy().tolist() == wanted.to_numpy().tolist()


@pytest.mark.parametrize("name", MADE)
def test_columns_say_that_errors_are_those_of_the_unbiased_estimates(name):
    table, end = MADE[name](release())["sex", "age"], ENDINGS[name]
    columns = {profile: list(table.to_frame(profile=profile).columns)[2:] for profile in ("default", "acs", "gls")}
    assert columns == {
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
    frame = table.to_frame()
    assert frame["std_err_unbiased"].tolist() == release()["sex", "age"].to_frame()["std_err"].tolist()
    assert (frame[f"estimate{end}"].dtype == np.int64) == ("rounded" in name)


@pytest.mark.parametrize("name", MADE)
def test_a_table_that_is_not_unbiased_has_no_margins(name):
    table = MADE[name](release())["age"]
    for ask in (table.moe, lambda: table.combine([1, 1, 1, 1])):
        with pytest.raises(
            rp.errors.WorkloadError, match=r"is known of unbiased estimates only, and these are .*; ask the rel"
        ):
            ask()


@pytest.mark.parametrize("name", MADE)
def test_batches_and_tables_and_look_ups_are_the_same_numbers(name):
    made = MADE[name](release())
    for query, table in zip(made, made.tables(), strict=True):
        assert table.estimate.tolist() == made[query].estimate.tolist()
        assert table.query == query
    assert len(made) == len(release())
    assert ("age", "one") in made
    assert "nowhere" not in made


def test_batches_of_non_negative_tables_are_the_tables():
    made = rp.nonnegative(release())
    every = list(made.tables())
    for batch in made.batches():
        for number, estimate in zip(batch.queries.tolist(), batch.estimates, strict=True):
            assert estimate.tolist() == every[number].estimate.tolist()


def test_mark_and_meaning_stand_in_manifest_and_metadata(tmp_path):
    rp.nonnegative(release()).save(tmp_path / "tables", "csv")
    product = {"name": "non-negative", "mark": "non-negative; estimates are biased", "facts": [], "statement": ""}
    for name in ("manifest", "metadata"):
        assert json.loads((tmp_path / "tables" / f"{name}.json").read_text())["tables"]["product"] == product
    columns = json.loads((tmp_path / "tables/metadata.json").read_text())["tables"]["columns"]
    assert columns[0]["meaning"] == "non-negative; estimates are biased"
    assert "not that of this number" in columns[1]["meaning"]


def test_unbiased_releases_state_no_product(tmp_path):
    release().save(tmp_path / "tables")
    assert "product" not in json.loads((tmp_path / "tables/manifest.json").read_text())["tables"]
    assert rp.load_tables(tmp_path / "tables").product == UNBIASED


@pytest.mark.parametrize(
    "change",
    [
        {"name": "unbiased"},
        {"name": "exact"},
        {"mark": "exact"},
        {"facts": "none"},
        {"facts": ["a\nb"]},
        {"statement": "all of it is protected"},
        {"more": 1},
    ],
)
def test_a_product_that_contradicts_itself_is_refused(tmp_path, change):
    rp.nonnegative(release()).save(tmp_path / "tables")
    path = tmp_path / "tables/manifest.json"
    manifest = json.loads(path.read_text())
    manifest["tables"]["product"] |= change
    path.write_text(json.dumps(manifest))
    with pytest.raises(rp.errors.FileFormatError, match="it does not say what its numbers are"):
        rp.load_tables(tmp_path / "tables")


def test_tables_cannot_be_passed_off_as_unbiased(tmp_path):
    rp.nonnegative(release()).save(tmp_path / "tables")
    path = tmp_path / "tables/manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["tables"]["product"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(rp.errors.FileFormatError):
        rp.load_tables(tmp_path / "tables")


@pytest.mark.slow
@pytest.mark.parametrize("name", MADE)
def test_a_report_shows_the_mark_and_intervals_cut_at_what_is_possible(tmp_path, name):
    made = MADE[name](release())
    rp.publish.write_report(made, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert made.product.mark in page
    assert "Estimates are unbiased" not in page
    assert "cut at the counts that are possible" in page
    data = pd.read_csv(tmp_path / "page-figures/table-2.csv")
    assert list(data.columns) == ["sex", "age", "estimate", "std_err_unbiased", "ci_low_unbiased", "ci_high_unbiased"]
    frame = made["sex", "age"].to_frame()
    assert data["ci_low_unbiased"].to_numpy() == pytest.approx(frame["ci_low_unbiased"].to_numpy())
    assert data["ci_high_unbiased"].to_numpy() == pytest.approx(frame["ci_high_unbiased"].to_numpy())
    made.save(tmp_path / "tables")
    rp.publish.write_report(rp.load_tables(tmp_path / "tables"), tmp_path / "again.html")
    assert (tmp_path / "again-figures/table-2.csv").read_text() == (tmp_path / "page-figures/table-2.csv").read_text()


@pytest.mark.parametrize("name", MADE)
def test_pictures_show_the_intervals_of_files(name):
    table = MADE[name](release())["sex", "age"]
    shown, frame = table.shown(), table.to_frame()
    low, high = shown.ends
    assert low == pytest.approx(frame["ci_low_unbiased"].to_numpy())
    assert high == pytest.approx(frame["ci_high_unbiased"].to_numpy())
    drawn = [path.vertices[:, 0] for path in table.plot().figure().axes[0].collections[1].get_paths()]
    assert np.array(drawn) == pytest.approx(np.stack([low, high], axis=1))
    joint_low, joint_high = shown.joint_ends
    assert (joint_low <= low).all()
    assert (joint_high >= high).all()
    assert (joint_high > high).any()


@pytest.mark.parametrize("name", MADE)
def test_views_say_what_the_numbers_are(name):
    table, end = MADE[name](release())["sex", "age"], ENDINGS[name]
    assert repr(table).splitlines()[1].split() == ["sex", "age", f"estimate{end}", "std_err_unbiased"]
    assert f"estimate{end}" in table._repr_html_()
    summed = table.sum("sex")
    assert summed.product == table.product
    assert summed.estimate.tolist() == table.estimate.sum(axis=0).tolist()
    with pytest.raises(rp.errors.WorkloadError, match="the error of a cell is known of unbiased estimates only"):
        table.at(sex="F", age=0)
