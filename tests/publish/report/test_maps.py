"""The maps of a report: which tables they are of, what they list, what is refused."""

import re

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from made_releases import exact_release
from residualplanner.publish.report.maps import maps_of
from residualplanner.publish.report.subject import subject_of

CODES = [f"{number:02}" for number in range(6)]
PLACES = rp.Hierarchy.from_frame(
    pd.DataFrame({"side": ["W", "W", "W", "E", "E", "E"], "town": CODES, "town_name": [f"Town {c}" for c in CODES]}),
    ["side", "town"],
)


def shapes(codes):
    ring = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]])
    return rp.publish.Boundaries({code: (ring + np.array([number, 0.0]),) for number, code in enumerate(codes)})


def released(*queries):
    domain = rp.Domain({"town": PLACES, "sex": ["F", "M"], "age": 3})
    plan = rp.select(rp.Workload(domain, list(queries)), budget=rp.zcdp("0.5"))
    return exact_release(plan, np.arange(100, 100 + 36**2, 36).reshape(6, 2, 3))


TOWNS = {"town": PLACES}


def drawn(release, boundaries):
    return {each.name: each.data for each in maps_of(subject_of(release, level=0.95), {"town": boundaries})}


def written(release, path, **options):
    rp.publish.write_report(release, path / "r.html", **options)
    return (path / "r.html").read_text(), path / "r-figures"


@pytest.mark.slow
def test_each_level_with_shapes_has_a_map_of_estimates_and_one_of_their_noise(tmp_path):
    release = released(TOWNS)
    page, folder = written(release, tmp_path, maps={"town": shapes([*CODES[1:], "W", "E", "X"])})
    titles = re.findall(r"<h3>(.* by (?:side|town))</h3>", page)
    assert titles == [
        "Estimates by side",
        "Coefficients of variation by side",
        "Estimates by town",
        "Coefficients of variation by town",
    ]
    assert "Without a shape, and not on the map: 00 (Town 00)." in page
    assert "Shapes without a number: W, E, X." in page
    data = pd.read_csv(folder / "map-2-cv.csv", dtype={"code": str})
    table = release[TOWNS]
    assert data["code"].tolist() == CODES
    assert data["estimate"].to_numpy() == pytest.approx(table.estimate[3:])
    assert data["cv"].to_numpy() == pytest.approx(table.std_err[3:] / np.abs(table.estimate[3:]))
    assert data["has_shape"].tolist() == [False] + [True] * 5
    assert (folder / "map-1-estimate.svg").read_text().startswith("<?xml")
    assert all(f"var(--blue-{number})" in page for number in (1, 5))


def test_a_table_with_other_attributes_is_summed_over_them():
    query = {"age": rp.Identity(), "sex": rp.Identity(), "town": PLACES}
    release = released({"age": rp.Prefix(), "town": PLACES}, query)
    found = drawn(release, shapes(CODES))["map-1-estimate"]["estimate"].to_numpy()
    assert found == pytest.approx(release[query].estimate.sum(axis=(0, 1))[3:])


def test_tables_of_some_records_only_are_not_taken_for_all():
    some = {"town": PLACES, "sex": rp.Selection("F")}
    release = released(some, {"town": PLACES, "sex": rp.Identity()})
    found = drawn(release, shapes(CODES))["map-1-estimate"]["estimate"].to_numpy()
    assert found == pytest.approx(release[TOWNS].estimate[3:])
    with pytest.raises(rp.errors.WorkloadError, match="maps: no table of all records is by 'town'; ask for one"):
        drawn(released(some), shapes(CODES))
    assert rp.publish.choropleth(release[some], shapes(CODES)).title == "estimate by town"


@pytest.mark.parametrize(
    ("maps", "error", "message"),
    [
        ({"city": shapes(CODES)}, rp.errors.DomainError, "maps: the domain has no attribute 'city'$"),
        ({"tow": shapes(CODES)}, rp.errors.DomainError, "maps: the domain has no attribute 'tow'; did you mean 'town'"),
        (
            {"town": shapes(["99"])},
            rp.errors.WorkloadError,
            "of 'town' has areas with a shape: its codes are such as '00', and those of the shapes such as '99'; check",
        ),
        ({"age": shapes(CODES)}, rp.errors.WorkloadError, "maps: no table of all records is by 'age'; ask for one"),
    ],
)
def test_maps_that_cannot_be_drawn_are_refused_before_anything_is_written(tmp_path, maps, error, message):
    release = released(TOWNS)
    with pytest.raises(error, match=message):
        rp.publish.write_report(release, tmp_path / "r.html", maps=maps)
    with pytest.raises(rp.errors.WorkloadError, match="maps are for the report on a release, not on a plan"):
        rp.publish.write_report(release.plan, tmp_path / "r.html", maps=maps)
    assert not list(tmp_path.iterdir())


