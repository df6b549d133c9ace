"""A query means the same wherever one is written: all kinds in all places, answered by hand, cell by cell.

The answers of the oracle are loops over single cells of a table of all attributes; a kind is what its rows say.
"""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp

DOMAIN = rp.Domain({"a": ["x", "y", "z"], "age": rp.Bins([0, 10, 20, 40]), "c": ["no", "yes"]})
SIZES = {"a": 3, "age": 3, "c": 2}
EACH = {name: [[float(code == row) for code in range(size)] for row in range(size)] for name, size in SIZES.items()}
UP_TO = [[1.0, 0, 0], [1, 1, 0], [1, 1, 1]]
RUNS = [[1.0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 1, 1], [0, 0, 1]]
#: Of the first edge, 10, and of the second, 20: half of the records below it less half of those above.
MEDIAN = [[1.0, 1, 1], [0.5, -0.5, -0.5], [0.5, 0.5, -0.5]]
TREE = rp.Hierarchy([{"xy": ["x", "y"], "z or so": ["z"]}], total=True)
LINEAR = [[1.0, 1, 1], [0, 2, 5], [-1, 0, 0.5]]
#: Queries, and of each attribute in the order of the axes its rows; an attribute of whose values one must match is a
#: "match", and one in which records are only selected has no axis.
PRODUCTS = {
    "total": ((), {}),
    "one name": ("a", {"a": EACH["a"]}),
    "names": (("c", "a"), {"c": EACH["c"], "a": EACH["a"]}),
    "a list": (["age", "c"], {"age": EACH["age"], "c": EACH["c"]}),
    "a set": ({"c", "a"}, {"a": EACH["a"], "c": EACH["c"]}),
    "all names": (("c", "age", "a"), {"c": EACH["c"], "age": EACH["age"], "a": EACH["a"]}),
    "identity": ({"age": rp.Identity(), "a": rp.Identity()}, {"age": EACH["age"], "a": EACH["a"]}),
    "prefix": ({"c": rp.Identity(), "age": rp.Prefix()}, {"c": EACH["c"], "age": UP_TO}),
    "range": ({"age": rp.Range(), "a": rp.Prefix()}, {"age": RUNS, "a": UP_TO}),
    "hierarchy": (
        {"a": TREE, "c": rp.Identity()},
        {"a": [[1, 1, 1], [1, 1, 0], [0, 0, 1], *EACH["a"]], "c": EACH["c"]},
    ),
    "custom": ({"a": rp.Custom(LINEAR), "age": rp.Identity()}, {"a": LINEAR, "age": EACH["age"]}),
    "quantiles": ({"c": rp.Identity(), "age": rp.Quantiles(0.5)}, {"c": EACH["c"], "age": MEDIAN}),
    "selection": ({"a": rp.Selection(["y", "z"]), "age": rp.Identity()}, {"age": EACH["age"], "a": [[0, 1, 1]]}),
    "selected axis": (
        {"c": rp.Identity(), "a": rp.Selection(["x", "z"], rp.Identity())},
        {"c": EACH["c"], "a": [[1, 0, 0], [0, 0, 1]]},
    ),
    "among": (rp.Among(("c", "age"), where={"a": "y"}), {"c": EACH["c"], "age": EACH["age"], "a": [[0, 1, 0]]}),
    "kinds among": (
        rp.Among({"age": rp.Prefix()}, where={"a": ["x", "y"], "c": "yes"}),
        {"age": UP_TO, "a": [[1, 1, 0]], "c": [[0, 1]]},
    ),
    "among own values": (rp.Among(("age",), where={"age": ["[0, 10)", "[20, 40]"]}), {"age": [[1, 0, 0], [0, 0, 1]]}),
}
#: Thresholds: the attributes of which so many must match, how many, and the rows of the others, which come last.
THRESHOLDS = {
    "either": (rp.Threshold(("c", "a"), 1), ("c", "a"), 1, {}),
    "two of three": (rp.Threshold(("age", "a", "c"), 2), ("age", "a", "c"), 2, {}),
    "both": (rp.Threshold(("a", "c"), 2), ("a", "c"), 2, {}),
    "either among": (
        rp.Among(rp.Threshold(("a", "c"), 1), where={"age": "[0, 10)"}),
        ("a", "c"),
        1,
        {"age": [[1, 0, 0]]},
    ),
    "matching": ({"c": rp.Matching(1), "a": rp.Matching(1), "age": rp.Prefix()}, ("c", "a"), 1, {"age": UP_TO}),
}
QUERIES = [*PRODUCTS, *THRESHOLDS]


