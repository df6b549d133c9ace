"""A release or a measurement in a bucket is the one that a folder would hold, whole or not at all."""

import sys

import numpy as np
import pytest

import residualplanner as rp
from benchmarks.s3_server import s3_server
from small_pieces import contents

DOMAIN = rp.Domain({"age": 5, "sex": ["F", "M"], "region": 3})
RECORDS = np.column_stack([np.random.default_rng(1).integers(0, size, 500) for size in DOMAIN.sizes])


@pytest.fixture(scope="module")
def server():
    with s3_server() as bucket:
        yield bucket


@pytest.fixture
def bucket(server, monkeypatch, tmp_path):
    """The address of an empty prefix, which the environment has the keys of."""
    store = server(tmp_path.name)
    for name, value in store.settings:
        monkeypatch.setenv(f"AWS_{name.upper()}", value)
    return store


@pytest.fixture(scope="module")
def measurement():
    return rp.measure(rp.select(rp.marginals(DOMAIN, up_to=2), budget=rp.zcdp(1)), RECORDS)


def objects_in(bucket):
    return {name: (bucket / name).read_bytes() for name in bucket.names("")}


@pytest.mark.parametrize("format", ["parts", "csv", "parquet"])
@pytest.mark.parametrize("product", [rp.reconstruct, lambda found: rp.nonnegative(rp.reconstruct(found))])
@pytest.mark.cases(2)
def test_a_bucket_holds_the_objects_that_a_folder_holds_as_files(measurement, bucket, tmp_path, format, product):
    release = product(measurement)
    release.save(str(bucket), format)
    release.save(tmp_path / "tables", format)
    assert objects_in(bucket) == contents(tmp_path / "tables")
    here, there = rp.load_tables(tmp_path / "tables"), rp.load_tables(str(bucket))
    assert list(there) == list(here) == list(release)
    for query in here:
        np.testing.assert_array_equal(there[query].estimate, here[query].estimate)
    assert there.numbers.errors.equals(here.numbers.errors)


def test_a_measurement_in_a_bucket_is_the_one_that_was_saved(measurement, bucket):
    measurement.save(f"{bucket}/people.measurement")
    for mapped in (False, True):
        found = rp.load_measurement(f"{bucket}/people.measurement", mapped=mapped)
        assert found.answers_sha256 == measurement.answers_sha256
        np.testing.assert_array_equal(
            rp.reconstruct(found)["age", "sex"].estimate, rp.reconstruct(measurement)["age", "sex"].estimate
        )


@pytest.mark.parametrize("format", ["parts", "csv"])
def test_what_is_there_is_not_written_over(measurement, bucket, format):
    bucket.create_if_absent("something", b"of others")
    with pytest.raises(FileExistsError, match="is not empty; name a new prefix"):
        rp.reconstruct(measurement).save(str(bucket), format)
    assert objects_in(bucket) == {"something": b"of others"}


def test_other_processes_read_the_answers_in_the_bucket_and_write_their_parts_there(bucket, tmp_path, measurement):
    measurement.save(tmp_path / "people.measurement")
    release = rp.reconstruct(rp.load_measurement(tmp_path / "people.measurement", mapped=True))
    (tmp_path / "people.measurement").chmod(0o000)  # as on a machine that does not see this disk
    rp.nonnegative(release).save(str(bucket), "parts", workers=2)
    release.save(tmp_path / "unbiased", "parts")
    assert not [name for name in bucket.names("") if name.endswith(".sent") or "unfinished" in name]
    again = rp.reconstruct(rp.load_tables(str(bucket)))
    assert all((again[query].estimate == release[query].estimate).all() for query in release)
    assert set(rp.load_tables(str(bucket))) == set(rp.load_tables(tmp_path / "unbiased"))


@pytest.mark.parametrize("name", ["parts/part-000000.parquet", "release.plan", "metadata.json", "parts.csv"])
def test_an_object_that_was_altered_is_refused_by_its_address(measurement, bucket, name):
    rp.reconstruct(measurement).save(str(bucket), "parts")
    content = bytearray((bucket / name).read_bytes())
    content[len(content) // 2] ^= 1
    with (bucket / name).writing() as file:
        file.write(content)
    with pytest.raises(rp.errors.FileFormatError, match=f"{bucket}/{name} was altered"):
        [table.estimate for table in rp.load_tables(str(bucket)).values()]


def test_a_damaged_measurement_is_refused_by_its_address(measurement, bucket):
    with (bucket / "people.measurement").writing() as file:
        file.write(b"PK nothing")
    with pytest.raises(rp.errors.FileFormatError, match=rf"{bucket}/people\.measurement: this is"):
        rp.load_measurement(f"{bucket}/people.measurement")
    with pytest.raises(FileNotFoundError, match=r"there is no object .*other\.measurement'"):
        rp.load_measurement(f"{bucket}/other.measurement")


def test_a_report_is_about_tables_in_a_bucket(measurement, bucket, tmp_path):
    release = rp.reconstruct(measurement)
    release.save(str(bucket), "csv")
    release.save(tmp_path / bucket.address.rpartition("/")[2], "csv")
    figures = []
    for name, folder in (("there", str(bucket)), ("here", tmp_path / bucket.address.rpartition("/")[2])):
        (tmp_path / name).mkdir()
        rp.publish.write_report(folder, tmp_path / name / "page.html")
        figures.append(contents(tmp_path / name / "page-figures"))
    assert figures[0] == figures[1] != {}


def test_without_obstore_an_address_says_what_to_install(measurement, monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(rp.errors.MissingExtraError, match=r"pip install 'residualplanner\[s3\]'"):
        rp.reconstruct(measurement).save("s3://bucket/tables", "parts")
