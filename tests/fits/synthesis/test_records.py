"""Records have the tables of their mixture, keep to facts, carry labels, and say what they are."""

import csv
import datetime as dt
import hashlib
import json
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner.fits.mixtures.controlling import controlled_records
from residualplanner.fits.mixtures.mixture import OneHot, mixture_of
from residualplanner.fits.mixtures.records import even_records, independent_records
from residualplanner.fits.synthesis import records
from residualplanner.fits.synthesis.synthesize import _smallest_triples

SMALL = rp.fits.Ensemble(2, 10, rp.fits.Descent(steps=40))


def people(count=400, seed=0):
    """Records of three dependent attributes."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, count)
    b = (a + (rng.random(count) < 0.3)) % 3
    return np.stack([a, b, rng.integers(0, 2, count)], axis=1)


DOMAIN = rp.Domain({"a": 4, "b": 3, "c": 2})


def release_of(domain=DOMAIN, codes=None, rho=2.0, workload=None, seed=1, **options):
    plan = rp.select(workload or rp.marginals(domain, order=2), budget=rp.zcdp(rho), **options)
    return rp.reconstruct(rp.measure(plan, people() if codes is None else codes, noise="gaussian", seed=seed))


@pytest.fixture(scope="module")
def release():
    return release_of()


# Records from a mixture.


def some_mixture(classes=5, seed=0):
    rng = np.random.default_rng(seed)
    sizes = (3, 2, 4)
    probabilities = np.concatenate([rng.dirichlet(np.ones(size), classes).T for size in sizes])
    return mixture_of(OneHot(sizes), rng.dirichlet(np.ones(classes)), probabilities)


def table_of(codes, sizes):
    table = np.zeros(sizes)
    np.add.at(table, tuple(codes.T), 1)
    return table


def test_of_three_even_records_all_combinations_of_values_are_equally_probable():
    """Points of a sequence alone, without their rotation, are not independent of one another's order."""
    mixture, rng, draws = mixture_of(OneHot((3, 3)), np.ones(1), np.full((6, 1), 1 / 3)), np.random.default_rng(0), 600
    mean = sum(table_of(even_records(mixture, 3, rng), (3, 3)) for _ in range(draws)) / draws
    assert np.abs(mean - 1 / 3).max() < 4 * np.sqrt(1 / 3 / draws)


@pytest.mark.parametrize("draw", [even_records, independent_records])
@pytest.mark.parametrize("records", [23])
def test_the_expected_table_of_records_is_that_of_the_mixture(draw, records):
    mixture, rng, draws = some_mixture(), np.random.default_rng(2), 500
    tables = np.stack([table_of(draw(mixture, records, rng), (3, 2, 4)) for _ in range(draws)])
    expected = records * mixture.table((0, 1, 2))
    off = (tables.mean(axis=0) - expected) / np.sqrt(np.maximum(tables.var(axis=0), 1e-6) / draws)
    assert np.abs(off).max() < 4.5


def test_even_records_have_the_expected_number_of_every_value_to_one_record_a_class():
    mixture = some_mixture()
    codes = even_records(mixture, 10_000, np.random.default_rng(0))
    for attribute, size in enumerate((3, 2, 4)):
        found = np.bincount(codes[:, attribute], minlength=size)
        assert np.abs(found - 10_000 * mixture.table((attribute,))).max() < mixture.classes


def test_even_records_are_nearer_to_their_mixture_than_independent_ones():
    mixture, expected = some_mixture(), some_mixture().table((0, 1, 2))
    away = {
        draw: np.mean(
            [
                np.abs(table_of(draw(mixture, 2000, np.random.default_rng(seed)), (3, 2, 4)) / 2000 - expected).sum()
                for seed in range(20)
            ]
        )
        for draw in (even_records, independent_records)
    }
    assert away[even_records] < 0.5 * away[independent_records]


