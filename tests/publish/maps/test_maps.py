"""Maps: boundaries from GeoJSON, in one piece, with open holes, in classes that a legend names."""

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

import residualplanner as rp
from residualplanner.publish import pictures
from residualplanner.publish.maps import choropleths
from residualplanner.publish.maps.boundaries import plane_rings

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
LAKE = [[1, 1], [3, 1], [3, 3], [1, 3], [1, 1]]
CLASSES = choropleths.classes_of_variation((0.15, 0.30))


def feature(code, *polygons, kind="MultiPolygon", name="GEOID"):
    coordinates = list(polygons) if kind == "MultiPolygon" else polygons[0]
    return {"type": "Feature", "properties": {name: code}, "geometry": {"type": kind, "coordinates": coordinates}}


def collection(*features):
    return {"type": "FeatureCollection", "features": list(features)}


def read(*features):
    return rp.publish.Boundaries.from_geojson(collection(*features), "GEOID")


def area(ring):
    """Twice the signed area, by the shoelace formula."""
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring))


def shifted(ring, x, y=0):
    return [[a + x, b + y] for a, b in ring]


def pixels(boundaries, numbers):
    """The colors of a map, and where a point of the map is in them."""
    with pictures.drawing.drawing():
        figure = choropleths.draw_choropleth(boundaries, numbers, CLASSES, title="")
        figure.set_dpi(300)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba())[:, :, :3]
        axes = figure.axes[0]

    def color(x, y):
        column, row = axes.transData.transform((x, y))
        return "#" + "".join(f"{value:02x}" for value in image[image.shape[0] - 1 - int(row), int(column)])

    return color


@pytest.mark.parametrize("hole", [LAKE, LAKE[::-1]])
@pytest.mark.parametrize("outer", [SQUARE, SQUARE[::-1]])
def test_holes_are_open_however_rings_are_written(outer, hole):
    far = shifted(SQUARE, 200)  # so that coordinates are no degrees
    boundaries = read(feature("a", [outer, hole]), feature("b", [far]))
    assert [area(ring) > 0 for ring in boundaries.rings["a"]] == [True, False]
    color = pixels(boundaries, {"a": 0.01, "b": 0.9})
    assert color(0.5, 2) == CLASSES.colors[0]
    assert color(2, 2) == "#ffffff"
    assert color(202, 2) == CLASSES.colors[-1]


def test_areas_may_have_several_parts_in_one_feature_or_in_several():
    island = shifted(SQUARE, 10)
    one = read(feature("a", [SQUARE], [island]))
    two = read(feature("a", [SQUARE], kind="Polygon"), feature("a", [island], kind="Polygon"))
    assert [ring.tolist() for ring in one.rings["a"]] == [ring.tolist() for ring in two.rings["a"]]
    assert len(one.rings["a"]) == 2


def test_areas_without_a_number_are_hatched_and_in_the_legend(tmp_path):
    boundaries = read(feature("a", [SQUARE]), feature("b", [shifted(SQUARE, 9)]))

    def svg(numbers):
        pictures.drawing.Picture(
            "map", lambda: choropleths.draw_choropleth(boundaries, numbers, CLASSES, title="cv")
        ).save(tmp_path / "map.svg")
        return (tmp_path / "map.svg").read_text()

    assert ">no number<" not in svg({"a": 0.01, "b": 0.2})
    for numbers in ({"a": 0.01}, {"a": 0.01, "b": float("nan")}):
        assert ">no number<" in svg(numbers)
        assert "url(#h" in svg(numbers)
    assert all(f">{text}<" in svg({"a": 0.01}) for text in CLASSES.texts)


def test_an_area_without_a_shape_is_no_error():
    empty = feature("b") | {"geometry": None}
    boundaries = read(feature("a", [SQUARE]), empty)
    assert {code: len(rings) for code, rings in boundaries.rings.items()} == {"a": 1, "b": 0}
    pixels(boundaries, {"a": 0.1, "b": 0.1})


def test_codes_are_a_property_or_the_features_own():
    own = collection(feature("x", [SQUARE]) | {"id": "01001"})
    assert list(rp.publish.Boundaries.from_geojson(own, "id").rings) == ["01001"]
    assert list(rp.publish.Boundaries.from_geojson(own, "GEOID").rings) == ["x"]