def written(name):
    return PRODUCTS[name][0] if name in PRODUCTS else THRESHOLDS[name][0]


def by_hand(name, cells):
    """The answers to a query, from the table (3, 3, 2) of all attributes, one cell after another."""
    matched, at_least, rows = ((), 0, PRODUCTS[name][1]) if name in PRODUCTS else THRESHOLDS[name][1:]
    shape = (*(SIZES[each] for each in matched), *(len(of_name) for of_name in rows.values()))
    found = np.zeros(shape)
    for answer, codes in product(np.ndindex(shape), np.ndindex(cells.shape)):
        cell = dict(zip(SIZES, codes, strict=True))
        matches = sum(cell[each] == value for each, value in zip(matched, answer, strict=False))
        others = zip(rows.items(), answer[len(matched) :], strict=True)
        weight = math.prod(of_name[number][cell[each]] for (each, of_name), number in others)
        found[answer] += cells[codes] * weight * (matches >= at_least)
    return found.reshape([size for size in shape if size > 1])


def records():
    return np.random.default_rng(7).integers(0, [3, 3, 2], (500, 3))


def released(workload):
    return rp.reconstruct(rp.measure(rp.select(workload, budget=rp.zcdp(0.5)), records(), noise="gaussian", seed=3))


@pytest.fixture(scope="module")
def release():
    return released(rp.Workload(DOMAIN, [("a", "age", "c"), *(written(name) for name in QUERIES)]))


@pytest.fixture(scope="module")
def marginals_release():
    return released(rp.marginals(DOMAIN, up_to=3))


@pytest.fixture(scope="module")
def relaxed():
    settings = rp.fits.rap.ProjectionSettings(relaxed_records=20, steps=20)
    plan = rp.fits.rap.RapPlan(
        rp.marginals(DOMAIN, order=2), budget=rp.zcdp(1), neighbors="replace", rounds=1, choices=2, projection=settings
    )
    return rp.fits.rap.rap(plan, records())


#: Places where queries are answered, and how nearly the answers are those of the cells.
PLACES = {"release": 1e-8, "non-negative": 1e-5, "csv": 1e-8, "parts": 1e-8, "synthetic records": 1e-4}


@pytest.mark.parametrize("place", PLACES)
def test_a_query_is_answered_as_the_cells_say(release, marginals_release, tmp_path, place):
    match place:
        case "csv" | "parts":
            release.save(tmp_path / "tables", place)
            tables = rp.load_tables(tmp_path / "tables")
        case "synthetic records":
            people = rp.synthesize(marginals_release, 50)
        case _:
            tables = rp.nonnegative(release) if place == "non-negative" else release
    table = people.expected if place == "synthetic records" else lambda query: tables[query].estimate
    cells = table(("a", "age", "c"))
    for name in QUERIES:
        np.testing.assert_allclose(table(written(name)), by_hand(name, cells), atol=PLACES[place], err_msg=name)


@pytest.mark.parametrize("name", QUERIES)
def test_a_plan_has_the_errors_of_the_same_answers(release, name):
    """By the covariance of all cells, which the answers are sums of."""
    plan, query = release.plan, written(name)
    rows = np.array([by_hand(name, cell.reshape(3, 3, 2)).ravel() for cell in np.eye(18)]).T
    covariance = rows @ plan.covariance(("a", "age", "c")) @ rows.T
    shape = by_hand(name, np.zeros((3, 3, 2))).shape
    assert plan.variance(query).shape == shape
    np.testing.assert_allclose(plan.variance(query).ravel(), np.diag(covariance), rtol=1e-8)
    np.testing.assert_allclose(plan.covariance(query), covariance, atol=1e-8)
    weights = np.arange(1.0, 1 + len(rows)).reshape(shape)
    combined = weights.ravel() @ covariance @ weights.ravel()
    assert plan.combination_variance(query, weights) == pytest.approx(combined, rel=1e-8)


@pytest.mark.parametrize("name", QUERIES)
def test_relaxed_records_answer_a_query_as_their_cells_do(relaxed, name):
    found, expected = relaxed.table(written(name)), by_hand(name, relaxed.table(("a", "age", "c")))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)


def fits(release):
    noisy = rp.fits.microdata.groups_of_release(release)
    yield rp.fits.microdata.least_squares(noisy)
    yield rp.fits.microdata.nonnegative_least_squares(noisy)
    answers = np.random.default_rng(1).normal(9, 2, (2, 3, 3, 3, 2))
    group = rp.fits.microdata.GroupAnswers(
        rp.fits.microdata.Marginal(["a", "age", "c"]), answers, rp.fits.microdata.Gaussian(2.0)
    )
    yield rp.fits.microdata.least_squares(rp.fits.microdata.NoisyGroups(DOMAIN, [group]))


