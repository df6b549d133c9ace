"""The Adult data are UCI's: same people, same values, and the schema that the literature uses."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from residualplanner.datasets import adult

# The published margins of UCI's training and test parts together.
PUBLISHED = {
    "sex": {"Male": 32650, "Female": 16192},
    "income>50K": {"<=50K": 37155, ">50K": 11687},
    "race": {"White": 41762, "Black": 4685, "Asian-Pac-Islander": 1519, "Amer-Indian-Eskimo": 470, "Other": 406},
    "workclass": {"Private": 33906, "Self-emp-not-inc": 3862, "Without-pay": 21, "Never-worked": 10, "?": 2799},
    "marital-status": {"Married-civ-spouse": 22379, "Never-married": 16117, "Married-AF-spouse": 37},
    "relationship": {"Husband": 19716, "Own-child": 7581, "Other-relative": 1506, "Wife": 2331},
    "occupation": {"Prof-specialty": 6172, "Adm-clerical": 5611, "Armed-Forces": 15, "?": 2809},
    "native-country": {"United-States": 43832, "Mexico": 951, "Cuba": 138, "Holand-Netherlands": 1, "?": 857},
}
SOME = ["age", "workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"]


@pytest.fixture(scope="module")
def table():
    return pq.read_table(adult()[1])


def test_the_records_have_the_columns_and_the_values_of_the_domain_whose_sizes_are_those_of_the_literature(table):
    domain, path = adult()
    assert tuple(table.column_names) == domain.names
    assert table.num_rows == 48842
    for name in domain:
        assert set(table[name].unique().to_pylist()) <= set(domain[name].value_labels)
    assert domain.sizes == (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
    assert sum(domain.sizes) == 588
    assert path.stat().st_size < 500_000
    assert "CC BY 4.0" in path.with_name("README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PUBLISHED)
def test_margins_are_the_published_ones(table, name):
    counts = Counter(table[name].to_pylist())
    assert {value: counts[value] for value in PUBLISHED[name]} == PUBLISHED[name]


def test_means_are_the_published_ones(table):
    for name, mean in {"age": 38.64, "education-num": 10.08, "hours-per-week": 40.42}.items():
        values = table[name].to_pylist()
        assert sum(values) / len(values) == pytest.approx(mean, abs=0.005)


def test_first_and_fifth_records_are_those_of_the_training_file(table):
    records = table.select(SOME).slice(0, 5).to_pylist()
    first = (39, "State-gov", "Never-married", "Adm-clerical", "Not-in-family", "White", "Male", "United-States")
    fifth = (28, "Private", "Married-civ-spouse", "Prof-specialty", "Wife", "Black", "Female", "Cuba")
    assert tuple(records[0].values()) == first
    assert tuple(records[4].values()) == fifth
