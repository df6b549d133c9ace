"""A saved release is the release: every number, every query, whole or not at all, and nothing about the records."""

import hashlib
import itertools
import json
import os
import tracemalloc
import urllib.parse

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release, index_of
from random_plans import IDENTITY, plan_of, random_matrix
from residualplanner.publish.files import file_names

DOMAIN = rp.Domain(
    {"age": rp.Bins([0, 10, 20]), "one": 1, "sex": ["F", "M, or so"], "code": [7, 30], "yes": [False, True], "n/a": 3}
)
PLAN = rp.select(rp.marginals(DOMAIN, up_to=3), budget=rp.zcdp(0.5))
RELEASE = any_release(PLAN, seed=12345)


@pytest.fixture(scope="module", params=["parquet", "csv"])
def saved(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "out"
    RELEASE.save(folder, format=request.param, level=0.9)
    return folder


def test_the_index_names_every_file_once_with_its_hash(saved):
    rows = index_of(saved)
    files = [row["file"] for row in rows]
    there = {f"tables/{path.name}" for path in (saved / "tables").iterdir()} - {"tables/csv-metadata.json"}
    assert sorted(files) == sorted(there)
    assert len(set(files)) == len(files)
    for row in rows:
        assert hashlib.sha256((saved / row["file"]).read_bytes()).hexdigest() == row["sha256"]
    assert [row["query"] for row in rows] == PLAN.errors()["query"].tolist()
    by_query = {row["query"]: row for row in rows}
    assert by_query["age × sex"]["file"].startswith("tables/age.sex.")
    assert by_query["n/a"]["file"].startswith("tables/n~2Fa.")
    assert by_query["(total)"]["file"].startswith("tables/_total.")
    assert by_query["age × sex"]["cells"] == "4"


def test_the_manifest_says_what_was_spent_on_what(saved):
    manifest = json.loads((saved / "manifest.json").read_text())
    plan, noise = manifest["plan"], manifest["noise"]
    expected = {
        "sha256": json.loads((saved / "metadata.json").read_text())["plan_sha256"],
        "budget": rp.zcdp(0.5).to_json(),
        "neighbors": "add-remove",
        "protected_change": "adding or removing one record",
        "pcost": PLAN.pcost,
        "gap": 0,
    }
    assert expected.items() <= plan.items()
    assert rp.Domain.from_json(plan["domain"]) == DOMAIN
    assert (noise["randomness"], noise["source"]) == (
        "seeded, not private",
        "numpy.random.SFC64 with a seed from the caller",
    )
    assert manifest["package_versions"].keys() == {"residualplanner", "python", "numpy", "scipy", "pyarrow"}
    for name, digest in manifest["files"].items():
        assert hashlib.sha256((saved / name).read_bytes()).hexdigest() == digest
    beside = {name for name in manifest["files"] if "/" not in name}
    assert beside == {"errors.csv", "index.csv", "metadata.json", "release.plan", "release.measurement"}
    assert {path.name for path in saved.iterdir()} == {*beside, "manifest.json", "tables"}


def test_a_release_of_one_measurement_is_always_the_same_and_tells_no_number_of_records(tmp_path):
    manifests = []
    for records in (0, 1, 5000):
        codes = np.random.default_rng(records).integers(0, DOMAIN.sizes, (records, len(DOMAIN)))
        rp.measure(PLAN, codes).save(tmp_path / "measurement")
        folder = tmp_path / str(records)
        rp.reconstruct(rp.load_measurement(tmp_path / "measurement")).save(folder)
        again = tmp_path / f"{records} again"
        rp.reconstruct(rp.load_measurement(tmp_path / "measurement")).save(again)
        for path in folder.rglob("*.*"):
            assert path.read_bytes() == (again / path.relative_to(folder)).read_bytes()
        manifest = json.loads((folder / "manifest.json").read_text())
        del manifest["files"]["index.csv"], manifest["files"]["release.measurement"]
        manifests.append(manifest)
    assert manifests[0] == manifests[1] == manifests[2]


names = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1, max_size=5, unique=True)


