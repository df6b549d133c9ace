"""Records have the tables of their mixture, keep to facts, carry labels, and say what they are."""

import csv
import hashlib
import json
import math
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import residualplanner as rp
from inner_parts import controlled_records, even_records, independent_records
from inner_parts import mixture as mixture_part
from residualplanner.fits.nonnegative.facts import Facts
from residualplanner.fits.synthesis.coarsening import Coarsening, all_fine, coarsened_domain, fine
from residualplanner.fits.synthesis.measured_tables import Stage, measured_tables

SMALL = rp.fits.Ensemble(2, 10, rp.fits.Descent(steps=40))
METHODS = ["controlled", "sobol", "independent"]
DOMAIN = rp.Domain({"a": 4, "b": 3, "c": 2})


def people(count=400):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, count)
    b = (a + (rng.random(count) < 0.3)) % 3
    return np.stack([a, b, rng.integers(0, 2, count)], axis=1)


def release_of(domain=DOMAIN, codes=None, rho=2.0, workload=None, **options):
    plan = rp.select(workload or rp.marginals(domain, order=2), budget=rp.zcdp(rho), **options)
    return rp.reconstruct(rp.measure(plan, people() if codes is None else codes, noise="gaussian", seed=1))


@pytest.fixture(scope="module")
def release():
    return release_of()


@pytest.fixture(scope="module")
def made(release):
    return rp.synthesize(release, ensemble=SMALL)


# Records from a mixture.


SIZES = (3, 2, 4)


def some_mixture(classes=5):
    rng = np.random.default_rng(0)
    probabilities = np.concatenate([rng.dirichlet(np.ones(size), classes).T for size in SIZES])
    return mixture_part.mixture_of(mixture_part.OneHot(SIZES), rng.dirichlet(np.ones(classes)), probabilities)


def table_of(codes, sizes, weights=1):
    table = np.zeros(sizes)
    np.add.at(table, tuple(codes.T), weights)
    return table


def test_of_three_even_records_all_combinations_of_values_are_equally_probable():
    """Points of a sequence alone, without their rotation, are not independent of one another's order."""
    mixture, rng, draws = (
        mixture_part.mixture_of(mixture_part.OneHot((3, 3)), np.ones(1), np.full((6, 1), 1 / 3)),
        np.random.default_rng(0),
        600,
    )
    mean = sum(table_of(even_records(mixture, 3, rng), (3, 3)) for _ in range(draws)) / draws
    assert np.abs(mean - 1 / 3).max() < 4 * np.sqrt(1 / 3 / draws)


@pytest.mark.parametrize("draw", [even_records, independent_records])
def test_the_expected_table_of_records_is_that_of_the_mixture(draw):
    mixture, rng, draws = some_mixture(), np.random.default_rng(2), 500
    tables = np.stack([table_of(draw(mixture, 23, rng), SIZES) for _ in range(draws)])
    expected = 23 * mixture.table((0, 1, 2))
    off = (tables.mean(axis=0) - expected) / np.sqrt(np.maximum(tables.var(axis=0), 1e-6) / draws)
    assert np.abs(off).max() < 4.5


@pytest.mark.parametrize(
    ("draw", "classes", "records", "most"),
    [(even_records, 5, 10_000, 5), *((controlled_records, 60, records, 1) for records in (5, 300, 3001))],
)
def test_records_have_the_expected_number_of_every_value_to_one_record_or_one_a_class(draw, classes, records, most):
    mixture = some_mixture(classes)
    codes = draw(mixture, records, np.random.default_rng(0))
    for attribute, size in enumerate(SIZES):
        found = np.bincount(codes[:, attribute], minlength=size)
        assert np.abs(found - records * mixture.table((attribute,))).max() < most