def test_one_map_by_itself_is_a_picture_whose_classes_are_those_of_a_given_quality(tmp_path):
    table, boundaries = released(TOWNS)[TOWNS], shapes([*CODES, "W"])
    quality = rp.publish.Quality(reliable=0.1, usable=0.2)
    rp.publish.choropleth(table, boundaries, "cv", quality=quality).save(tmp_path / "map.svg")
    legend = (tmp_path / "map.svg").read_text()
    assert ">coefficient of variation<" in legend
    assert ">records<" not in legend
    assert ">10% to 20%<" in legend
    assert ">15% to 30%<" not in legend
    found = rp.publish.choropleth(table, boundaries)
    assert found.title == "estimate by town"
    assert ">records<" in found._repr_svg_()
    assert rp.publish.choropleth(table, boundaries, level="side").title == "estimate by side"


def test_a_proportion_by_area_has_a_map_for_each_value_and_areas_whose_noise_is_too_large_are_hatched(tmp_path):
    by_town = TOWNS | {"sex": rp.Proportions()}
    release = released(by_town)
    counts = np.asarray(release[TOWNS | {"sex": rp.Identity()}].estimate)
    page, folder = written(release, tmp_path, maps={"town": shapes([*CODES, "W", "E"])})
    titles = re.findall(r"<h3>(Proportions of sex: .*)</h3>", page)
    assert titles == [f"Proportions of sex: {sex} by {level}" for sex in "FM" for level in ("side", "town")]
    data = pd.read_csv(folder / "map-statistic-2.csv", dtype={"code": str})
    table = rp.statistics.proportions(release, "sex", by=TOWNS)
    is_town = np.isin(np.array(table.labels[0]), CODES)
    np.testing.assert_allclose(data["estimate"], table.estimate[is_town, 0])
    np.testing.assert_allclose(data[["low", "high"]], np.stack([table.low, table.high], -1)[is_town, 0])
    np.testing.assert_allclose(data["estimate"], (counts / counts.sum(axis=1, keepdims=True))[is_town, 0])
    assert "Hatched" not in page

    domain = rp.Domain({"town": PLACES, "sex": ["F", "M"]})
    plan = rp.select(rp.Workload(domain, [by_town]), budget=rp.zcdp("0.5"))
    empty = exact_release(plan, np.array([[0, 0], [90, 30], [50, 50], [80, 10], [60, 70], [40, 20]]))
    (tmp_path / "small").mkdir()
    page, folder = written(empty, tmp_path / "small", maps={"town": shapes(CODES)})
    assert "Hatched are areas for whose numbers the noise is too large." in page
    assert np.isnan(pd.read_csv(folder / "map-statistic-1.csv")["estimate"]).tolist() == [True] + [False] * 5


def test_a_map_of_means_says_of_which_estimates_they_are_where_tables_are_adjusted(tmp_path):
    pay = rp.Numeric(0, 100, unit=1)
    domain = rp.Domain({"town": PLACES, "pay": pay})
    plan = rp.select(rp.Workload(domain, [TOWNS | {"pay": rp.Mean()}]), budget=rp.zcdp("0.5"))
    release = exact_release(plan, np.full((6, 2), 50))
    page, folder = written(rp.nonnegative(release), tmp_path, maps={"town": shapes(CODES)})
    assert "Of the unbiased estimates that the numbers were made from." in page
    np.testing.assert_allclose(pd.read_csv(folder / "map-statistic-1.csv")["estimate"], 50)


def test_an_estimate_that_files_leave_out_is_a_dash_beside_its_map(tmp_path):
    release, quality = released(TOWNS), rp.publish.Quality(reliable=1e-6, usable=1e-5, suppress=True)
    release.save(tmp_path / "tables", quality=quality)
    found = maps_of(subject_of(rp.load_tables(tmp_path / "tables"), level=0.95), {"town": shapes(CODES)})
    (estimates, _) = found
    shown = [row[2] for row in estimates.rows]
    assert "–" in shown
    assert "nan" not in shown