@given(
    names=names
    | st.lists(
        st.sampled_from(["con", "Con", "aux"]) | st.text("aA_.%/~", min_size=1, max_size=4),
        min_size=1,
        max_size=5,
        unique=True,
    )
)
def test_different_queries_have_different_files_even_where_case_is_ignored(names):
    parts = file_names.encoded_names(names)
    assert not {part.lower() for part in parts} & {"con", "aux"}, "Windows keeps these for devices"
    queries = [chosen for order in (0, 1, 2) for chosen in itertools.combinations(parts, order)]
    stems = [file_names.file_stem(query) for query in queries]
    assert len({stem.lower() for stem in stems}) == len(stems)
    assert all(set(stem) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.~") for stem in stems)
    assert not any(stem.startswith(".") for stem in stems)
    assert [urllib.parse.unquote(stem) for stem in stems] == stems
    assert [urllib.parse.quote(stem) for stem in stems] == stems


def test_very_long_names_are_cut_and_stay_different():
    parts = file_names.encoded_names(["é" * 60 + "a", "é" * 60 + "b"])
    stems = {file_names.file_stem(parts[:1]), file_names.file_stem(parts[1:]), file_names.file_stem(parts)}
    assert len(stems) == 3
    assert max(map(len, stems)) == 150


@pytest.mark.slow
def test_memory_does_not_grow_with_the_release(tmp_path):
    """The tables of the large release take 24 MB; a few at a time are held."""
    plan = rp.select(rp.marginals(rp.Domain({f"a{i}": 10 for i in range(14)}), order=4), budget=rp.zcdp(1))
    release = any_release(rp.select(rp.Workload(plan.domain, list(plan.workload)[:300]), budget=rp.zcdp(1)))
    release[next(iter(release))].to_frame()
    tracemalloc.start()
    release.save(tmp_path / "out")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"format": "xls"}, rp.errors.WorkloadError, r"format must be one of \['parquet', 'csv', .*, got 'xls'"),
        ({"profile": "census"}, rp.errors.WorkloadError, r"profile must be one of .*'gls'\], got 'census'"),
        ({"level": 1.0}, rp.errors.BudgetError, "level must be between 0 and 1"),
        ({"level": float("nan")}, rp.errors.BudgetError, "level must be between 0 and 1"),
    ],
)
def test_bad_options_are_refused_and_leave_nothing(tmp_path, options, error, reason):
    with pytest.raises(error, match=reason):
        RELEASE.save(tmp_path / "out", **options)
    if "format" not in options:
        with pytest.raises(error, match=reason):
            RELEASE["yes"].to_frame(**options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("format", ["csv", "parts"])
def test_a_folder_with_something_in_it_is_left_alone(tmp_path, format):
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(FileExistsError, match="is not empty; name a new folder"):
        RELEASE.save(tmp_path, format)
    assert os.listdir(tmp_path) == ["mine"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_an_interrupted_release_leaves_nothing(tmp_path, failure):
    def stop(_done, _total):
        raise failure

    with pytest.raises(failure):
        RELEASE.save(tmp_path / "out", progress=stop)
    assert not list(tmp_path.iterdir())


#: One attribute queried in five kinds, two pairs of one name; one for its values only; both sorts of basis.
FIRST, SECOND = (
    rp.Custom([[1, 1, 1, 1], [1, 0, 0, 0]]),
    rp.Custom([[1, 1, 1, 1], [0, 1, 0, 0]], labels=["all", "it, too"]),
)
GROUPS = [rp.Hierarchy([{"x": low, "y": high}]) for low, high in (([0, 1], [2, 3]), ([0], [1, 2, 3]))]
FIRST_BASIS = random_matrix(4, 3, 1)
SEVERAL = plan_of(
    (4, 3, 1),
    (FIRST_BASIS, None, None),
    [
        {"a": kind, **dict.fromkeys("bc"[:others], IDENTITY)}
        for kind in (IDENTITY, rp.Prefix(), FIRST, SECOND, *GROUPS)
        for others in (0, 1, 2)
    ],
)


@pytest.fixture(scope="module")
def of_kinds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds") / "out"
    any_release(SEVERAL).save(folder, "csv")
    return folder


def test_the_index_says_which_kinds_a_file_answers(of_kinds):
    found = {(row["query"], row["kinds"], row["file"].split("/")[1].rsplit(".", 1)[0]) for row in index_of(of_kinds)}
    assert ("a", "prefix", "a@prefix") in found
    assert {name for query, kinds, name in found if query == "a" and kinds == "custom"} == {"a@custom1", "a@custom2"}
    assert {name for query, _, name in found if query == "a × b"} == {
        "a.b", "a@prefix.b", "a@custom1.b", "a@custom2.b", "a@hierarchy1.b", "a@hierarchy2.b"
    }  # fmt: skip


def test_the_manifest_says_what_is_queried_and_was_measured(of_kinds):
    manifest = json.loads((of_kinds / "manifest.json").read_text())
    assert manifest["plan"]["kinds"] == [kind.to_json() for kind in SEVERAL.workload.kinds]
    pcost = max(sum(int(x) ** 2 for x in column) for column in FIRST_BASIS.T)
    assert manifest["plan"]["bases"] == {
        "a": {"family": "given", "answers": 3, "pcost": str(pcost)},
        "b": {"family": "subtraction", "answers": 2, "pcost": "2/3"},
        "c": {"family": "subtraction", "answers": 0, "pcost": "0"},
    }


@given(names=st.lists(st.sampled_from(["a", "a@prefix", "prefix", "a%40", "a@custom1"]), min_size=1, unique=True))
def test_names_that_look_like_kinds_do_not_collide_with_them(names):
    kinds = [IDENTITY, rp.Prefix(), FIRST, SECOND]
    parts = [part for name in file_names.encoded_names(names) for part in file_names.parts_of_kinds(name, kinds)]
    assert len(set(parts)) == len(names) * len(kinds)