@pytest.mark.parametrize(
    ("near", "far", "classes", "tables"),
    [
        (even_records, independent_records, 5, [(0, 1, 2)]),
        (controlled_records, even_records, 60, list(combinations(range(3), 2))),
    ],
)
def test_even_records_are_nearer_to_their_mixture_and_controlled_ones_nearer_in_pairs(near, far, classes, tables):
    mixture, away = some_mixture(classes), {near: 0.0, far: 0.0}
    for draw, seed in product(away, range(8)):
        codes = draw(mixture, 1000, np.random.default_rng(seed))
        for members in tables:
            table = table_of(codes[:, members], [SIZES[attribute] for attribute in members])
            away[draw] += np.abs(table - 1000 * mixture.table(members)).sum()
    assert away[near] < 0.5 * away[far]


# Synthesis.


def test_tables_of_records_are_nearer_to_the_truth_than_independence_is_in_any_order_of_values(release):
    made = rp.synthesize(release)
    truth = table_of(people()[:, :2], (4, 3))
    alone = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    off = np.abs(table_of(made.codes[:, :2], (4, 3)) - truth).sum()
    assert off < 0.3 * np.abs(alone - truth).sum()
    assert abs(len(made) - 400) < 10
    order, codes = np.array([2, 0, 3, 1]), people()
    codes[:, 0] = np.argsort(order)[codes[:, 0]]
    turned, straight = (rp.synthesize(each, seed=3).expected(["a", "b"]) for each in (release_of(codes=codes), release))
    assert np.abs(turned - straight[order]).sum() < 0.1 * straight.sum()


def test_expected_tables_agree_and_records_are_redrawn_by_their_seed_and_method(release, made):
    whole = made.expected(["c", "a", "b"])
    np.testing.assert_allclose(whole.sum(axis=0), made.expected(["a", "b"]), rtol=1e-12)
    assert whole.sum() == pytest.approx(float(release[()].estimate))
    assert (whole >= 0).all()
    same, other = (rp.synthesize(release, ensemble=SMALL, seed=seed) for seed in (0, 6))
    assert (made.codes == same.codes).all()
    assert (made.codes[:300] != other.codes[:300]).any()
    more = made.redrawn(900, method="independent", seed=8)
    assert len(more) == len(more.to_frame()) == 900
    assert more.mixture is made.mixture
    assert more.method == "independent"


@pytest.mark.cases(4)
@pytest.mark.slow
@pytest.mark.parametrize("bases", ["optimal", "optimal_by_set"])
@pytest.mark.parametrize("kind", [rp.Prefix(), rp.Range(), rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1]])])
def test_releases_of_all_kinds_of_query_become_records(kind, bases):
    queries = [{"a": kind, "b": rp.Identity()}, {"a": rp.Identity(), "c": rp.Identity()}, ("b", "c")]
    made = rp.synthesize(release_of(workload=rp.Workload(DOMAIN, queries), rho=20.0, bases=bases))
    truth = table_of(people()[:, :2], (4, 3))
    alone = np.outer(truth.sum(axis=1), truth.sum(axis=0)) / truth.sum()
    off, far = (np.abs(kind.apply(table - truth, 0)).sum() for table in (made.expected(["a", "b"]), alone))
    assert off < 0.5 * far


def test_where_only_groups_of_values_or_thresholds_were_measured_records_have_their_answers():
    queries = [{"a": rp.Custom([[1, 1, 0, 0], [0, 0, 1, 1]]), "b": rp.Identity()}]
    made = rp.synthesize(release_of(workload=rp.Workload(DOMAIN, queries), rho=50.0))
    truth = table_of(people(), (4, 3, 2))
    off = made.expected(["a", "b"]) - truth.sum(axis=2)
    assert np.abs(off.reshape(2, 2, 3).sum(axis=1)).sum() < 40
    queries = [rp.Threshold(("a", "b", "c"), 2)]
    off = rp.synthesize(release_of(workload=rp.Workload(DOMAIN, queries), rho=50.0)).expected(["a", "b", "c"]) - truth
    for cell in np.ndindex(4, 3, 2):
        matches = sum(np.indices((4, 3, 2))[axis] == value for axis, value in enumerate(cell))
        assert abs(off[matches >= 2].sum()) < 10


