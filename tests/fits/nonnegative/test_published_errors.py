"""Errors of published numbers by simulation, against arithmetic by hand and the errors that are known exactly."""

import math
from itertools import chain

import numpy as np
import pytest

import residualplanner as rp
from made_releases import exact_release, forge_hash, one_table
from residualplanner.fits.nonnegative.components import answers_of, measured_components, noise_like
from residualplanner.fits.nonnegative.table_map import reference_map

DOMAIN = rp.Domain({"a": 3, "b": 2})
PLAN = rp.select(rp.Workload(DOMAIN, [("b", "a"), ("a",), {"a": rp.Prefix()}, ()]), budget=rp.zcdp("0.1"))


def release(shift=0.0):
    return exact_release(PLAN, np.array([[0.0, 1.0], [-3.0, 9.0], [2.0, 0.0]]) + shift)


def test_the_errors_of_a_cell_that_is_cut_at_0_are_those_of_half_a_normal_distribution():
    # The total is known, so both cells have one normal error of variance v = 8 / 2, whose negative half becomes 0:
    # mean square v / 2, bias sqrt(v / (2 pi)), and a variance of the square of (3 / 2 - 1 / 4) v^2.
    made = rp.nonnegative(one_table((-1.0, 101.0)), known={(): 100})
    assert made["a"].estimate == pytest.approx([0, 100])
    v, count = 4.0, 400
    errors = rp.fits.published_errors(made, simulations=count, seed=3)
    assert errors.rmse == pytest.approx([math.sqrt(v / 2)], abs=4 * errors.rmse_simulation_error[0])
    assert errors.bias == pytest.approx([math.sqrt(v / (2 * math.pi))], abs=4 * errors.bias_simulation_error[0])
    of_square = math.sqrt(1.25 / count) * v
    assert errors.rmse_simulation_error == pytest.approx([of_square / (2 * math.sqrt(v / 2))], rel=0.2)
    # that of the bias: the variance of the error is (1 / 2 - 1 / (2 pi)) v; eight groups tell it roughly
    of_bias = math.sqrt((0.5 - 0.5 / math.pi) * v / count)
    assert of_bias / 3 < errors.bias_simulation_error[0] < 3 * of_bias


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    "make",
    [
        rp.nonnegative,
        lambda release: rp.nonnegative(release, total="free"),
        lambda release: rp.rounded(rp.nonnegative(release)),
        rp.rounded,
    ],
)
def test_where_no_count_is_near_0_errors_are_those_of_the_unbiased_estimates(make):
    made = make(release(1e4))
    errors = rp.fits.published_errors(made, simulations=200)
    exact = PLAN.errors()["std_err"].to_numpy()
    rounding = 1.0 if made.product.is_rounded else 0.0  # no cell moves further
    assert (np.abs(errors.rmse - exact) <= 4 * errors.rmse_simulation_error + rounding).all()
    assert (errors.bias <= 4 * errors.bias_simulation_error + rounding).all()
    assert errors.to_frame()["std_err_unbiased"].tolist() == exact.tolist()


def test_what_is_known_has_no_error():
    errors = rp.fits.published_errors(rp.nonnegative(release(), known={(): 9, "a": [1, 6, 2]}), simulations=10)
    frame = errors.to_frame()
    is_known = frame["query"] != "b × a"
    assert frame["rmse"][is_known].tolist() == pytest.approx([0, 0, 0], abs=1e-9)
    assert frame["rmse"][~is_known].item() > 0.1


def test_tables_of_no_records_whose_number_is_public_have_no_error():
    # thresholds leave the noise of some sets so large that no solver finds tables that add up to next to nothing
    domain = rp.Domain({"a": 4, "b": 2, "c": 3})
    queries = [(), ("a", "b"), ("b", "c"), rp.Threshold(("a", "b", "c"), 2)]
    plan = rp.select(rp.Workload(domain, queries), budget=rp.pcost(1), neighbors="replace")
    for seed in range(4):  # of the total some draws are above 0, and some below
        measurement = rp.measure(plan, np.zeros((0, 3), dtype=int), noise="gaussian", seed=seed)
        errors = rp.fits.published_errors(rp.nonnegative(rp.reconstruct(measurement)), simulations=10)
        assert errors.rmse == pytest.approx(np.zeros(4), abs=1e-4)


def test_equal_seeds_give_equal_errors_and_others_others():
    made, told = rp.nonnegative(release()), []
    one, again, other = (rp.fits.published_errors(made, simulations=10, seed=seed) for seed in (1, 1, 2))
    assert (one.rmse.tolist(), one.bias.tolist()) == (again.rmse.tolist(), again.bias.tolist())
    assert one.rmse.tolist() != other.rmse.tolist()
    rp.fits.published_errors(made, simulations=10, progress=lambda *now: told.append(now))
    assert told == [(done, 10) for done in range(1, 11)]
    assert repr(one) == "<PublishedErrors of 4 non-negative tables: 10 simulations>"
    assert "rmse_simulation_error" in one._repr_html_()


