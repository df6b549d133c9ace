"""Whatever is made from noise that protects nobody says so, in its description and in its files."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import residualplanner as rp

DOMAIN = rp.Domain({"age": 3, "sex": 2})
PLAN = rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp("0.5"))
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(60, 2))
SEEDED = rp.measure(PLAN, RECORDS, noise="gaussian", seed=1)
CONTINUOUS = rp.measure(PLAN, RECORDS, noise="gaussian")
EXACT = rp.measure(PLAN, RECORDS, ledger=rp.Ledger.unlimited("invented records"))
MARKS = {
    "seeded": (SEEDED, "; no guarantee: seeded, not private>"),
    "continuous": (CONTINUOUS, "; no guarantee: continuous noise>"),
    "exact": (EXACT, ">"),
}


@pytest.fixture(params=MARKS)
def marked(request):
    measurement, mark = MARKS[request.param]
    return rp.reconstruct(measurement), mark


def described(release, folder):
    """The descriptions of all that is made of a release."""
    release.save(folder / "tables", format="csv")
    release.save(folder / "parts", format="parts")
    nonnegative = rp.nonnegative(release)
    made = [nonnegative, rp.rounded(release), rp.rounded(nonnegative), rp.synthesize(release, 0)]
    return [repr(each) for each in (*made, rp.load_tables(folder / "tables"), rp.load_tables(folder / "parts"))]


def test_whatever_is_made_of_a_release_is_described_with_what_its_noise_is_worth(marked, tmp_path):
    release, mark = marked
    for text in described(release, tmp_path):
        assert text.endswith(mark)
        assert ("no guarantee" in text) == ("no guarantee" in mark)


PRODUCTS = {"unbiased": lambda found: found, "non-negative": rp.nonnegative, "rounded": rp.rounded}


@pytest.mark.parametrize("product", [*PRODUCTS, "csv", "parts"])
def test_a_table_says_that_its_noise_promises_no_privacy_however_it_is_shown(marked, product, tmp_path):
    release, mark = marked
    if product in PRODUCTS:
        table = PRODUCTS[product](release)["age", "sex"]
    else:
        release.save(tmp_path / "out", product)
        table = rp.load_tables(tmp_path / "out")["age", "sex"]
    words = mark.strip("; >")
    assert ("no guarantee" in repr(table)) is bool(words)
    assert words in repr(table)
    assert words in table._repr_html_()
    assert table.to_frame().attrs == ({"noise": words} if words else {})


def test_a_parquet_file_of_synthetic_records_says_what_is_guaranteed(marked, tmp_path):
    release, _ = marked
    people = rp.synthesize(release, 0)
    people.save(tmp_path / "people.parquet")
    about = pq.read_schema(tmp_path / "people.parquet").metadata
    beside = json.loads((tmp_path / "people.parquet.json").read_text())
    assert about[b"guarantee"].decode() == beside["guarantee"] == release.noise.guarantee
    assert about[b"statement"].decode() == beside["statement"]


@pytest.mark.parametrize("measured", [[CONTINUOUS, SEEDED], [SEEDED, CONTINUOUS], [EXACT, CONTINUOUS, SEEDED]])
def test_of_several_measurements_the_gravest_reason_is_told_whatever_their_order(measured, tmp_path):
    release = rp.reconstruct(measured)
    assert release.noise.guarantee == "none: whoever knows the seed can take the noise away"
    release.save(tmp_path / "tables", format="parquet")
    assert rp.load_tables(tmp_path / "tables").noise.guarantee == release.noise.guarantee