def test_areas_on_both_sides_of_the_180th_meridian_are_brought_together():
    west, east = shifted(SQUARE, -179, 50), shifted(SQUARE, 175, 50)
    rings = read(feature("w", [west]), feature("e", [east])).rings
    plane = plane_rings(rings)
    assert np.ptp(np.concatenate([ring[:, 0] for each in plane.values() for ring in each])) < 12
    assert plane["e"][0][:, 0].max() < plane["w"][0][:, 0].min()


def test_a_degree_of_longitude_is_as_long_as_in_the_middle_of_the_map():
    at_60 = shifted([[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]], 10, 59)
    (ring,) = plane_rings(read(feature("a", [at_60])).rings)["a"]
    assert np.ptp(ring, axis=0) == pytest.approx([1.0, 2.0], rel=1e-3)  # cos 60 degrees is a half


@given(numbers=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_every_number_is_in_the_class_whose_range_holds_it(numbers):
    array = np.array(numbers)
    classes = choropleths.classes_of_estimates(array)
    assert len(classes.colors) == len(classes.texts) == len(classes.limits) + 1 <= 5
    edges = [-np.inf, *classes.limits, np.inf]
    for number, found in zip(numbers, classes.of(array).tolist(), strict=True):
        assert edges[found] <= number < edges[found + 1]
    assert set(classes.of(array).tolist()) >= {0}


def test_classes_of_variation_are_cut_at_the_grades():
    assert choropleths.classes_of_variation((0.1, 0.2)).texts[1:4] == ("3.33% to 10%", "10% to 20%", "20% to 40%")
    assert choropleths.classes_of_variation((0.1, 0.1)).texts == (
        "below 3.33%",
        "3.33% to 10%",
        "10% to 20%",
        "20% or more",
    )
    assert CLASSES.of(np.array([0.0, 0.05, 0.15, 0.3, 0.6, np.nan])).tolist() == [0, 1, 2, 3, 4, -1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "the GeoJSON is no GeoJSON feature collection"),
        (collection(), "is no GeoJSON feature collection with features; .*with a feature for each area"),
        (collection({"type": "Point"}), "feature 1: not a GeoJSON feature"),
        (collection(feature("a", [SQUARE], name="GEOIDS")), "feature 1: no property 'GEOID' that is text.*GEOIDS"),
        (collection(feature(1001, [SQUARE])), "that is text, as '01' is not 1; its properties are GEOID: 1001"),
        (collection(feature("a", [0, 0], kind="Point")), r"\(a\): the geometry must be a Polygon or"),
        (collection(feature("a", [SQUARE[:3]])), "a ring must have at least four positions"),
        (collection(feature("a", [[*SQUARE[:-1], [0, 1]]])), "of which the last is the first"),
        (collection(feature("a", [[[0, float("nan")], *SQUARE]])), "a position must be a list of two numbers"),
        (collection(feature("a") | {"geometry": {"type": "Polygon"}}), "expected a list of coordinates, got None"),
    ],
)  # fmt: skip
def test_geojson_that_cannot_be_drawn_is_refused_with_its_feature(value, message):
    with pytest.raises(rp.errors.FileFormatError, match=message):
        rp.publish.Boundaries.from_geojson(value, "GEOID")


def test_files_are_named_and_limited(tmp_path, monkeypatch):
    path = tmp_path / "shapes.json"
    path.write_text("\ufeff" + json.dumps(collection(feature("a", [SQUARE]), feature("b", [SQUARE]))), encoding="utf-8")
    assert repr(rp.publish.Boundaries.from_geojson(path, "GEOID")) == "<Boundaries of 2 areas>"
    assert repr(read(feature("a", [SQUARE]))) == "<Boundaries of 1 area>"
    many = collection(*[feature("a", [SQUARE])] * 100_001)
    with pytest.raises(rp.errors.FileFormatError, match="the GeoJSON has 100,001 features; the limit is 100,000"):
        rp.publish.Boundaries.from_geojson(many, "GEOID")
    monkeypatch.setattr("residualplanner.publish.maps.boundaries.POSITION_LIMIT", 4)
    with pytest.raises(rp.errors.FileFormatError, match=r"shapes\.json has more than 4 positions"):
        rp.publish.Boundaries.from_geojson(path, "GEOID")
    path.write_bytes(b" " * (2**26 + 1))
    with pytest.raises(rp.errors.FileFormatError, match=r"shapes.json is too large: the limit is"):
        rp.publish.Boundaries.from_geojson(path, "GEOID")
    for content in (b"{", b"\xff\xfe", b'{"type": NaN}', b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(rp.errors.FileFormatError, match=r"shapes\.json is not GeoJSON: "):
            rp.publish.Boundaries.from_geojson(path, "GEOID")