@pytest.mark.parametrize("records", [None, 0, 7])
def test_of_a_release_of_the_total_alone_all_is_uniform_and_said_to_be(records):
    made = rp.synthesize(release_of(workload=rp.Workload(DOMAIN, [()])), records, ensemble=SMALL)
    assert made.unmeasured == ("a", "b", "c")
    np.testing.assert_allclose(made.expected(["a"]), made.expected([]) / 4)
    assert abs(len(made) - {None: 400}.get(records, records)) < 5


@pytest.mark.parametrize(
    ("of", "saved"),
    [
        (lambda release: release, {}),
        (lambda release: release, {"quality": rp.publish.Quality(reliable=1e-9, usable=2e-9, suppress=True)}),
        (rp.nonnegative, {}),
    ],
    ids=["unbiased", "suppressed", "non-negative"],
)
def test_a_folder_gives_the_records_of_its_measurement_whatever_its_tables_are(tmp_path, of, saved):
    release = release_of(workload=rp.Workload(DOMAIN, [{"a": rp.Prefix(), "b": rp.Identity()}]), bases="orthogonal")
    of(release).save(tmp_path / "tables", **saved)
    one, other = (rp.synthesize(each, 90, ensemble=SMALL) for each in (release, rp.load_tables(tmp_path / "tables")))
    assert (one.codes == other.codes).all()
    assert other.release.noise.guarantee == release.noise.guarantee


def test_known_numbers_of_records_and_tables_hold():
    truth = table_of(people()[:, :2], (4, 3))
    known = {(): 400, "b": truth.sum(axis=0)}
    made = rp.synthesize(release_of(rho=0.01), known=known, ensemble=SMALL)
    assert len(made) == 400
    np.testing.assert_allclose(made.expected(["b"]), known["b"], rtol=1e-9)
    assert (np.bincount(made.codes[:, 1], minlength=3) == known["b"]).all()
    assert made.facts == ("the number of records", "the table of b")
    made = rp.synthesize(release_of(rho=0.5), known={("a", "b"): truth + 1}, ensemble=SMALL)
    assert np.abs(made.expected(["a", "b"]) - truth - 1).max() < 6  # unknown ones are off by up to 12


@pytest.mark.parametrize("method", METHODS)
def test_what_is_impossible_is_in_no_record(method):
    impossible = [{"a": [0, 1], "b": 2}, {"b": 0, "c": 1}, {"a": 3}]
    made = rp.synthesize(release_of(rho=0.01), 2000, impossible=impossible, method=method, ensemble=SMALL)
    a, b, c = made.codes.T
    assert not (((a < 2) & (b == 2)) | ((b == 0) & (c == 1)) | (a == 3)).any()
    whole = made.expected(["a", "b", "c"])
    assert whole[:2, 2].sum() == whole[:, 0, 1].sum() == whole[3].sum() == 0
    assert made.facts[0] == "that there is no record in which a is 0 or 1 and b is 2"


def test_records_that_few_draws_find_are_searched_for():
    """All values of eight attributes differ: of 8**8 records 8! are possible, and one draw in hundreds is."""
    domain = rp.Domain({name: 8 for name in "abcdefgh"})
    codes = np.stack([np.random.default_rng(seed).permutation(8) for seed in range(50)])
    impossible = [{one: code, other: code} for one, other in combinations("abcdefgh", 2) for code in range(8)]
    ensemble = rp.fits.Ensemble(1, 3, rp.fits.Descent(5))
    made = rp.synthesize(release_of(domain, codes), 30, impossible=impossible, ensemble=ensemble)
    assert (np.sort(made.codes, axis=1) == np.arange(8)).all()


@pytest.mark.parametrize(("place", "known"), [(0, [50, 0, 0, 0]), (1, [0, 50, 0]), (2, [0, 50])])
def test_a_known_table_of_one_value_is_kept(place, known):
    made = rp.synthesize(release_of(codes=people(50)), known={"abc"[place]: known}, ensemble=SMALL)
    assert made.expected(["abc"[place]]).tolist() == pytest.approx(known)
    assert np.bincount(made.codes[:, place], minlength=len(known)).tolist() == known


