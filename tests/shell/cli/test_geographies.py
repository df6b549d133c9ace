"""A geography in files beside the spec: its values, its groups, a crosswalk, and the maps of the report."""

import hashlib
import json

import pytest

import residualplanner as rp
from geographies import COUNTIES, csv_text, leaf_rows
from shell.specs import domain_of, targets_of, workload_of

DOMAIN = 'county = { hierarchy = "counties.csv", levels = ["state", "county"] }'
DISTRICTS = '{ kind = "hierarchy", leaves = false, crosswalk = { file = "cd.csv", leaf = "county", group = "cd" } }'
SPEC = """\
budget = {{ zcdp = "0.5" }}

[domain]
{domain}
sex = ["F", "M"]

[[workload]]
queries = [["county"], ["county", "sex"]]
kinds = {{ county = {kind} }}
"""
SHAPES = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"GEOID": code},
            "geometry": {"type": "Polygon", "coordinates": [[[x, 0], [x + 1, 0], [x + 1, 1], [x, 1], [x, 0]]]},
        }
        for x, code in enumerate(COUNTIES)
    ],
}


@pytest.fixture
def write(folder):
    def writing(domain=DOMAIN, kind='"hierarchy"', more=""):
        home = folder / "home"
        home.mkdir(exist_ok=True)
        (home / "counties.csv").write_text(csv_text(leaf_rows()))
        (home / "cd.csv").write_text("county,cd\n01001,1\n01003,2\n02013,2\n")
        (home / "shapes.json").write_text(json.dumps(SHAPES))
        (home / "s.toml").write_text(SPEC.format(domain=domain, kind=kind) + more)
        return home / "s.toml"

    return writing


def test_the_values_names_and_groups_come_from_a_file_beside_the_spec(write):
    path = write()
    hierarchy = rp.Hierarchy.from_file(path.parent / "counties.csv", ["state", "county"])
    domain = rp.Domain({"county": hierarchy, "sex": ["F", "M"]})
    assert domain_of(path) == domain
    expected = rp.Workload(domain, [{"county": hierarchy}, {"county": hierarchy, "sex": rp.Identity()}])
    assert list(workload_of(path)) == list(expected)


def test_columns_lengths_encoding_and_rules_are_declared(write):
    domain = (
        'county = { hierarchy = "x.csv", levels = { state = "ST", county = ["GEO", "NAME"] }, missing = "none", '
        'code_lengths = { state = 2, county = 5 }, encoding = "cp1252", separator = ";", title = "County" }'
    )
    path = write(domain)
    (path.parent / "x.csv").write_bytes("ST;GEO;NAME\n1;1001;Doña\n10;10001;Kent\n".encode("cp1252"))
    attribute = domain_of(path)["county"]
    assert attribute.value_labels == ("01001", "10001", "none")
    assert attribute.meanings == ("Doña", "Kent")
    assert attribute.about.title == "County"
    path = write(domain.replace("county = 5 }", 'county = "any" }'))
    assert domain_of(path)["county"].value_labels == ("1001", "10001", "none")


def test_a_crosswalk_is_another_kind_of_query_on_the_same_attribute(write):
    queries = f"queries = [{{ county = {DISTRICTS} }}]"
    path = write(more=f"\n[[workload]]\n{queries}\n[[targets]]\n{queries}\nmoe = 9\n")
    kinds = [kind for kind in workload_of(path).kinds if kind.name == "hierarchy"]
    assert [kind.classification.levels for kind in kinds] == [("state", "county"), ("cd", "county")]
    assert kinds[1].labels(domain_of(path)["county"]) == ("(total)", "1", "2")
    assert targets_of(path) is not None
    assert len(workload_of(path, then=(path.parent / "counties.csv").unlink)) == 3  # each file is read once


def test_areas_without_a_shape_are_told(write, run):
    more = '\n[output.maps]\ncounty = { geojson = "shapes.json", code = "GEOID" }\n'
    spec = write(more=more)
    assert "without a shape" not in run("plan", spec, status=0).stdout
    (spec.parent / "shapes.json").write_text(json.dumps(SHAPES | {"features": SHAPES["features"][1:]}))
    told = run("plan", spec, "--force", status=0).stdout
    assert f"Maps        1 area of county without a shape: {next(iter(COUNTIES))}" in told


@pytest.mark.slow
def test_a_release_by_county_from_the_command_line(write, run, folder):
    maps = '\n[output]\nformat = "csv"\n[output.maps]\ncounty = { geojson = "shapes.json", code = "GEOID" }\n'
    spec = write(more=maps)
    (folder / "d.csv").write_text("county,sex\n01001,F\n02013,M\n01001,M\n")
    told = run("release", spec, "d.csv", "-o", "out").stdout
    assert f"report out --spec {spec}" in told
    plan = rp.load_plan(folder / "out" / "release.plan")
    (kind,) = [kind for kind in plan.workload.kinds if kind.name == "hierarchy"]
    content = (spec.parent / "counties.csv").read_bytes()
    assert [(each.file, each.sha256) for each in kind.classification.origins] == [
        ("counties.csv", hashlib.sha256(content).hexdigest())
    ]
    header, *lines = (folder / "out" / "tables" / "county@hierarchy.csv").read_text().splitlines()
    assert header.startswith('"county","county_level","county_code","county_name","county_parent","estimate"')
    assert lines[4].startswith('"01003","county","01003","Baldwin County","01",')
    run("report", "out", "-o", "r.html", "--spec", spec)
    assert "Estimates by county" in (folder / "r.html").read_text()