@pytest.mark.parametrize("records", [5, 300, 3001])
def test_controlled_records_have_the_expected_number_of_every_value_to_one_record(records):
    mixture = some_mixture(classes=60)
    codes = controlled_records(mixture, records, np.random.default_rng(0))
    for attribute, size in enumerate((3, 2, 4)):
        found = np.bincount(codes[:, attribute], minlength=size)
        assert np.abs(found - records * mixture.table((attribute,))).max() < 1


def test_controlled_records_have_tables_of_pairs_nearer_to_their_mixture_than_even_ones():
    mixture, sizes = some_mixture(classes=60), (3, 2, 4)
    away = {draw: 0.0 for draw in (controlled_records, even_records)}
    for draw in away:
        for seed in range(5):
            codes = draw(mixture, 500, np.random.default_rng(seed))
            for pair in combinations(range(3), 2):
                table = table_of(codes[:, pair], [sizes[attribute] for attribute in pair])
                away[draw] += np.abs(table - 500 * mixture.table(pair)).sum()
    assert away[controlled_records] < 0.5 * away[even_records]


def test_records_of_one_attribute_or_too_few_have_nothing_to_exchange():
    alone = mixture_of(OneHot((3,)), np.ones(1), np.array([[0.5], [0.3], [0.2]]))
    assert np.bincount(controlled_records(alone, 10, np.random.default_rng(0))[:, 0]).tolist() == [5, 3, 2]
    several = some_mixture(classes=4)
    assert controlled_records(several, 1, np.random.default_rng(3)).shape == (1, 3)
    assert controlled_records(several, 0, np.random.default_rng(3)).shape == (0, 3)


def test_values_of_probability_0_are_never_drawn():
    blocks = OneHot((3, 3))
    probabilities = np.array([[0.0, 0.5], [1, 0.5], [0, 0], [0.3, 0], [0, 0], [0.7, 1]])
    mixture = mixture_of(blocks, np.array([0.4, 0.6]), probabilities)
    for draw in (controlled_records, even_records, independent_records):
        table = table_of(draw(mixture, 5000, np.random.default_rng(0)), (3, 3))
        assert (table[mixture.table((0, 1)) == 0] == 0).all()


@pytest.mark.parametrize("records", [0, 1, 3])
def test_there_are_as_many_records_as_asked_for(release, records):
    made = rp.synthesize(release, records, ensemble=SMALL)
    assert len(made) == records == len(made.to_frame())
    assert made.codes.shape == (records, 3)


# Synthesis.


def test_tables_of_records_are_nearer_to_the_truth_than_independence_is(release):
    made = rp.synthesize(release)
    truth = table_of(people()[:, :2], (4, 3))
    alone = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    off = np.abs(table_of(made.codes[:, :2], (4, 3)) - truth).sum()
    assert off < 0.3 * np.abs(alone - truth).sum()
    assert abs(len(made) - 400) < 10


def test_the_same_seed_gives_the_same_records_and_another_gives_others(release):
    one, same, other = (rp.synthesize(release, 300, ensemble=SMALL, seed=seed) for seed in (5, 5, 6))
    assert (one.codes == same.codes).all()
    assert (one.codes != other.codes).any()


def test_expected_tables_agree_with_one_another_and_with_the_number_of_records(release):
    made = rp.synthesize(release, ensemble=SMALL)
    whole = made.expected(["c", "a", "b"])
    np.testing.assert_allclose(whole.sum(axis=0), made.expected(["a", "b"]), rtol=1e-12)
    assert whole.sum() == pytest.approx(float(release[()].estimate))
    assert (whole >= 0).all()


def test_values_in_another_order_give_tables_as_near(release):
    order = np.array([2, 0, 3, 1])
    codes = people()
    codes[:, 0] = np.argsort(order)[codes[:, 0]]
    turned = rp.synthesize(release_of(codes=codes), seed=3).expected(["a", "b"])
    straight = rp.synthesize(release, seed=3).expected(["a", "b"])
    assert np.abs(turned - straight[order]).sum() < 0.1 * straight.sum()


