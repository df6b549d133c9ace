"""Only files that begin and end are opened: pipes and devices are refused by a message, and nothing waits for them."""

import os
import signal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import residualplanner as rp
from inner_parts import opening

DOMAIN = rp.Domain({"a": 3})
ENDINGS = ["plan", "csv", "csv.gz", "parquet", "json", "whatever"]
READERS = {
    "load_plan": rp.load_plan,
    "load_measurement": rp.load_measurement,
    "load_tables": rp.load_tables,
    "write_report": lambda path: rp.publish.write_report(path, path.with_name("report.html")),
    "Ledger.open": rp.Ledger.open,
    "records": lambda path: opening.open_source(path, DOMAIN),
    "a folder of records": lambda path: opening.open_source(path.parent, DOMAIN),
    "CsvFile": lambda path: opening.open_source(rp.CsvFile(path, newlines_in_values=True), DOMAIN),
}


@pytest.fixture(autouse=True)
def _no_waiting():
    """A test that waits for a pipe is interrupted after some seconds."""

    def interrupt(*_):
        raise TimeoutError("it waits for a pipe")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("device", [None, "/dev/zero"])
def test_a_pipe_or_device_is_refused_by_its_name(reader, device, tmp_path):
    for number, ending in enumerate(ENDINGS):
        (tmp_path / str(number)).mkdir()
        path = tmp_path / str(number) / f"x.{ending}"
        os.mkfifo(path) if device is None else path.symlink_to(device)
        with pytest.raises((rp.errors.ResidualPlannerError, OSError), match=r".") as caught:
            READERS[reader](path)
        assert not isinstance(caught.value, TimeoutError)
        if reader in ("load_plan", "load_measurement"):
            assert str(caught.value) == f"{path} is a pipe, a device or the like; write its content to a file"


def test_files_that_only_have_the_name_of_a_statistics_package_are_told(tmp_path):
    for name in ("a.dta", "a.SAV", "a.sas7bdat"):
        (tmp_path / name).touch()
        with pytest.raises(rp.errors.DataError, match="is no such file as its name says, or it is damaged"):
            opening.open_source(tmp_path / name, DOMAIN)


@pytest.mark.parametrize("kind", [">i2", ">i8", ">u4", ">f4", ">f8", "longdouble", ">f2"])
def test_numbers_of_any_byte_order_and_precision_are_read_as_their_native_twins(kind):
    frame = pd.DataFrame({"a": np.array([0, 2, 1, 2]).astype(kind), "name": np.arange(4).astype(">i8")})
    limited = rp.LimitedRecords(frame, person="name", order="a")
    weighted = rp.Domain({}, weight=rp.Weight("a", maximum=9))
    for data in (frame, limited, frame.assign(name=["a", "b", "c", "d"])):
        assert opening.open_source(data, DOMAIN).count([np.array([[0]])])[0].tolist() == [[1, 1, 2]]
    assert opening.open_source(frame, weighted).count([np.empty((1, 0), dtype=int)])[0].tolist() == [5]


def test_integers_of_128_bits_are_read():
    frame = pl.DataFrame({"a": pl.Series([0, 2, None, 2**100], dtype=pl.Int128), "name": ["x"] * 4})
    domain = rp.Domain({"a": rp.Attribute("a", 3, unknown="other", missing="none")})
    for data in (frame, frame.lazy()):
        assert opening.open_source(data, domain).count([np.array([[0]])])[0].tolist() == [[1, 0, 1, 1, 1]]
        limited = rp.LimitedRecords(data, person="name", keep=2, order="a")
        assert opening.open_source(limited, domain, records_per_person=2).count([np.array([[0]])])[0].tolist() == [
            [1, 0, 1, 0, 0]
        ]
