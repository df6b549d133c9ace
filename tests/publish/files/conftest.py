"""One rich release, and its folders in formats and profiles, which the files of tests here share."""

import pytest

import residualplanner as rp
from made_releases import any_release

#: Labels that programs take for something else.
NASTY = ["=SUM(A1)", "01", "+1", "-1", "@x", '"', "a,b", "line\nbreak\r\n", "", " x ", "Größe €", "NULL", "_x000D_"]
DOMAIN = rp.Domain(
    {
        "a": rp.Bins([0, 1, 2, 3]),
        "b": ["01", "02"],
        "one": 1,
        "id": [2**60, -5],
        "yes": [False, True],
        "text, or so": NASTY,
        "_one": 1,
    }
)
KINDS = [
    rp.Prefix(),
    rp.Range(),
    rp.Custom([[1, 1, 1], [1, 0, 2]], labels=["all", "x, y"]),
    rp.Custom([[1, 1, 1], [2, 0, 1]]),
]
QUERIES = [query for kind in KINDS for query in ({"a": kind}, {"a": kind, "b": rp.Prefix()})]
QUERIES += [{"b": rp.Hierarchy([{"low": ["01"], "high": ["02"]}])}, {"yes": rp.Custom([[1, 1], [1, 0]])}]


@pytest.fixture(scope="session")
def rich():
    """A release of odd labels, numbers and names, in several kinds of query."""
    workload = rp.marginals(DOMAIN, up_to=2) + rp.Workload(DOMAIN, QUERIES)
    return any_release(rp.select(workload, budget=rp.zcdp(0.5), bases="optimal"))


@pytest.fixture(scope="session")
def home(rich, tmp_path_factory):
    """A folder with those of the release, each called by its format and profile."""
    home = tmp_path_factory.mktemp("releases")
    for name in ("parquet-default", "csv-default", "xlsx-default", "csv-acs", "csv-gls", "parquet-gls"):
        file_format, profile = name.split("-")
        rich.save(home / name, file_format, profile=profile)
    return home