def test_weighted_records_add_up_to_the_number_of_records(release):
    made = rp.synthesize(release, 300, method="weighted", ensemble=SMALL)
    assert len(made) == 1200
    assert made.weights.sum() == pytest.approx(300)
    assert made.to_frame()["weight"].sum() == pytest.approx(300)
    assert "together of weight 300" in repr(made)


def test_other_records_of_the_same_mixture_need_no_other_fit(release):
    made = rp.synthesize(release, 300, ensemble=SMALL)
    more = made.redrawn(900, method="independent", seed=8)
    assert len(more) == 900
    assert more.mixture is made.mixture
    assert more.method == "independent"


@pytest.mark.slow
@pytest.mark.parametrize("by_set", [False, True])
@pytest.mark.parametrize("kind", [rp.Prefix(), rp.Range(), rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1]])])
def test_releases_of_all_kinds_of_query_become_records(kind, by_set):
    workload = rp.Workload(
        DOMAIN, [{"a": kind, "b": rp.Identity()}, {"a": rp.Identity(), "c": rp.Identity()}, ("b", "c")]
    )
    release = release_of(workload=workload, rho=20.0, bases="optimal_by_set" if by_set else "optimal")
    made = rp.synthesize(release)
    truth = table_of(people()[:, :2], (4, 3))
    alone = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    off, far = (np.abs(kind.apply(table - truth, 0)).sum() for table in (made.expected(["a", "b"]), alone))
    assert off < 0.5 * far


def test_where_only_groups_of_values_were_measured_records_have_their_tables():
    workload = rp.Workload(DOMAIN, [{"a": rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1]]), "b": rp.Identity()}])
    made = rp.synthesize(release_of(workload=workload, rho=50.0))
    truth = table_of(people()[:, :2], (4, 3)).reshape(2, 2, 3).sum(axis=1)
    assert np.abs(made.expected(["a", "b"]).reshape(2, 2, 3).sum(axis=1) - truth).sum() < 40


def test_of_several_releases_together_the_mixture_is_nearer():
    plan = rp.select(rp.marginals(DOMAIN, order=2), budget=rp.zcdp(0.01))
    measured = [rp.measure(plan, people(), noise="gaussian", seed=seed) for seed in range(20)]
    truth, off = table_of(people()[:, :2], (4, 3)), []
    for each in (measured[0], measured):
        off.append(np.abs(rp.synthesize(rp.reconstruct(each), 0).expected(["a", "b"]) - truth).sum())
    assert off[1] < off[0]


def test_releases_of_thresholds_become_records_with_their_answers():
    workload = rp.Workload(DOMAIN, [rp.Threshold(("a", "b", "c"), 2)])
    made = rp.synthesize(release_of(workload=workload, rho=50.0))
    truth, found = table_of(people(), (4, 3, 2)), made.expected(["a", "b", "c"])
    answers = np.zeros((2, 4, 3, 2))
    for cell, record in product(np.ndindex(4, 3, 2), np.ndindex(4, 3, 2)):
        if sum(mine == yours for mine, yours in zip(cell, record, strict=True)) >= 2:
            answers[:, *cell] += truth[record], found[record]
    assert np.abs(answers[0] - answers[1]).max() < 10


@pytest.mark.parametrize("records", [None, 0, 7])
def test_of_a_release_of_the_total_alone_all_is_uniform_and_said_to_be(records):
    made = rp.synthesize(release_of(workload=rp.Workload(DOMAIN, [()])), records, ensemble=SMALL)
    assert made.unmeasured == ("a", "b", "c")
    np.testing.assert_allclose(made.expected(["a"]), made.expected([]) / 4)
    assert abs(len(made) - {None: 400}.get(records, records)) < 5


def test_an_attribute_of_many_values_fits_as_well_as_noise_explains():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 7, 20_000)
    codes = np.stack([np.clip(rng.gamma(2, 40, 20_000) + 20 * y, 0, 500).astype(int), y], axis=1)
    made = rp.synthesize(release_of(rp.Domain({"x": 501, "y": 7}), codes, rho=0.01), ensemble=rp.fits.Ensemble(2, 30))
    assert made.quality.worse == made.quality_of_records.worse == []