def test_known_tables_in_integer_bases_count_as_much_as_in_others():
    """Bases for ranges measure multiples of thousands of counts; what is known is known in these units."""
    domain = rp.Domain({"a": 9, "b": 6, "c": 9})
    codes = np.minimum(np.random.default_rng(118).geometric(0.4, (30, 3)) - 1, [8, 5, 8])
    query = {"a": rp.Prefix(), "b": rp.Prefix(), "c": rp.Range()}
    release = release_of(domain, codes, workload=rp.Workload(domain, [query]))
    made = rp.synthesize(release, known={("a", "b", "c"): table_of(codes, (9, 6, 9))}, ensemble=SMALL)
    assert np.abs(made.expected(["a"]) - np.bincount(codes[:, 0], minlength=9)).max() < 4
    assert ((made.codes >= 0) & (made.codes < domain.sizes)).all()


@pytest.mark.parametrize("known", [{(): 0}, {"b": [0, 0, 0]}])
@pytest.mark.parametrize("method", ["controlled", "sobol"])
def test_where_no_record_is_none_is_made(release, known, method):
    made = rp.synthesize(release, known=known, impossible=[{"a": [0, 1, 2, 3]}], method=method)
    assert (len(made), made.expected(["a", "c"]).tolist()) == (0, np.zeros((4, 2)).tolist())
    assert made.to_frame().columns.tolist() == ["a", "b", "c"]
    with pytest.raises(rp.errors.WorkloadError, match="there are no records by known"):
        made.redrawn(3)


def test_the_quality_of_the_truth_is_what_noise_explains():
    made = rp.synthesize(release_of(rho=0.05), 400)
    frame = made.quality.to_frame()
    assert frame["table"].tolist() == ["a", "b", "c", "a × b", "a × c", "b × c"]
    assert frame["freedom"].tolist() == [3, 2, 1, 6, 3, 2]
    assert made.quality.worse == made.quality_of_records.worse == []
    assert frame["distance"].sum() < 2 * 17


@pytest.mark.parametrize(("rho", "least", "most"), [(1e-7, 1, 1), (0.001, 0.02, 1), (500, 0, 1e-4)])
def test_single_attributes_are_fitted_to_what_noise_leaves_of_them(rho, least, most):
    plan = rp.select(rp.marginals(DOMAIN, order=1), budget=rp.zcdp(rho))
    measurement = rp.measure(plan, people(), noise="gaussian", seed=3)
    measured = measured_tables([Stage(measurement, all_fine(DOMAIN))], Facts(), DOMAIN)
    expected, freedom, probabilities = 0.0, 0, some_probabilities(DOMAIN.sizes)
    for table, own, p in zip(measured.tables, measured.near, probabilities, strict=True):
        answers, moved = table.values, measured.records * (own - own.mean())
        far = table.freedom + 3 * math.sqrt(2 * table.freedom)  # from the mean square of noise alone
        noise = min(1, (far / (table.precision * (answers**2).sum())) ** 2)
        assert least <= noise <= most
        away = measured.records * (p - p.mean()) - (noise * moved + (1 - noise) * answers)
        expected += table.precision * (away**2).sum()
        freedom += round(table.freedom * (1 - noise))
    found = measured.loss.evaluate(np.concatenate(probabilities)[:, None], np.ones(1))
    assert found.distance == pytest.approx(expected, rel=1e-4)
    assert measured.loss.freedom == freedom


def some_probabilities(sizes):
    return [np.arange(1, size + 1) / (size * (size + 1) / 2) for size in sizes]


def test_a_table_that_several_stages_measured_counts_once_with_the_precision_of_all():
    plan = rp.select(rp.marginals(DOMAIN, order=2), budget=rp.zcdp(1))
    measured = [rp.measure(plan, people(), noise="gaussian", seed=seed) for seed in range(3)]
    stages = [Stage(each, all_fine(DOMAIN), order=2) for each in measured]
    together, *alone = (measured_tables(some, Facts(), DOMAIN) for some in (stages, *([each] for each in stages)))
    assert [len(each.tables) for each in (together, *alone)] == [3, 3, 3, 3]
    assert [sum(table.freedom for table in each.tables) for each in (together, alone[0])] == [6 + 3 + 2] * 2
    for table, *own in zip(together.tables, *(each.tables for each in alone), strict=True):
        assert table.precision == pytest.approx(sum(each.precision for each in own))
        np.testing.assert_allclose(table.values, np.mean([each.values for each in own], axis=0))
    made = rp.synthesize(release_of(), known={(): 0}, ensemble=SMALL)
    assert np.isfinite(made.dependence[["measured", "of_model"]].to_numpy()).all()


