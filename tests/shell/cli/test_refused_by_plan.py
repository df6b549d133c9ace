"""What a release would be refused for, plan refuses: nothing that can be foreseen waits until a budget is spent."""

import json
import sys

import pytest

SPEC = """
budget = {{ zcdp = "0.1" }}
[domain]
age = ["0-11", "12+"]
sex = ["f", "m"]
{domain}
[[workload]]
order = 2
[output]
{output}
"""
KNOWN = "nonnegative = true\nknown = ["
POINTS = [[0, 0], [1, 0], [1, 1], [0, 0]]
FEATURE = {"type": "Feature", "properties": {"c": "x"}, "geometry": {"type": "Polygon", "coordinates": [POINTS]}}
REFUSED = {
    "a known table of nothing that is measured": ("", KNOWN + "{ query = ['age', 'sex', 'job'], counts = 1 }]", "job"),
    "known tables that contradict each other": (
        "",
        KNOWN + "{ query = [], counts = 7 }, { query = ['sex'], counts = [1, 2] }]",
        "contradict each other",
    ),
    "a known table of another shape": ("", KNOWN + "{ query = ['sex'], counts = [1, 2, 3] }]", "shape (2,)"),
    "a known table whose file is not there": ("", KNOWN + "{ query = ['sex'], file = 'no.csv' }]", "there is no file"),
    "a known table in a file of other cells": ("", KNOWN + "{ query = ['age'], file = 'sex.csv' }]", "first line must"),
    "an impossible cell that has no such label": ("", "nonnegative = true\nimpossible = [{ sex = 'x' }]", "'x'"),
    "facts that leave no possible table": (
        "",
        KNOWN + "{ query = ['age'], counts = [3, 0] }]\nimpossible = [{ age = '0-11' }]",
        "contradict",
    ),
    "amounts that are to be rounded": (
        "pay = { numeric = { low = 0, high = 9, bins = 3 } }",
        "round_to = 1",
        "amounts",
    ),
    "an attribute with the name of a column": ("estimate = 2", 'format = "csv"', "estimate"),
    "a quality of parts": ("", 'format = "parts"\nquality = { reliable = 0.1 }', "quality"),
    "a quality out of order": ("", "quality = { reliable = 0.4 }", "must not be above usable"),
    "a publication without words": ("", "publication = { title = 7 }", "title"),
    "a map whose file is not there": ("", "maps = { sex = { geojson = 'no.json', code = 'c' } }", "[output.maps] sex"),
    "a map of an attribute that is not there": ("", "maps = { job = { geojson = 'g.json', code = 'c' } }", "'job'"),
    "a map without a code": ("", "maps = { sex = { geojson = 'g.json', code = 'd' } }", "no property 'd'"),
    "a map of other areas": ("", "maps = { sex = { geojson = 'g.json', code = 'c' } }", "no table of 'sex' has areas"),
}


@pytest.mark.parametrize(("domain", "output", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("command", [("plan", "spec.toml"), ("release", "spec.toml", "records.csv", "-o", "out")])
def test_what_cannot_be_published_is_refused_before_a_plan_is_written(folder, run, domain, output, message, command):
    (folder / "spec.toml").write_text(SPEC.format(domain=domain, output=output))
    (folder / "records.csv").write_text("age,sex\n")
    (folder / "sex.csv").write_text("sex,count\nf,1\nm,2\n")
    (folder / "g.json").write_text(json.dumps({"type": "FeatureCollection", "features": [FEATURE]}))
    refused = run(*command, status=2)
    assert message in refused.stderr.replace("\n", " ")
    assert sorted(path.name for path in folder.iterdir()) == ["g.json", "records.csv", "sex.csv", "spec.toml"]


def test_a_plan_is_made_where_only_this_machine_cannot_write_the_tables(folder, run, records, monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    (folder / "spec.toml").write_text(SPEC.format(domain="", output='format = "xlsx"'))
    run("plan", "spec.toml", status=0)
    refused = run("release", "spec.toml", records, "-o", "out")
    assert refused.exit_code != 0
    assert "XlsxWriter" in refused.stderr