def test_the_tables_of_a_folder_give_the_records_of_its_release(release, tmp_path):
    release.save(tmp_path / "tables")
    one, other = (rp.synthesize(each, 90, ensemble=SMALL) for each in (release, rp.load_tables(tmp_path / "tables")))
    assert other.release.noise.guarantee == release.noise.guarantee
    for query in release:
        np.testing.assert_allclose(other.release[query].estimate, release[query].estimate, atol=1e-9)
        np.testing.assert_allclose(other.expected(query), one.expected(query), atol=1e-3)


@pytest.mark.parametrize("saved", [{"quality": rp.publish.Quality(reliable=1e-9, usable=2e-9, suppress=True)}, {}])
def test_a_folder_gives_the_records_of_its_measurement_whatever_its_tables_are(tmp_path, saved):
    release = release_of(workload=rp.Workload(DOMAIN, [{"a": rp.Prefix(), "b": rp.Identity()}]), bases="orthogonal")
    (release if saved else rp.nonnegative(release)).save(tmp_path / "tables", **saved)
    one, other = (rp.synthesize(each, 90, ensemble=SMALL) for each in (release, rp.load_tables(tmp_path / "tables")))
    assert (one.codes == other.codes).all()


# Facts.


def test_known_numbers_of_records_and_tables_of_one_attribute_hold():
    known = {(): 400, "b": np.bincount(people()[:, 1], minlength=3)}
    made = rp.synthesize(release_of(rho=0.01), known=known, ensemble=SMALL)
    assert len(made) == 400
    np.testing.assert_allclose(made.expected(["b"]), known["b"], rtol=1e-9)
    assert (np.bincount(made.codes[:, 1], minlength=3) == known["b"]).all()
    assert made.facts == ("the number of records", "the table of b")


def test_weighted_records_have_known_tables_exactly():
    truth = table_of(people()[:, :2], (4, 3))
    made = rp.synthesize(release_of(rho=0.5), known={("a", "b"): truth + 1}, method="weighted", ensemble=SMALL)
    found = np.zeros((4, 3))
    np.add.at(found, tuple(made.codes[:, :2].T), made.weights)
    np.testing.assert_allclose(found, truth + 1, rtol=1e-6)


@pytest.mark.parametrize("method", ["controlled", "sobol", "weighted", "independent"])
def test_what_is_impossible_is_in_no_record(method):
    impossible = [{"a": [0, 1], "b": 2}, {"b": 0, "c": 1}, {"a": 3}]
    made = rp.synthesize(release_of(rho=0.01), 2000, impossible=impossible, method=method, ensemble=SMALL)
    a, b, c = made.codes.T
    assert not (((a < 2) & (b == 2)) | ((b == 0) & (c == 1)) | (a == 3)).any()
    whole = made.expected(["a", "b", "c"])
    assert whole[:2, 2].sum() == whole[:, 0, 1].sum() == whole[3].sum() == 0
    assert made.facts[0] == "that there is no record in which a is 0 or 1 and b is 2"