ORDERED = rp.Domain(
    {
        "age": 6,
        "pay": rp.Attribute("pay", bins=rp.Bins([0, 10, 20, 30]), missing="Not stated"),
        "sex": ["F", "M"],
        "luck": 3,
    }
)


def test_the_trend_of_two_ordered_attributes_counts_five_times_more_where_it_shows():
    rng = np.random.default_rng(0)
    age = np.tile(rng.integers(0, 6, 700), 3)
    pay = np.tile(np.where(rng.random(700) < 0.2, 3, np.minimum(age[:700] // 2, 2)), 3)
    codes = np.stack([age, pay, age > 2, np.repeat(range(3), 700)], axis=1)  # luck is independent of all others
    halves = Coarsening(0, np.array([0, 0, 0, 1, 1, 1]))
    axes = (halves, *(fine(place, size) for place, size in enumerate(ORDERED.sizes) if place))
    inner = coarsened_domain(ORDERED, axes)
    grouped = np.column_stack([halves.groups[age], codes[:, 1:]])
    plans = [rp.select(rp.marginals(each, order=k), budget=rp.zcdp(1)) for each, k in ((ORDERED, 1), (inner, 2))]
    alone, pairs = (
        rp.measure(plan, own, noise="gaussian", seed=5) for plan, own in zip(plans, (codes, grouped), strict=True)
    )
    stages = [Stage(alone, all_fine(ORDERED)), Stage(pairs, axes, order=2)]
    measured = measured_tables(stages, Facts(), ORDERED)
    # Nothing but age and pay rises together: sex has no order, and luck depends on nothing.
    (view, other), (trend,) = measured.trends
    near = dict(zip(ORDERED.names, measured.near, strict=True))
    means = [near["age"][part] @ np.arange(6)[part] / near["age"][part].sum() for part in (slice(3), slice(3, 6))]
    of_age = np.array(means) - np.mean(means)
    of_pay = np.array([0, 1, 2, near["pay"][:3] @ np.arange(3) / near["pay"][:3].sum()])
    of_pay -= of_pay.mean()
    np.testing.assert_allclose(view.basis_rows, of_age[None, [0, 0, 0, 1, 1, 1]])
    np.testing.assert_allclose(other.basis_rows, of_pay[None])
    assert [view.attribute, other.attribute] == [0, 1]
    estimate = rp.reconstruct(pairs)[inner.names[0], "pay"].estimate
    assert trend.values == pytest.approx(of_age @ estimate @ of_pay)
    noise = plans[1].noise_variances[plans[1].closure.position_of((0, 1))]
    assert 5 / trend.precision == pytest.approx(noise * (of_age @ of_age) * (of_pay @ of_pay))
    assert trend.freedom == 5


def test_trends_are_hardly_flattened_where_noise_explains_much_of_their_table():
    rng = np.random.default_rng(1)
    age = rng.integers(0, 20, 50_000)
    hours = (age + rng.integers(0, 60, 50_000)) * (rng.random(50_000) < 0.8)  # many have none, whatever their age
    codes = np.stack([age, hours, *rng.integers(0, 2, (2, 50_000))], axis=1)
    domain = rp.Domain({"age": 20, "hours": 80, "sex": 2, "luck": 2})
    release = release_of(domain, codes, rho=0.2)
    h, k = np.arange(20) - 9.5, np.arange(80) - 39.5
    kept = h @ rp.synthesize(release).expected(["age", "hours"]) @ k / (h @ table_of(codes[:, :2], (20, 80)) @ k)
    assert kept == pytest.approx(1, abs=0.03)  # 0.90 where trends count no more than tables


def test_tables_that_are_far_away_are_said_to_be(release):
    lonely = rp.synthesize(release, ensemble=rp.fits.Ensemble(1, 1, rp.fits.Descent(steps=5)))
    assert lonely.quality.worse[0] == ("a", "b")
    off = lonely.expected(["a", "b"]) - release["a", "b"].estimate
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


@pytest.fixture(scope="module")
def labeled():
    frame = pd.DataFrame({"sex": ["F", "x"] * 50, "income": [5.0, None] * 50, "day": ["2020-01-05"] * 100, "weight": 1})
    plan = rp.select(rp.marginals(LABELED, order=2), budget=rp.zcdp(5))
    release = rp.reconstruct(rp.measure(plan, frame, noise="gaussian", seed=0))
    return rp.synthesize(release, 200, method="sobol", ensemble=SMALL)


def test_frames_have_the_labels_of_the_domain(labeled):
    frame = labeled.to_frame()
    assert frame.columns.tolist() == ["sex", "income", "day", "weight"]
    for place, attribute in enumerate(LABELED.attributes):
        wanted = [attribute.value_labels[code] for code in labeled.codes[:, place].tolist()]
        assert frame[attribute.name].tolist() == wanted


@pytest.mark.parametrize(("name", "read"), [("people.csv", pd.read_csv), ("people.parquet", pd.read_parquet)])
def test_files_hold_the_records_and_say_what_they_are(tmp_path, labeled, name, read):
    labeled.save(tmp_path / name)
    frame = read(tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted([name, f"{name}.json"])
    assert frame["sex"].tolist() == labeled.to_frame()["sex"].tolist()
    about = json.loads((tmp_path / f"{name}.json").read_text())
    assert about["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert about["guarantee"].startswith("none: ")  # the noise had a seed
    assert (about["rows"], about["method"], about["seed"]) == (200, "sobol", 0)
    assert "none is that of a person" in about["statement"]


def test_files_that_cannot_be_written_leave_nothing_behind(tmp_path, made):
    with pytest.raises(rp.errors.ArgumentError, match="must end with"):
        made.save(tmp_path / "people.sas")
    with pytest.raises(OSError, match="nowhere"):
        made.save(tmp_path / "nowhere" / "people.csv")
    assert list(tmp_path.iterdir()) == []


#: Labels that some reader takes for missing, for a part of a line, or for a number.
AWKWARD = ["", "NA", "null", "None", "nan", " a", "a ", 'a "b"', '"', "new\nline", "\r", "a\r\nb", "x,y", "1", "#"]
TEXTS = st.sampled_from(AWKWARD) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4
)


@pytest.mark.parametrize("name", ["records.csv", "records.parquet"])
@settings(max_examples=15, deadline=None)
@given(labels=st.lists(TEXTS, min_size=2, max_size=8, unique=True))
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
    assert again.estimate == pytest.approx(table_of(made.codes, again.estimate.shape), abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        *(({"records": bad}, "Argument", "records must be an integer from 0") for bad in (-1, 2.5, True)),
        ({"seed": -1}, "Argument", "seed must be an integer from 0"),
        ({"method": "systematic"}, "Workload", "method must be one of"),
        ({"release": rp.nonnegative}, "Argument", "must be unbiased, and it is non-negative"),
        (
            {"impossible": [{"a": [0, 1], "b": [0, 1, 2]}, {"a": [2, 3], "c": [0, 1]}]},
            "Workload",
            "no record was found that is possible under all of these: impossible",
        ),
        *(({"records": 10**9, "method": method}, "Resource", "1,000,000,000 synthetic rec") for method in METHODS),
        ({"known": {(): 2 * 10**9}}, "Argument", "about 2,000,000,000 records, and at most 1,000,000,000 are made"),
    ],
)
def test_what_cannot_be_made_is_refused_before_the_fit(release, arguments, error, match):
    fitted, given = [], {"release": lambda unbiased: unbiased} | arguments
    with pytest.raises(getattr(rp.errors, f"{error}Error"), match=match):
        rp.synthesize(given.pop("release")(release), **given, progress=lambda *done: fitted.append(done))
    assert not fitted
