"""One folder for all tables: whole or not at all, read back bit for bit, and refused where it was altered."""

import datetime as dt
import json
import random
import shutil

import numpy as np
import pyarrow as pa
import pytest

import residualplanner as rp
from linked_units import linked_tables, random_units, records_of
from residualplanner import linked

TABLES = linked_tables()
PLAN = linked.select(TABLES, budget=rp.zcdp("0.5"))
DATA = records_of(random_units(random.Random(2), most=30), random.Random(2))
RELEASE = linked.reconstruct(linked.measure(PLAN, DATA, ledger=rp.Ledger.unlimited("test", records_per_person=4)))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved") / "release"
    RELEASE.save(folder, "csv")
    return folder


def test_what_was_saved_is_read_bit_for_bit(saved):
    found = linked.load(saved)
    assert found.sentence == RELEASE.sentence
    assert found.plan.sha256 == PLAN.sha256
    assert found.plan.tables.to_json() == TABLES.to_json()
    assert found.plan.loss_value == PLAN.loss_value
    for name, release in RELEASE.items():
        for query in release:
            assert (found[name][query].estimate == release[query].estimate).all()
    assert rp.reconstruct(rp.load_tables(saved / "persons"))["age"].std_err[0] == RELEASE["persons"]["age"].std_err[0]
    assert repr(found) == "<LinkedRelease of 'households' and 'persons'>"


def test_the_page_has_the_sentence_and_every_rule(saved):
    page = (saved / "README.md").read_text(encoding="utf-8")
    assert RELEASE.sentence in page
    assert "| [persons](persons/) | 6 | up to 3 |" in page
    assert "- `children` of households: whether there is a record in 'persons' where age is 0-17" in page
    assert sorted(path.name for path in saved.iterdir()) == ["README.md", "households", "linked.json", "persons"]


@pytest.mark.parametrize("fails", ["households", "persons"])
def test_a_folder_is_whole_or_not_there(fails, tmp_path):
    """A table that cannot be written leaves nothing of the others."""

    class Failing:
        def save(self, *_given, **_named):
            raise OSError("the disk is full")

    broken = linked.LinkedRelease(PLAN, RELEASE.releases | {fails: Failing()})
    with pytest.raises(OSError, match="the disk is full"):
        broken.save(tmp_path / "release")
    assert [*tmp_path.iterdir()] == []
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_text("kept")
    with pytest.raises(FileExistsError):
        RELEASE.save(tmp_path / "there")


def test_rules_about_dates_and_integers_are_saved(tmp_path):
    days = rp.Domain({"day": rp.Attribute("day", labels=[dt.date(2020, 1, day) for day in (1, 2)]), "ward": 3})
    rule = linked.AnyOf("visits", where={"day": [dt.date(2020, 1, 2)], "ward": np.arange(2).tolist()}, absent=False)
    patients = rp.Domain({"second": rp.Attribute("second", labels=[False, True])})
    tables = linked.LinkedTables(
        {
            "patients": linked.LinkedTable(rp.marginals(patients, order=1), derived={"second": rule}),
            "visits": (rp.marginals(days, order=1), 2),
        },
        unit="id",
    )
    plan = linked.select(tables, budget=rp.zcdp(10**6))
    visits = pa.table({"id": [1, 1, 2], "day": ["2020-01-01", "2020-01-02", "2020-01-02"], "ward": [0, 1, 2]})
    data = {"patients": pa.table({"id": [1, 2, 3]}), "visits": visits}
    ledger = rp.Ledger.unlimited("test", records_per_person=3)
    linked.reconstruct(linked.measure(plan, data, ledger=ledger)).save(tmp_path / "release")
    found = linked.load(tmp_path / "release")
    assert found.plan.tables["patients"].derived == {"second": rule}
    assert found["patients"]["second"].estimate.round().tolist() == [2, 1]


ALTERED = {
    "another version": lambda stated: stated | {"version": 2},
    "a smaller cost": lambda stated: stated | {"pcost": "1/2"},
    "another sentence": lambda stated: stated | {"guarantee": "This is private."},
    "a larger budget": lambda stated: stated | {"budget": rp.zcdp(9).to_json()},
    "a smaller budget": lambda stated: stated | {"budget": rp.zcdp("0.1").to_json()},
    "fewer records": lambda stated: changed(stated, "persons", "records", 2),
    "another order": lambda stated: changed(stated, "persons", "order", "age of head"),
    "no rules": lambda stated: changed(stated, "persons", "derived", []),
    "an unknown rule": lambda stated: changed(
        stated, "persons", "derived", {"size": {"kind": "mean", "of": "persons"}}
    ),
    "another manifest": lambda stated: changed(stated, "persons", "manifest_sha256", "0" * 64),
    "a path": lambda stated: stated | {"tables": {"../x": stated["tables"]["persons"]}},
    "no tables": lambda stated: stated | {"tables": []},
    "nothing": lambda _: {},
    "a list": lambda _: [],
}


def changed(stated, name, word, value):
    return stated | {"tables": stated["tables"] | {name: stated["tables"][name] | {word: value}}}


@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_manifest_is_refused(what, saved, tmp_path):
    shutil.copytree(saved, tmp_path / "copy")
    path = tmp_path / "copy" / "linked.json"
    path.write_text(json.dumps(ALTERED[what](json.loads(path.read_text()))))
    with pytest.raises(rp.errors.FileFormatError, match=r"linked\.json: .*copy the folder again"):
        linked.load(tmp_path / "copy")


def test_what_is_no_release_of_several_tables_is_refused(saved, tmp_path):
    with pytest.raises(rp.errors.FileFormatError, match="load_tables reads one of one"):
        linked.load(saved / "persons")
    shutil.copytree(saved, tmp_path / "copy")
    shutil.rmtree(tmp_path / "copy" / "persons")
    with pytest.raises(rp.errors.FileFormatError, match=r"persons.manifest\.json is missing"):
        linked.load(tmp_path / "copy")


def test_totals_of_tables_that_count_the_same_agree_within_their_margins():
    """Persons by size, and households by size times their size."""
    plan = linked.select(TABLES, budget=rp.zcdp(10**6))
    found = linked.reconstruct(linked.measure(plan, DATA, ledger=rp.Ledger.unlimited("test", records_per_person=4)))
    by_household = found["households"]["size"].estimate[1:] * [1, 2, 3]
    of_persons = found["persons"][["tenure", "size"]].estimate[:2].sum(axis=0)
    assert np.allclose(by_household, of_persons, atol=1)
