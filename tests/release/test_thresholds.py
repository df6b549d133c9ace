"""Tables of r-of-k thresholds count the records that match, in every release that is made and in every file."""

import numpy as np
import pytest

import residualplanner as rp
from made_releases import exact_release
from strategies import NAMES
from thresholds import rows_of

DOMAIN = rp.Domain({"a": 3, "b": 2, "one": 1, "c": 4})
EITHER, MOST = rp.Threshold(("c", "a"), 1), rp.Threshold(("a", "b", "c"), 2)
BESIDE = {"c": rp.Prefix(), "b": rp.Matching(1), "one": rp.Matching(1), "a": rp.Identity()}
DATA = np.random.default_rng(0).integers(0, 9, DOMAIN.sizes).astype(float)


def answers(query, data):
    """The rows of a query times the data, in the shape of its table."""
    kinds = dict(query) if isinstance(query, dict | rp.Threshold) else dict.fromkeys(query, rp.Identity())
    renamed = {NAMES[DOMAIN.names.index(name)]: kind for name, kind in kinds.items()}
    return (rows_of(DOMAIN.sizes, renamed) @ data.ravel()).reshape([DOMAIN[name].size for name in kinds])


def plan_with_all():
    return rp.select(rp.Workload(DOMAIN, [EITHER, MOST, BESIDE, ("a", "c")]), budget=rp.zcdp(1))


def test_any_threshold_within_a_query_is_answered_in_the_order_in_which_it_is_written():
    release = exact_release(rp.select(rp.Workload(DOMAIN, [("a", "b", "c")]), budget=rp.pcost(1)), DATA)
    for query in (MOST, EITHER, rp.Threshold(("b", "c", "a"), 1), rp.Threshold(("b", "a"), 1)):
        table = release[query]
        assert table.query == query
        np.testing.assert_allclose(table.estimate, answers(query, DATA), atol=1e-9)
        np.testing.assert_allclose(table.std_err, release.plan.variance(query) ** 0.5)
    assert release[MOST].at(a=0, b=1, c=3).estimate == pytest.approx(answers(MOST, DATA)[0, 1, 3])


def test_cells_of_a_threshold_overlap_so_that_they_are_not_summed():
    table = exact_release(plan_with_all(), DATA)[EITHER]
    with pytest.raises(rp.errors.WorkloadError, match="the rows of at least 1 on 'c' do not add up to the number"):
        table.sum("c")
    weights = np.array([[1.0, 0, 0], [0, 0, 0], [0, -1, 0], [0, 0, 2]])
    assert table.combine(weights).estimate == pytest.approx(float((weights * answers(EITHER, DATA)).sum()))


def test_what_was_measured_in_a_basis_that_tells_values_apart_answers_no_threshold():
    workload = rp.Workload(DOMAIN, [{"a": rp.Range(), "b": rp.Identity()}])
    release = exact_release(rp.select(workload, budget=rp.pcost(1)), DATA)
    either = rp.Threshold(("a", "b"), 1)
    with pytest.raises(rp.errors.WorkloadError, match="what was measured of 'a' does not answer at least 1"):
        release[either]
    with pytest.raises(rp.errors.WorkloadError, match="'a' tells its values apart, and a threshold treats them"):
        release.plan.variance(either)


# Made from unbiased tables.


def noisy_release():
    return rp.reconstruct(rp.measure(plan_with_all(), np.random.default_rng(0).integers(0, 2, (9, 4)) * [1, 1, 0, 1]))


def test_thresholds_of_non_negative_and_of_rounded_tables_are_those_of_their_marginals():
    release = noisy_release()
    made = rp.nonnegative(release)
    for tables in (made, rp.rounded(made), rp.rounded(release), rp.rounded(release, base=5)):
        for query in (MOST, EITHER):
            marginal = tables[query.attributes].estimate
            rows = rows_of(marginal.shape, rp.Threshold(tuple("abcd"[: marginal.ndim]), query.at_least))
            np.testing.assert_allclose(tables[query].estimate.ravel(), rows @ marginal.ravel(), atol=1e-6)
    assert all((table.estimate >= 0).all() for table in made.tables())
    whole = rp.rounded(made)[MOST].estimate
    np.testing.assert_array_equal(whole, np.rint(whole))


@pytest.mark.parametrize("facts", [["total"], ["a"], ["ac"], ["cells"], ["a", "cells"]])
def test_no_true_count_of_a_threshold_is_outside_the_limits(facts):
    data = DATA.copy()
    data[0, 1] = 0
    known = {"total": ((), data.sum()), "a": ("a", data.sum(axis=(1, 2, 3))), "ac": (("a", "c"), data.sum(axis=(1, 2)))}
    given = [known[fact] for fact in facts if fact in known]
    impossible = [{"a": 0, "b": 1}] if "cells" in facts else []
    tables = rp.nonnegative(exact_release(plan_with_all(), data), known=given, impossible=impossible)
    for query in (EITHER, MOST, BESIDE):
        low, high = tables[query].interval(0.5)
        assert (low <= answers(query, data) + 1e-6).all()
        assert (answers(query, data) <= high + 1e-6).all()
    if "ac" in facts:
        np.testing.assert_allclose(tables[EITHER].interval()[0], answers(EITHER, data))


def test_a_threshold_that_is_known_is_to_be_given_as_its_marginal():
    with pytest.raises(rp.errors.WorkloadError, match="give the marginal of these attributes"):
        rp.nonnegative(noisy_release(), known=[(EITHER, np.ones((4, 3)))])
