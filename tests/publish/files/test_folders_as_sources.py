"""Every product starts from the folder of a release: it holds its measurement, whatever its tables are."""

import os
import shutil

import numpy as np
import pytest

import residualplanner as rp
from made_releases import forge_hash

DOMAIN = rp.Domain({"age": 4, "sex": ["F", "M"], "home": 3})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp("0.4"))
RECORDS = np.random.default_rng(1).integers(0, DOMAIN.sizes, (60, 3))
TOYS = rp.Ledger.unlimited("invented records")


def measured(plan=PLAN, **options):
    return rp.reconstruct(rp.measure(plan, RECORDS, ledger=TOYS, again=True, **options))


SAVED = {
    "left out": lambda release, folder: release.save(folder, quality=rp.publish.Quality(reliable=0.01, suppress=True)),
    "some parts": lambda release, folder: release.save(folder, "parts", only=[0]),
    "non-negative": lambda release, folder: rp.nonnegative(release).save(folder, with_unbiased=True),
    "fives": lambda release, folder: rp.rounded(release, base=5).save(folder, "workbook", profile="acs", level=0.8),
}


@pytest.mark.parametrize("form", SAVED)
def test_whatever_was_saved_all_other_products_are_those_of_the_measurement(form, tmp_path):
    release = measured()
    SAVED[form](release, tmp_path / "a")
    tables = rp.load_tables(tmp_path / "a")
    again = rp.reconstruct(tables)
    assert again.noise.guarantee == release.noise.guarantee
    assert again.measurement.answers_sha256 == release.measurement.answers_sha256
    near, other = rp.nonnegative(tables), rp.nonnegative(release)
    whole, integers = rp.rounded(near), rp.rounded(other)
    for query in release:
        assert (again[query].estimate == release[query].estimate).all()
        assert (near[query].estimate == other[query].estimate).all()
        assert (whole[query].estimate == integers[query].estimate).all()
    assert (rp.synthesize(tables, 40).codes == rp.synthesize(release, 40).codes).all()


@pytest.mark.parametrize("adjusted", [lambda tables: tables, rp.nonnegative])
def test_only_tables_that_are_unbiased_are_rounded_from_their_folder(adjusted, tmp_path):
    release = measured()
    made = adjusted(release)
    made.save(tmp_path / "a")
    tables = rp.load_tables(tmp_path / "a")
    if made is release:
        assert (rp.rounded(tables)["age"].estimate == rp.rounded(release)["age"].estimate).all()
    else:
        with pytest.raises(rp.errors.WorkloadError, match=r"are non-negative; write rounded\(nonnegative\(tables\)\)"):
            rp.rounded(tables)


def test_a_release_of_several_measurements_is_averaged_anew_with_another_one(tmp_path):
    first, second, third = (measured().measurement for _ in range(3))
    rp.reconstruct([first, second]).save(tmp_path / "a")
    found = rp.reconstruct([rp.load_tables(tmp_path / "a"), third])
    expected = rp.reconstruct([first, second, third])
    assert found.noise.pcost == expected.noise.pcost
    for query in expected:
        assert (found[query].estimate == expected[query].estimate).all()
    with pytest.raises(rp.errors.BudgetError, match="a measurement is there twice"):
        rp.reconstruct([rp.load_tables(tmp_path / "a"), second])


def test_a_folder_that_was_copied_serves_and_one_without_its_measurement_says_so(tmp_path):
    release = measured()
    release.save(tmp_path / "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    shutil.rmtree(tmp_path / "a")
    tables = rp.load_tables(tmp_path / "b")
    assert (rp.reconstruct(tables)["sex"].estimate == release["sex"].estimate).all()
    (tmp_path / "b" / "release.measurement").unlink()
    tables = rp.load_tables(tmp_path / "b")
    assert tables["sex"].estimate.shape == (2,)
    with pytest.raises(rp.errors.FileFormatError, match=r"release\.measurement is missing; copy the folder again"):
        rp.nonnegative(tables)


def test_another_measurement_in_the_folder_is_refused(tmp_path):
    measured().save(tmp_path / "a")
    path = tmp_path / "a" / "release.measurement"
    other = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp("0.3"))
    measured(other).measurement.save(path)
    with pytest.raises(rp.errors.FileFormatError, match=r"release\.measurement was altered"):
        rp.reconstruct(rp.load_tables(tmp_path / "a"))
    forge_hash(tmp_path / "a", path.name)
    with pytest.raises(rp.errors.FileFormatError, match=r"is another measurement than release\.plan and the manifest"):
        rp.reconstruct(rp.load_tables(tmp_path / "a"))
    path.write_bytes(path.read_bytes()[:-50])
    forge_hash(tmp_path / "a", path.name)
    with pytest.raises(rp.errors.FileFormatError, match=r"release\.measurement"):
        rp.reconstruct(rp.load_tables(tmp_path / "a"))


def test_no_folder_holds_the_seed_that_takes_the_noise_away(tmp_path):
    seed = 914_736_251
    release = rp.reconstruct(rp.measure(PLAN, RECORDS, noise="gaussian", seed=seed))
    release.save(tmp_path / "a")
    release.save(tmp_path / "p", "parts", workers=1)
    for folder in ("a", "p"):
        again = rp.reconstruct(rp.load_tables(tmp_path / folder))
        assert (again["age", "sex"].estimate == release["age", "sex"].estimate).all()
        assert not again.noise.is_private
        for path in filter(os.path.isfile, (tmp_path / folder).rglob("*")):
            assert str(seed).encode() not in path.read_bytes()


def test_a_folder_is_read_whole_and_not_saved_again(tmp_path):
    """Intervals of numbers that are not unbiased do not follow from these alone."""
    release = rp.nonnegative(measured())
    for form in ("csv", "parts"):
        release.save(tmp_path / form, form, with_unbiased=True)
        saved = rp.load_tables(tmp_path / form)
        pairs = zip(saved.tables(), saved.unbiased.tables(), release.tables(), strict=True)
        for own, unbiased, expected in pairs:
            assert own.estimate.tolist() == expected.estimate.tolist()
            assert unbiased.estimate.tolist() == expected.unbiased.estimate.tolist()
        with pytest.raises(rp.errors.ArgumentError, match=r"is in .* already; copy the folder"):
            saved.save(tmp_path / "again")
        with pytest.raises(rp.errors.ArgumentError, match=r"errors are simulated for numbers that were made here"):
            rp.fits.published_errors(saved)
    assert not (tmp_path / "again").exists()