def test_values_that_nest_in_others_stay_within_them():
    """Counties within states: all cells of the table but one in each column are impossible."""
    domain = rp.Domain({"state": 3, "county": 9, "sex": 2})
    county = np.random.default_rng(0).integers(0, 9, 500)
    codes = np.stack([county // 3, county, county % 2], axis=1)
    impossible = [{"state": state, "county": [each for each in range(9) if each // 3 != state]} for state in range(3)]
    made = rp.synthesize(
        release_of(domain, codes), impossible=impossible, ensemble=rp.fits.Ensemble(2, 30, rp.fits.Descent(80))
    )
    assert (made.codes[:, 0] == made.codes[:, 1] // 3).all()
    assert np.abs(made.expected(["county"]) - np.bincount(county, minlength=9)).max() < 25


def test_facts_that_leave_no_record_are_refused():
    impossible = [{"a": [0, 1], "b": [0, 1, 2]}, {"a": [2, 3], "c": [0, 1]}]
    with pytest.raises(
        rp.errors.WorkloadError, match="no record was found that is possible under all of these: impossible"
    ):
        rp.synthesize(release_of(), impossible=impossible)


def test_records_that_few_draws_find_are_searched_for():
    """All values of eight attributes differ: of 8**8 records 8! are possible, and one draw in hundreds is."""
    domain = rp.Domain({name: 8 for name in "abcdefgh"})
    codes = np.stack([np.random.default_rng(seed).permutation(8) for seed in range(50)])
    impossible = [{one: code, other: code} for one, other in combinations("abcdefgh", 2) for code in range(8)]
    made = rp.synthesize(
        release_of(domain, codes), 30, impossible=impossible, ensemble=rp.fits.Ensemble(1, 3, rp.fits.Descent(5))
    )
    assert (np.sort(made.codes, axis=1) == np.arange(8)).all()


@pytest.mark.parametrize("known", [{"a": [50, 0, 0, 0]}, {"b": [0, 50, 0]}, {"c": [0, 50], (): 50}])
def test_a_known_table_of_one_value_is_kept(known):
    made = rp.synthesize(release_of(codes=people(50)), known=known, ensemble=SMALL)
    for name in known.keys() - {()}:
        assert made.expected([name]).tolist() == pytest.approx(known[name])
        assert np.bincount(made.codes[:, DOMAIN.names.index(name)], minlength=len(known[name])).tolist() == known[name]


def test_known_tables_in_integer_bases_count_as_much_as_in_others():
    """Bases for ranges measure multiples of thousands of counts; what is known is known in these units."""
    domain = rp.Domain({"a": 9, "b": 6, "c": 9})
    codes = np.minimum(np.random.default_rng(118).geometric(0.4, (30, 3)) - 1, [8, 5, 8])
    query = {"a": rp.Prefix(), "b": rp.Prefix(), "c": rp.Range()}
    table = table_of(codes, (9, 6, 9))
    for axis, kind in enumerate(query.values()):
        table = np.moveaxis(np.tensordot(kind.matrix(domain.sizes[axis]), table, axes=(1, axis)), 0, axis)
    release = release_of(domain, codes, workload=rp.Workload(domain, [query]))
    made = rp.synthesize(release, known=[(query, table)], ensemble=SMALL)
    assert np.abs(made.expected(["a"]) - np.bincount(codes[:, 0], minlength=9)).max() < 4
    assert ((made.codes >= 0) & (made.codes < domain.sizes)).all()


@pytest.mark.parametrize("known", [{(): 0}, {"b": [0, 0, 0]}])
@pytest.mark.parametrize("method", ["controlled", "weighted"])
def test_where_no_record_is_none_is_made(release, known, method):
    made = rp.synthesize(release, known=known, impossible=[{"a": [0, 1, 2, 3]}], method=method)
    assert (len(made), made.expected(["a", "c"]).tolist()) == (0, np.zeros((4, 2)).tolist())
    assert made.to_frame().columns.tolist() == ["a", "b", "c"] + ["weight"] * (method == "weighted")
    with pytest.raises(rp.errors.WorkloadError, match="there are no records by known"):
        made.redrawn(3)


def test_known_tables_that_contradict_are_refused(release):
    with pytest.raises(rp.errors.WorkloadError, match="contradict each other"):
        rp.synthesize(release, known={(): 400, "b": [1, 2, 3]})


# How well it fits.


def test_the_quality_of_the_truth_is_what_noise_explains():
    made = rp.synthesize(release_of(rho=0.05), 400)
    frame = made.quality.to_frame()
    assert frame["table"].tolist() == ["a", "b", "c", "a × b", "a × c", "b × c"]
    assert frame["freedom"].tolist() == [3, 2, 1, 6, 3, 2]
    assert made.quality.worse == []
    assert made.quality_of_records.worse == []
    assert frame["distance"].sum() < 2 * 17


def test_tables_that_are_far_away_are_said_to_be(release):
    lonely = rp.synthesize(release, ensemble=rp.fits.Ensemble(1, 1, rp.fits.Descent(steps=5)))
    assert lonely.quality.worse[0] == ("a", "b")
    estimate = release["a", "b"].estimate
    off = lonely.expected(["a", "b"]) - estimate
    off = off - off.mean(axis=0) - off.mean(axis=1)[:, None] + off.mean()
    variance = dict(zip(release.plan.closure, release.plan.noise_variances, strict=True))[(0, 1)]
    row = lonely.quality.to_frame().set_index("table").loc["a × b"]
    assert row["distance"] == pytest.approx((off**2).sum() / variance, rel=1e-6)


# Labels and files.


LABELED = rp.Domain(
    {
        "sex": rp.Attribute("sex", labels=["F", "M"], unknown="?"),
        "income": rp.Attribute("income", bins=rp.Bins([0, 10, 30, float("inf")]), missing="none"),
        "day": rp.Bins.months("2020-01", "2020-03"),
        "weight": 3,
    }
)


def labeled_records(method="controlled"):
    frame = pd.DataFrame({"sex": ["F", "x"] * 50, "income": [5.0, None] * 50, "day": ["2020-01-05"] * 100, "weight": 1})
    plan = rp.select(rp.marginals(LABELED, order=2), budget=rp.zcdp(5))
    release = rp.reconstruct(rp.measure(plan, frame, noise="gaussian", seed=0))
    return rp.synthesize(release, 200, method=method, ensemble=SMALL)


def test_frames_have_the_labels_of_the_domain():
    made = labeled_records()
    frame = made.to_frame()
    assert frame.columns.tolist() == ["sex", "income", "day", "weight"]
    for attribute in LABELED.attributes:
        assert set(frame[attribute.name]) <= set(attribute.value_labels)
    labels = [attribute.value_labels for attribute in LABELED.attributes]
    for place, name in product(range(200), range(4)):
        assert frame.iloc[place, name] == labels[name][made.codes[place, name]]


def test_bins_can_be_shown_by_their_middles():
    frame = labeled_records().to_frame(bins="middles")
    assert set(frame["income"].dropna()) <= {5.0, 20.0, 30.0}
    assert frame["income"].isna().any()
    assert set(frame["day"]) <= {dt.date(2020, 1, 16), dt.date(2020, 2, 15), dt.date(2020, 3, 16)}
    with pytest.raises(rp.errors.ArgumentError, match='bins must be "labels" or "middles"'):
        labeled_records().to_frame(bins="edges")


@pytest.mark.parametrize(("name", "read"), [("people.csv", pd.read_csv), ("people.parquet", pd.read_parquet)])
def test_files_hold_the_records_and_say_what_they_are(tmp_path, name, read):
    made = labeled_records("weighted")
    made.save(tmp_path / name)
    frame = read(tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}.json"])
    assert frame["sex"].tolist() == made.to_frame()["sex"].tolist()
    assert frame["record_weight"].sum() == pytest.approx(200)
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert about["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert about["guarantee"].startswith("none: ")  # the noise had a seed
    assert about["weight_column"] == "record_weight"
    assert (about["rows"], about["method"], about["seed"]) == (800, "weighted", 0)
    assert "none is that of a person" in about["statement"]


def test_a_file_of_another_kind_is_refused(tmp_path, release):
    made = rp.synthesize(release, 5, ensemble=SMALL)
    with pytest.raises(rp.errors.ArgumentError, match="must end with"):
        made.save(tmp_path / "people.sas")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_leaves_nothing_behind(tmp_path, release):
    with pytest.raises(OSError, match="nowhere"):
        rp.synthesize(release, 5, ensemble=SMALL).save(tmp_path / "nowhere" / "people.csv")


# What is refused.


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"records": -1}, "records must be an integer from 0"),
        ({"records": 2.5}, "records must be an integer from 0"),
        ({"records": True}, "records must be an integer from 0"),
        ({"seed": -1}, "seed must be an integer from 0"),
    ],
)
def test_bad_numbers_are_refused(release, arguments, match):
    with pytest.raises(rp.errors.ArgumentError, match=match):
        rp.synthesize(release, **arguments)


def test_another_method_or_another_thing_is_refused(release):
    with pytest.raises(rp.errors.WorkloadError, match="method must be one of"):
        rp.synthesize(release, method="systematic")
    with pytest.raises(rp.errors.ArgumentError, match="release must be unbiased, and it is non-negative"):
        rp.synthesize(rp.nonnegative(release))


# What to measure.


def test_all_pairs_are_measured_and_single_attributes_and_small_triples_by_budget():
    domain = rp.Domain({"a": 50, "b": 3, "c": 2, "d": 4, "e": 60, "one": 1})
    low, middle, high = (rp.fits.synthesis_plan(domain, rp.approx_dp(epsilon, 1e-9)) for epsilon in (1, 3, 10))
    pairs = [
        ("a", "b"),
        ("a", "c"),
        ("a", "d"),
        ("a", "e"),
        ("b", "c"),
        ("b", "d"),
        ("b", "e"),
        ("c", "d"),
        ("c", "e"),
        ("d", "e"),
    ]
    assert list(low.workload) == [*((name,) for name in "abcde"), *pairs]
    assert low.loss.weights == pytest.approx([0.36 / np.sqrt(low.pcost)] * 5 + [1.0] * 10)
    assert list(middle.workload) == pairs
    assert list(high.workload)[:10] == pairs
    assert {len(query) for query in list(high.workload)[10:]} == {3}
    assert high.loss.weights == "equal"


def test_the_smaller_the_budget_the_more_exact_are_single_attributes_beside_pairs():
    domain = rp.Domain({"a": 50, "b": 3, "c": 2})
    ratios = []
    for epsilon in (0.1, 1, 3):
        plan = rp.fits.synthesis_plan(domain, rp.approx_dp(epsilon, 1e-9))
        noise = dict(zip(plan.closure, plan.noise_variances, strict=True))
        ratios.append(noise[(0, 1)] / noise[(0,)])
    assert ratios[0] > 1.5 * ratios[1] > 1.5 * ratios[2]


def test_the_triples_are_the_smallest():
    domain = rp.Domain({"a": 9, "b": 3, "c": 2, "d": 4, "e": 5, "f": 30})
    found = list(_smallest_triples(domain, list(range(6)), 4, False))
    assert found == [(0, 1, 2), (1, 2, 3), (1, 2, 4), (2, 3, 4)]  # of 54, 24, 30 and 40 cells


def test_tables_of_three_attributes_are_controlled_where_such_were_measured(monkeypatch):
    orders = []

    def seen(mixture, records, generator, *, order, report):
        orders.append(order)
        return controlled_records(mixture, records, generator, order=order, report=report)

    monkeypatch.setattr(records, "controlled_records", seen)
    quick = rp.fits.Ensemble(1, 3, rp.fits.Descent(steps=1))
    for order in (1, 2, 3):
        released = release_of(workload=rp.marginals(DOMAIN, order=order))
        rp.synthesize(released, 20, ensemble=quick)
    assert orders == [2, 2, 3]


def test_large_pairs_are_left_out_but_not_their_attributes():
    domain = rp.Domain({"a": 500, "b": 400, "c": 2})
    assert list(rp.fits.synthesis_plan(domain, rp.zcdp(0.1), max_cells=900).workload) == [("a",), ("b", "c")]


def test_a_domain_of_single_values_has_nothing_to_measure():
    with pytest.raises(rp.errors.WorkloadError, match="an attribute with more than one value"):
        rp.fits.synthesis_plan(rp.Domain({"a": 1, "b": ["only"]}), rp.zcdp(1))


def test_more_records_than_memory_holds_are_refused_before_the_fit(release):
    fitted = []
    for method in ("controlled", "sobol", "weighted", "independent"):
        with pytest.raises(rp.errors.ResourceError, match="1,000,000,000 synthetic records take"):
            rp.synthesize(release, 10**9, method=method, progress=lambda *done: fitted.append(done))
    with pytest.raises(
        rp.errors.ArgumentError, match="about 2,000,000,000 records, and at most 1,000,000,000 are made"
    ):
        rp.synthesize(release, known={(): 2 * 10**9}, progress=lambda *done: fitted.append(done))
    assert not fitted


@pytest.mark.parametrize("method", ["controlled", "sobol", "weighted", "independent"])
@pytest.mark.parametrize("records", [0, 1, 3000])
def test_progress_rises_from_the_fit_to_the_last_record(release, method, records):
    said, again = [], []
    made = rp.synthesize(release, records, method=method, progress=lambda done, total: said.append((done, total)))
    assert said == sorted(said)
    assert {total for _, total in said} == {100}
    assert said[-1] == (100, 100) or not records
    assert sum(done > 50 for done, _ in said) > 1 or records < 2 or method in ("sobol", "weighted")
    made.redrawn(max(records, 1), method=method, progress=lambda done, total: again.append((done, total)))
    assert again == sorted(again)
    assert again[-1][0] == again[-1][1] > 0


@pytest.mark.parametrize("triples", [-1, 1.5, True, "all"])
def test_a_bad_number_of_triples_is_refused(triples):
    with pytest.raises(rp.errors.ArgumentError, match="triples must be an integer from 0"):
        rp.fits.synthesis_plan(DOMAIN, rp.zcdp(1), triples=triples)


def test_a_plan_for_records_is_paid_for_as_any_other():
    plan = rp.fits.synthesis_plan(DOMAIN, rp.zcdp("0.25"), neighbors="replace", triples=1)
    assert plan.pcost == pytest.approx(0.5)
    assert plan.neighbors.notion == "replace"
    assert list(plan.workload)[-1] == ("a", "b", "c")


#: Labels that some reader takes for missing, for a part of a line, or for a number.
AWKWARD = [
    "",
    "NA",
    "null",
    "None",
    "nan",
    " a",
    "a ",
    'with "quotes"',
    '"',
    "new\nline",
    "\r",
    "a\r\nb",
    "x,y",
    "1",
    "#",
]


@pytest.mark.parametrize("name", ["records.csv", "records.parquet"])
@settings(max_examples=15, deadline=None)
@given(
    labels=st.lists(
        st.sampled_from(AWKWARD)
        | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
        min_size=2,
        max_size=8,
        unique=True,
    )
)
def test_every_label_of_a_saved_record_is_read_back(name, labels):
    """An empty label, and one that means "missing" elsewhere, are values as any other to whoever reads the file."""
    domain = rp.Domain({"a": labels, "b": ["", "z"]})
    plan = rp.select(rp.marginals(domain, order=2), budget=rp.zcdp(10**6))
    release = rp.reconstruct(rp.measure(plan, np.zeros((0, 2), dtype=int), noise="gaussian", seed=1))
    made = rp.synthesize(release, 20, method="independent", ensemble=SMALL)
    given = made.to_frame().to_numpy().tolist()
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        made.save(path)
        records = path
        if name.endswith(".csv"):
            with path.open(newline="", encoding="utf-8") as stream:
                assert list(csv.reader(stream))[1:] == given
            assert pd.read_csv(path, dtype=str, keep_default_na=False).to_numpy().tolist() == given
            records = rp.CsvFile(path, newlines_in_values=True)
        else:
            assert pd.read_parquet(path).to_numpy().tolist() == given
        again = rp.reconstruct(rp.measure(plan, records, noise="gaussian", seed=1))[("a", "b")]
    expected = np.zeros(again.estimate.shape)
    np.add.at(expected, tuple(made.codes.T), 1)
    assert again.estimate == pytest.approx(expected, abs=0.1)