def test_microdata_answer_a_query_as_their_cells_do(marginals_release):
    for fit in fits(marginals_release):
        draws = fit.estimate.reshape(-1, 3, 3, 2)
        for name in QUERIES:
            expected = np.array([by_hand(name, cells) for cells in draws])
            found = fit.table(written(name))
            np.testing.assert_allclose(found, expected.reshape(found.shape), atol=1e-8, err_msg=name)
            assert found.shape == (*fit.gap.shape, *expected.shape[1:])


@pytest.mark.parametrize("groups", ["job", ["job"], {"job": rp.Identity()}, {"job"}], ids=str)
def test_groups_of_statistics_are_written_as_any_query(groups):
    domain = rp.Domain({"job": 2, "sex": ["F", "M"], "pay": rp.Numeric(0, 100, bins=[50])})
    kinds = [{"job": rp.Identity(), "pay": kind} for kind in (rp.Mean(), rp.Quantiles(0.5))]
    about = [rp.Among(query, where={"sex": "F"}) for query in kinds]
    plan = rp.select(rp.Workload(domain, [*kinds, *about]), budget=rp.zcdp(0.5))
    people = pd.DataFrame({"job": [0, 1] * 50, "sex": ["F"] * 100, "pay": [10.0] * 100})
    release = rp.reconstruct(rp.measure(plan, people, noise="gaussian", seed=1))
    of_means, of_medians = (
        rp.statistics.means(release, "pay", groups),
        rp.statistics.quantiles(release, "pay", 0.5, groups),
    )
    assert of_means.names == of_medians.names == ("job",)
    among = rp.Among(("job",), where={"sex": "F"})
    assert rp.statistics.means(release, "pay", among).count.shape == (2,)
    for each in (groups, among):
        assert rp.questions.mean_std_err(plan, "pay", each, records=50).shape == (2,)


#: Queries that do not fit the domain, and what the message names.
WRONG = [
    (("a", "a"), "twice"),
    ({"d": rp.Identity()}, "unknown attribute 'd'"),
    ({"a": rp.Sum()}, "'a' has no amounts to sum up"),
    ({"a": rp.Mean()}, "'a' has no amounts to average"),
    ({"c": rp.Quantiles(0.5)}, "'c' has no amounts and no bins"),
    ({"a": rp.Matching(1)}, "Matching"),
    ({"a": rp.Prefix}, "kind of query on 'a'"),
    ({"a": "prefix"}, "kind of query on 'a'"),
    (rp.Among(("a",), where={"c": "maybe"}), "'c' has no value 'maybe'"),
    (5, "a query is a tuple"),
]


def test_every_place_refuses_a_query_that_does_not_fit_with_one_message(marginals_release, relaxed, tmp_path):
    marginals_release.save(tmp_path / "tables")
    people, fit = rp.synthesize(marginals_release, 10), next(fits(marginals_release))
    plan = marginals_release.plan
    places = [
        lambda query: rp.Workload(DOMAIN, [query]),
        marginals_release.__getitem__,
        rp.load_tables(tmp_path / "tables").__getitem__,
        rp.nonnegative(marginals_release).__getitem__,
        plan.variance,
        plan.covariance,
        plan.expected_max_abs_error,
        lambda query: plan.combination_variance(query, [1.0]),
        relaxed.table,
        people.expected,
        fit.table,
    ]
    for query, words in WRONG:
        said = set()
        for place in places:
            with pytest.raises(rp.errors.ResidualPlannerError, match=words) as caught:
                place(query)
            said.add(str(caught.value))
        assert len(said) == 1, (query, said)


@pytest.mark.parametrize("query", [{"a": rp.Prefix()}, rp.Threshold(("a", "c"), 1), rp.Among("a", where={"c": "yes"})])
def test_what_is_of_names_alone_refuses_kinds_which_it_would_ignore(marginals_release, query):
    noisy = rp.fits.microdata.groups_of_release(marginals_release)
    takers = [
        DOMAIN.positions,
        DOMAIN.cells,
        rp.fits.microdata.Marginal,
        rp.fits.microdata.Residual,
        lambda names: rp.fits.microdata.least_squares_variance(noisy, names),
    ]
    for take in takers:
        with pytest.raises(rp.errors.ResidualPlannerError, match="names alone"):
            take(query)