def test_simulations_of_pairs_agree_with_fits_made_one_by_one():
    """The solver of simulations stops early; the tables are those of `nonnegative` but for a little."""
    made = rp.nonnegative(release())
    drawn = made.numbers.simulation(made.measurement).draw(np.random.default_rng(5))
    layout, published = reference_map(PLAN).own, made.measurement.with_residuals(made.numbers.residuals)
    noisy = measured_components(layout, published)
    noisy += noise_like(layout, PLAN.noise_variances, np.random.default_rng(5))
    again = rp.nonnegative(rp.Release(published.with_residuals(answers_of(layout, noisy))))
    near = 0.05 * PLAN.errors()["std_err"].min()
    queries = list(made)
    for batch in chain.from_iterable(drawn.chunks(0, len(made))):
        for number, estimate in zip(batch.queries.tolist(), batch.estimates, strict=True):
            assert estimate == pytest.approx(again[queries[number]].estimate, abs=near)


@pytest.mark.parametrize(
    ("make", "options", "error", "message"),
    [
        (rp.nonnegative, {"simulations": 9}, rp.errors.WorkloadError, "an integer, at least 10, got 9"),
        (rp.nonnegative, {"simulations": 20.5}, rp.errors.WorkloadError, "an integer, at least 10, got 20.5"),
        (rp.nonnegative, {"seed": -1}, rp.errors.WorkloadError, "seed must be an integer, at least 0, got -1"),
        (rp.nonnegative, {"seed": True}, rp.errors.WorkloadError, "seed must be an integer, at least 0, got True"),
        (lambda unbiased: unbiased, {}, rp.errors.ArgumentError, r"or release.plan.errors\(\)"),
    ],
)
def test_what_cannot_be_simulated_is_refused(make, options, error, message):
    with pytest.raises(error, match=message):
        rp.fits.published_errors(make(release()), **options)


def test_errors_are_saved_with_their_own_tables_and_read_back(tmp_path):
    made, whole = rp.nonnegative(release()), rp.rounded(rp.nonnegative(release()))
    errors = rp.fits.published_errors(made, simulations=10)
    for name, tables in (("one", made), ("two", whole)):
        own = rp.fits.published_errors(tables, simulations=10)
        tables.save(tmp_path / name, "csv", errors=own)
        saved = rp.load_tables(tmp_path / name).numbers.published_errors
        assert saved.to_dict("list") == own.to_frame().to_dict("list")
    made.save(tmp_path / "without")
    assert rp.load_tables(tmp_path / "without").numbers.published_errors is None
    with pytest.raises(rp.errors.WorkloadError, match=r"these errors are of other tables \(non-negative\)"):
        whole.save(tmp_path / "tables", errors=errors)
    with pytest.raises(rp.errors.ArgumentError, match=r"write save\(folder, errors=published_errors\(release\)\)"):
        made.save(tmp_path / "tables", errors=errors.to_frame())
    with pytest.raises(rp.errors.WorkloadError, match="are for the report on a release, not on a plan"):
        rp.publish.write_report(PLAN, tmp_path / "plan.html", errors=errors)
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"a"', '"nothing"'), "is about other tables than release.plan"),
        (lambda text: text.replace("rmse,", "mse,").replace('"rmse"', '"mse"'), "is about other tables"),
        (lambda text: text.replace(text.splitlines()[2].split(",")[3], "nan"), "has errors that are no numbers"),
    ],
)
def test_a_file_of_errors_that_does_not_fit_is_refused(tmp_path, change, message):
    made = rp.nonnegative(release())
    made.save(tmp_path / "tables", errors=rp.fits.published_errors(made, simulations=10))
    path = tmp_path / "tables/published-errors.csv"
    text = change(path.read_text())
    assert text != path.read_text()
    path.write_text(text)
    with pytest.raises(rp.errors.FileFormatError, match="was altered"):
        _ = rp.load_tables(tmp_path / "tables").numbers.published_errors
    forge_hash(tmp_path / "tables", "published-errors.csv")
    with pytest.raises(rp.errors.FileFormatError, match=message):
        _ = rp.load_tables(tmp_path / "tables").numbers.published_errors


def test_errors_of_multiples_are_those_of_rounding_to_the_same_base():
    plan = rp.select(rp.Workload(rp.Domain({"a": 4}), ["a"]), budget=rp.zcdp(10**8))
    made = exact_release(plan, np.array([1.0, 2.0, 8.0, 9.0]))
    rmse = {
        base: float(rp.fits.published_errors(rp.rounded(made, base=base), simulations=10).rmse[0]) for base in (1, 5)
    }
    assert rmse[1] < 0.1
    assert rmse[5] == pytest.approx(np.sqrt((1 + 4 + 4 + 1) / 4), rel=1e-3)  # 0, 0, 10, 10
