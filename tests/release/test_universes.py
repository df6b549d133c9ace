"""Tables about some of the records agree with those about all, and say in every file which records they are about."""

import re
from functools import cache

import numpy as np
import pytest

import residualplanner as rp
from made_releases import any_release, exact_release, index_of
from universes import DOMAIN

EMPLOYED, OTHERS = {"employed": "yes"}, {"employed": ["part time", "no"]}
PAIR = ("sex", "age")
AMONG = rp.Among(PAIR, where=EMPLOYED)
SOME = rp.Among(("age", "employed"), where={"employed": ["yes", "part time"], "sex": 1})
ADULTS = rp.Among({"age": rp.Prefix()}, where={"age": "[18, 65)"})
QUERIES = [PAIR, AMONG, SOME, ADULTS, rp.Among((), where=OTHERS)]
DATA = np.random.default_rng(0).integers(0, 9, DOMAIN.sizes).astype(float)


@cache
def planned():
    return rp.select(rp.Workload(DOMAIN, QUERIES), budget=rp.zcdp(1))


def test_a_table_has_no_axis_for_an_attribute_that_only_selects():
    table = exact_release(planned(), DATA)[AMONG]
    assert table.names == ("sex", "age")
    assert table.title == "sex × age among employed: yes"
    assert table.universe == "employed: yes"
    assert table.where == {"employed": ("yes",)}
    assert table.query == AMONG
    np.testing.assert_allclose(table.estimate, DATA[:, :, 0].T, atol=1e-6)
    assert table.at(age="[18, 30)", sex="2").estimate == pytest.approx(DATA[1, 1, 0])
    assert list(table.to_frame().columns[:3]) == ["sex", "sex_meaning", "age"]
    assert table.to_frame(profile="gls")["query"][0] == "sex=1 (female), age=[0, 18) among employed: yes"
    assert str(table).startswith("sex × age among employed: yes: 8 cells")
    assert "among employed: yes" in table._repr_html_()
    assert table.plot().title == table.title
    with pytest.raises(rp.errors.DomainError, match="the table has no attribute 'employed'"):
        table.at(age="[18, 30)", sex=2, employed="yes")


def test_an_attribute_of_the_table_has_the_selected_labels_only():
    table = exact_release(planned(), DATA)[SOME]
    assert table.labels[1] == ("yes", "part time")
    np.testing.assert_allclose(table.estimate, DATA[:, 0, :2], atol=1e-6)
    over = table.sum("employed")
    assert over.query == rp.Among(("age",), where={"sex": 1, "employed": ["yes", "part time"]})
    np.testing.assert_allclose(over.estimate, DATA[:, 0, :2].sum(axis=1), atol=1e-6)
    assert table.sum("age", "employed").title == "(total) among sex: 1, employed: yes or part time"


@pytest.mark.parametrize("file_format", ["csv", "parts"])
def test_files_hold_the_tables_and_say_which_records_they_are_about(tmp_path, file_format):
    release = exact_release(planned(), DATA)
    release.save(tmp_path / "tables", format=file_format)
    saved = rp.load_tables(tmp_path / "tables")
    for query in release:
        np.testing.assert_array_equal(saved[query].estimate, release[query].estimate)
        assert saved[query].title == release[query].title
    assert saved[rp.Among(("age", "sex"), where=EMPLOYED)].estimate.shape == (4, 2)
    assert "sex × age among employed: yes" in set(saved.numbers.errors["query"])
    kinds = {each["in_names"]: each for each in saved.numbers.metadata["tables"]["attributes"][2]["kinds"]}
    assert kinds["employed@among-yes"]["among"] == ["yes"]
    assert not kinds["employed@among-yes"]["is_column"]
    if file_format != "parts":
        names = [row["name"] for row in index_of(tmp_path / "tables")]
        assert "sex.age.employed@among-yes" in names
        assert all(re.fullmatch(r"[A-Za-z0-9_.@~-]+", name) for name in names)
        assert "employed" not in saved.numbers.frame(AMONG).columns


def test_selections_with_equal_words_in_file_names_are_told_apart(tmp_path):
    domain = rp.Domain({"sex": 2, "job": ["Größe", "größe!", "北", "南", "größe 1"]})
    queries = [rp.Among(("sex",), where={"job": label}) for label in domain["job"].value_labels]
    release = any_release(rp.select(rp.Workload(domain, queries), budget=rp.pcost(1)))
    release.save(tmp_path / "tables", format="csv")
    files = [row["file"] for row in index_of(tmp_path / "tables")]
    assert len(set(map(str.lower, files))) == 5
    assert all(file.isascii() for file in files)
    assert list(rp.load_tables(tmp_path / "tables")) == list(release)
