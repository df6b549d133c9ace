"""Files of SPSS, Stata and SAS are records like any others, and their value labels declare values."""

import datetime as dt
import sys

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import residualplanner as rp
from command_line import outcome
from forms_of_records import counts

BORN = [dt.date(1950, 5, 6), dt.date(2020, 1, 2), None, dt.date(1999, 12, 31)]
PEOPLE = pd.DataFrame(
    {
        "sex": [1.0, 2.0, np.nan, 2.0],
        "name": ["a", "bé", "", "a"],
        "born": BORN,
        "pay": [10.5, 20.0, 0.0, np.nan],
        "who": ["p", "q", "q", "p"],
        "weight": [1.0, 2.0, 0.5, 1.0],
    }
)
DOMAIN = rp.Domain(
    {
        "sex": rp.Attribute("sex", labels={1: "female", 2: "male"}, missing="Not stated"),
        "name": rp.Attribute("name", labels=["a", "bé"], missing="Not stated"),
        "born": rp.Attribute("born", bins=rp.Bins.years(1950, 2020), missing="Not stated"),
        "pay": rp.Attribute("pay", numeric=rp.Numeric(0, 30, unit="0.5"), missing="Not stated"),
    }
)
LABELS = {"variable_value_labels": {"sex": {1: "female", 2: "male"}}}
WRITERS = {
    ".sav": lambda frame, path: pyreadstat.write_sav(frame, path, column_labels={"sex": "Sex"}, **LABELS),
    ".zsav": lambda frame, path: pyreadstat.write_sav(frame, path, compress=True, **LABELS),
    ".dta": lambda frame, path: pyreadstat.write_dta(frame, path, column_labels={"sex": "Sex"}, **LABELS),
    ".xpt": lambda frame, path: pyreadstat.write_xport(frame, path, file_format_version=8),
    ".por": lambda frame, path: pyreadstat.write_por(frame.rename(columns=str.upper), path),
}


@pytest.fixture(params=[".sav", ".zsav", ".dta", ".xpt"])
def path(request, tmp_path):
    file = tmp_path / f"people{request.param}"
    WRITERS[request.param](PEOPLE, str(file))
    return file


def test_the_counts_are_those_of_the_frame(path):
    for members in ((), (0,), (1,), (2,), (3,), (0, 1, 3)):
        assert counts(path, DOMAIN, members) == counts(PEOPLE.assign(name=["a", "bé", None, "a"]), DOMAIN, members)


def test_weights_and_persons_are_read_from_them(path):
    weighted = rp.Domain({"name": DOMAIN["name"]}, weight=rp.Weight("weight", maximum=2, unit="0.5"))
    assert counts(path, weighted) == [4, 4, 1]
    limited = rp.LimitedRecords(path, person="who", keep=1, order="pay")
    assert counts(limited, DOMAIN, ()) == 2


def test_a_portable_file_has_names_in_capitals(tmp_path):
    WRITERS[".por"](PEOPLE[["sex", "pay"]], str(tmp_path / "people.por"))
    domain = rp.Domain({"SEX": rp.Attribute("SEX", labels=[1, 2], missing="Not stated")})
    assert counts(tmp_path / "people.por", domain) == [1, 2, 1]


def test_a_column_of_another_type_is_refused_before_anything_is_read(path):
    with pytest.raises(rp.errors.DataError, match="column 'pay' is of a type that holds numbers"):
        counts(path, rp.Domain({"pay": ["low", "high"]}))
    with pytest.raises(rp.errors.DataError, match="missing from the data"):
        counts(path, rp.Domain({"Pay": 3}))


def test_a_damaged_file_and_a_missing_package_are_told(path, monkeypatch):
    damaged = path.with_name(f"damaged{path.suffix}")
    damaged.write_bytes(b"no records")
    with pytest.raises(rp.errors.DataError, match="is no such file as its name says, or it is damaged"):
        counts(damaged, DOMAIN)
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(rp.errors.DataError, match=r"pip install 'residualplanner\[spss\]'"):
        counts(path, DOMAIN)


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_value_labels_declare_the_values_in_a_spec(ending, tmp_path):
    WRITERS[ending](PEOPLE, str(tmp_path / f"people{ending}"))
    result = outcome("init", tmp_path / f"people{ending}", "-o", tmp_path / "spec.toml")
    assert result.exit_code == 0, result.output
    text = (tmp_path / "spec.toml").read_text()
    assert 'sex = { labels = [[1, "female"], [2, "male"]], title = "Sex" }' in text
    assert all(f'{name} = "?"' in text for name in ("name", "born", "pay", "who", "weight"))


def test_commands_measure_them(path, tmp_path):
    (tmp_path / "spec.toml").write_text(
        'budget = { zcdp = "0.5" }\n[domain]\n'
        'sex = { labels = [1, 2], missing = "Not stated" }\nname = { labels = ["a", "bé"], missing = "drop" }\n'
        "[[workload]]\nup_to = 2\n"
    )
    result = outcome("release", tmp_path / "spec.toml", path, "-o", tmp_path / "tables")
    assert result.exit_code == 0, result.output
    assert len(rp.load_tables(tmp_path / "tables")) == 4
