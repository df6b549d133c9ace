"""Meanings of values, words about attributes and what is left out reach tables, files, metadata and reports."""

import itertools
import json

import pytest

import residualplanner as rp
from inner_parts import noise_record
from made_releases import any_release, rows_of_file

DOMAIN = rp.Domain(
    {
        "sex": rp.Attribute("sex", labels={1: "female", 2: "male"}, about=rp.About(title="Sex", source="census")),
        "region": rp.Attribute("region", labels={"01": "the same", "02": "the same", "NO": ""}, unknown="elsewhere"),
        "income": rp.Attribute(
            "income", bins=rp.Bins([0, 9]), missing="Not stated", about=rp.About(unit="dollars", note="a <b>")
        ),
        "month": rp.Attribute("month", bins=rp.Bins.months("2020-01", "2020-02"), missing="drop"),
    }
)
WORKLOAD = rp.marginals(DOMAIN, up_to=1) + rp.Workload(
    DOMAIN, [("region", "sex"), {"sex": rp.Prefix(), "income": rp.Prefix()}]
)
PLAN = rp.select(WORKLOAD, budget=rp.pcost(1))
RELEASE = any_release(PLAN)
#: The columns of labels of some tables, written out.
SEX = [(1, "female"), (2, "male")]
REGION = [("01", "the same"), ("02", "the same"), ("NO", "NO"), ("elsewhere", "elsewhere")]
EXPECTED = {
    "sex": (["sex", "sex_meaning"], SEX),
    "region.sex": (
        ["region", "region_meaning", "sex", "sex_meaning"],
        [(*region, *sex) for region, sex in itertools.product(REGION, SEX)],
    ),
    "sex@prefix.income@prefix": (
        ["sex", "sex_meaning", "income"],
        [
            (*sex, income)
            for sex in [("≤ 1", "≤ female"), ("≤ 2", "≤ male")]
            for income in ["[0, 9]", "[0, 9] or Not stated"]
        ],
    ),
    "month": (["month"], [("2020-01",), ("2020-02",)]),
}


@pytest.fixture(scope="module", params=["csv", "parquet", "xlsx"])
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "release"
    RELEASE.save(folder, format=request.param)
    return folder, request.param


@pytest.mark.parametrize("name", EXPECTED)
def test_files_have_each_label_and_beside_it_what_it_means(saved, name):
    folder, file_format = saved
    head, *rows = rows_of_file(folder / "tables" / f"{name}.{file_format}")
    names, expected = EXPECTED[name]
    assert list(head) == [*names, "estimate", "std_err", "moe", "conf_level", "ci_low", "ci_high"]
    found = [tuple(map(str, row[: len(names)])) for row in rows]
    assert found == [tuple(map(str, row)) for row in expected]


def test_frames_have_axes_meanings_and_words_in_the_order_in_which_the_query_was_written():
    assert list(RELEASE["region", "sex"].to_frame().columns[:4]) == ["region", "region_meaning", "sex", "sex_meaning"]
    assert list(RELEASE["sex", "region"].to_frame().columns[:4]) == ["sex", "sex_meaning", "region", "region_meaning"]
    assert RELEASE["sex", "region"].labels_in_words == (
        ("1 (female)", "2 (male)"),
        ("01 (the same)", "02 (the same)", "NO", "elsewhere"),
    )
    described = RELEASE["sex"].to_frame(profile="gls")
    assert described["query"].tolist() == ["sex=1 (female)", "sex=2 (male)"]


def test_metadata_say_what_values_mean_and_what_is_said_about_attributes(saved):
    metadata = json.loads((saved[0] / "metadata.json").read_text())
    attributes = {each["name"]: each for each in metadata["tables"]["attributes"]}
    assert attributes["sex"]["values"] == [{"label": 1, "meaning": "female"}, {"label": 2, "meaning": "male"}]
    assert (attributes["sex"]["title"], attributes["sex"]["source"]) == ("Sex", "census")
    assert (attributes["income"]["unit"], attributes["income"]["note"]) == ("dollars", "a <b>")
    assert "values" not in attributes["income"]
    assert metadata["tables"]["left_out"] == RELEASE.noise.omission


def test_a_column_of_meanings_that_an_attribute_is_called_like_is_refused():
    domain = rp.Domain({"sex": {1: "female", 2: "male"}, "sex_meaning": 2})
    plan = rp.select(rp.marginals(domain, order=2), budget=rp.pcost(1))
    with pytest.raises(rp.errors.WorkloadError, match=r"attribute 'sex_meaning' has the name of a column for"):
        rp.publish.require_exportable(plan.workload)
    with pytest.raises(rp.errors.WorkloadError, match="rename them in the domain"):
        any_release(plan)["sex", "sex_meaning"].to_frame()


# --- what is left out ---

SENTENCE = RELEASE.noise.omission


def test_every_guarantee_says_what_is_left_out(saved, tmp_path):
    folder, file_format = saved
    assert SENTENCE
    others = any_release(rp.select(rp.marginals(rp.Domain({"sex": 2}), order=1), budget=rp.pcost(1)))
    assert "left out" not in others.noise.guarantee
    assert RELEASE.noise.guarantee.endswith(f".  {SENTENCE}")
    files = ["manifest.json", "metadata.json", *(["tables/csv-metadata.json"] if file_format == "csv" else [])]
    for name in files:
        assert SENTENCE in (folder / name).read_text(), name
    assert rp.load_tables(folder).noise.guarantee.endswith(SENTENCE)
    RELEASE.measurement.save(tmp_path / "m")
    assert rp.load_measurement(tmp_path / "m").noise.guarantee.endswith(SENTENCE)


def test_measurements_of_older_versions_are_read_and_say_it_from_then_on(tmp_path):
    noise = RELEASE.noise
    old = noise_record.noise_to_json(noise_record.NoiseRecord(seed=noise.seed), PLAN)
    assert SENTENCE not in old["guarantee"]
    read = noise_record.noise_from_json(old, PLAN)
    assert noise_record.noise_to_json(read, PLAN) == old
    assert rp.Measurement(PLAN, RELEASE.measurement.residuals, read).noise.omission == SENTENCE


def test_a_guarantee_that_says_that_others_are_left_out_is_refused():
    told = noise_record.noise_to_json(RELEASE.noise, PLAN)
    for forged in (SENTENCE.replace("'month'", "'sex'"), "All records are in every table."):
        with pytest.raises(rp.errors.FileFormatError):
            noise_record.noise_from_json(told | {"guarantee": told["guarantee"].replace(SENTENCE, forged)}, PLAN)
