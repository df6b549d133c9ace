"""Tables are looked up by label, summed up, shown and handed to other libraries; whatever users wrote is escaped."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from made_releases import any_release
from random_plans import planned
from residualplanner.release.statistic_forms import TABLES

HOSTILE = "<script>alert('x')</script>"
DOMAIN = rp.Domain({"sex": ["F", "M"], "age": rp.Bins([0, 18, 65, 100]), "n": 30, HOSTILE: [HOSTILE, "&amp;"]})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2) + rp.Workload(DOMAIN, [{"n": rp.Prefix()}]), budget=rp.zcdp("0.5"))
RELEASE = any_release(PLAN)
TABLE = RELEASE["sex", "age"]


def test_a_cell_is_found_by_its_labels():
    for i, sex in enumerate(["F", "M"]):
        for j, age in enumerate(["[0, 18)", "[18, 65)", "[65, 100]"]):
            found = TABLE.at(age=age, sex=sex)
            assert found.estimate == TABLE.estimate[i, j]
            assert found.variance == pytest.approx(PLAN.variance(("sex", "age"))[i, j], rel=1e-12)
    assert RELEASE["n"].at(n=7) == RELEASE["n"].at(n="7")
    assert RELEASE[()].at().estimate == RELEASE[()].estimate


def test_labels_may_stand_in_the_order_of_the_attributes():
    first, second = TABLE.names
    labels = dict(zip(TABLE.names, (each[1] for each in TABLE.labels), strict=True))
    assert TABLE.at(*labels.values()) == TABLE.at(labels[first], **{second: labels[second]}) == TABLE.at(**labels)
    for in_order, named in (((*labels.values(), "F"), {}), (tuple(labels.values()), {first: labels[first]})):
        with pytest.raises(rp.errors.DomainError, match="has one label for each of"):
            TABLE.at(*in_order, **named)


def test_an_estimate_is_shown_rounded_and_divided_as_a_number():
    one, other = TABLE.at("F", "[0, 18)"), TABLE.at("M", "[0, 18)") + 1000
    ratio, inverse = one / other, 1000 / other
    low, high = ratio.interval()
    assert repr(ratio) == f"RatioEstimate({float(ratio):.6g}, from {low:.6g} to {high:.6g} at 95%)"
    assert round(other, 1) == round(other.estimate, 1)
    assert round(ratio, 3) == round(ratio.estimate, 3)
    assert float(inverse) == pytest.approx(1000 / float(other))
    assert inverse.std_err == pytest.approx(1000 * other.std_err / float(other) ** 2)
    assert float(2 / ratio) == pytest.approx(2 / float(ratio))


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"sex": "F"}, "give a label of each attribute; attribute 'age' has none"),
        ({"sx": "F", "age": "[0, 18)"}, r"no attribute 'sx'; it has \['sex', 'age'\]; did you mean 'sex'"),
        ({"sex": True, "age": "[0, 18)"}, "'sex' has no label True"),
        ({"sex": "F", "age": "[0, 19)"}, r"'age' has no label '\[0, 19\)'; .*did you mean '\[0, 18\)'"),
    ],
)
def test_labels_that_are_not_there_are_refused_with_the_nearest(labels, words):
    with pytest.raises(rp.errors.DomainError, match=words):
        TABLE.at(**labels)


@given(plan=planned(smallest=2), data=st.data())
def test_a_sum_is_the_table_without_the_attribute_with_its_exact_variance(plan, data):
    release = any_release(plan)
    members = data.draw(st.sampled_from([query for query in plan.workload if query] or [None]))
    if members is None:
        return
    axis = data.draw(st.integers(0, len(members) - 1))
    rest = tuple(name for i, name in enumerate(members) if i != axis)
    summed = release[members].sum(members[axis])
    np.testing.assert_allclose(summed.estimate, release[rest].estimate, atol=1e-9)
    cells = np.moveaxis(np.arange(release[members].estimate.size).reshape(release[members].estimate.shape), axis, 0)
    adding = np.zeros((summed.estimate.size, cells.size))
    for layer in cells.reshape(len(cells), -1):
        adding[np.arange(summed.estimate.size), layer] = 1
    covariance = adding @ plan.covariance(members) @ adding.T
    np.testing.assert_allclose(summed.variance.ravel(), np.diag(covariance), rtol=1e-9)


def test_rows_are_summed_up_where_every_value_is_in_one():
    apart, overlapping = rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1]]), rp.Custom([[1, 1, 1, 1], [0, 1, 1, 1]])
    refused = [rp.Prefix(), rp.Range(), rp.Hierarchy([2]), overlapping]
    queries = [{"a": kind} for kind in (rp.Identity(), apart, *refused)]
    release = any_release(rp.select(rp.Workload(rp.Domain({"a": 4}), queries), budget=rp.zcdp(1)))
    for query in queries[:2]:
        np.testing.assert_allclose(release[query].sum("a").estimate, release[()].estimate)
    for query in queries[2:]:
        with pytest.raises(rp.errors.WorkloadError, match=r"the rows of .* on 'a' do not add up"):
            release[query].sum("a")
    for names in ((), ("sex", "sex"), ("n",)):
        with pytest.raises(rp.errors.DomainError):
            TABLE.sum(*names)


def test_a_console_shows_the_first_cells_and_says_how_many_there_are():
    lines = repr(RELEASE["n"]).splitlines()
    assert lines[0].startswith("n: 30 cells; no guarantee: seeded")
    assert lines[1].split() == ["n", "estimate", "std_err"]
    assert [line.split()[0] for line in lines[2:22]] == [str(i) for i in range(20)]
    assert lines[22:] == ["and 10 more; .to_frame() has all"]
    assert len(repr(TABLE).splitlines()) == 8


@pytest.mark.parametrize(
    "noun",
    [
        DOMAIN,
        PLAN,
        PLAN.workload,
        RELEASE,
        RELEASE[(HOSTILE,)],
        rp.Ledger(rp.zcdp(1), data_set=HOSTILE),
        rp.Ledger(rp.zcdp(1)).balance,
        rp.Session(np.zeros((0, 2)), budget=rp.zcdp(1), data_set=HOSTILE),
        rp.questions.compare([PLAN]),
        DOMAIN.attributes[0],
        rp.Attribute(HOSTILE, labels={"<script>": HOSTILE}),
        PLAN.resource_estimate(records=1000),
        RELEASE.measurement,
        rp.reconstruct([RELEASE.measurement, any_release(PLAN, seed=2).measurement]).measurement,
    ],
    ids=lambda noun: type(noun).__name__,
)
def test_a_notebook_shows_tables_in_which_nothing_is_markup(noun):
    html = noun._repr_html_()
    assert "<table" in html
    assert "<script" not in html


def test_pictures_are_shown_and_saved(tmp_path):
    picture = TABLE.plot()
    starts = {".svg": b"<?xml", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    for ending, start in starts.items():
        picture.save(tmp_path / f"table{ending}")
        assert (tmp_path / f"table{ending}").read_bytes().startswith(start)
    assert (tmp_path / "table.svg").read_text() == picture._repr_svg_()
    assert picture.figure().axes
    with pytest.raises(rp.errors.WorkloadError, match=r"must end in one of .*, got '.gif'"):
        picture.save(tmp_path / "x.gif")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".pdf", ".png", ".svg"]


@pytest.mark.parametrize("kind", TABLES, ids=lambda kind: kind.statistics)
def test_a_table_of_sums_says_which_function_computes_the_statistic(kind):
    pay = rp.Numeric(0, 100, bins=[0, 20, 50, 100], squares=True)
    domain = rp.Domain({"sex": ["F", "M"], "pay": ["low", "high"] if kind is rp.Proportions else pay})
    query = {"sex": rp.Identity(), "pay": kind(0.5) if kind is rp.Quantiles else kind()}
    plan = rp.select(rp.Workload(domain, [query, ("sex",)]), budget=rp.zcdp(1))
    release = any_release(plan)
    assert kind.statistics.replace(" ", "_") in rp.statistics.__all__
    for shown in (repr(release[query]), release[query]._repr_html_()):
        assert f"sums that {kind.statistics} are made of, which rp.statistics computes" in shown
    assert "rp.statistics" not in repr(release["sex"])
