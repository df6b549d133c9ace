"""The measures of the comparison of records, the binning of its data sets, and its verdicts."""

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from benchmarks.record_errors import Question, accuracy, distance_of_coefficients
from benchmarks.records_compared import MEASURES, PEERS, cells_of, question_of, shown, singles, summary
from benchmarks.records_data import DATA_SETS, NOMINAL, coded_column, named, sample_of, sizes_of_samples

CHANCE = np.random.default_rng(5)
#: Two ordered attributes, of which the first is twice the second and a nominal one, and noise.
RIGHT = np.stack([CHANCE.integers(0, 4, 4000), CHANCE.integers(0, 2, 4000), CHANCE.integers(0, 3, 4000)], axis=1)
CODES = np.column_stack([2 * RIGHT[:, 0] + RIGHT[:, 1], RIGHT])
QUESTION = Question((8, 4, 2, 3), (True, True, False, False), 0, (1, 2), 0)


def test_coefficients_of_the_records_themselves_are_at_distance_nothing():
    assert distance_of_coefficients(CODES, CODES[::-1], QUESTION) == pytest.approx(0, abs=1e-12)


def test_independent_columns_lose_the_standardized_coefficients():
    shuffled = np.column_stack([CHANCE.permutation(column) for column in CODES.T])
    columns = [(2 * RIGHT[:, 0]).std(), RIGHT[:, 1].std()] / CODES[:, 0].std()
    assert distance_of_coefficients(CODES, shuffled, QUESTION) == pytest.approx(np.sqrt(np.mean(columns**2)), abs=0.05)


def test_a_classifier_learns_a_rule_and_nothing_from_noise():
    assert accuracy(CODES, CODES[:1000], QUESTION) > 0.95
    constant = np.repeat(CODES[:1], 1000, axis=0)
    assert accuracy(CODES, constant, QUESTION) == pytest.approx(0.5, abs=0.05)


def test_numbers_fall_into_declared_bins_and_what_is_missing_has_its_own():
    size, codes = coded_column(pd.Series([0.0, 9.9, 10.0, 250.0, -3.0, None]), (0, 10, 20))
    assert (size, codes.tolist()) == (3, [0, 0, 1, 1, 0, 2])
    labels, codes = coded_column(pd.Series(["b", None, "a"]), NOMINAL)
    assert (labels, codes.tolist()) == (["a", "b", "(missing)"], [1, 2, 0])


def test_samples_are_those_of_their_seed():
    assert sizes_of_samples(13_583) == (1000, 13_583)
    assert sizes_of_samples(254_654) == (1000, 10_000, 100_000, 254_654)
    assert (sample_of(CODES, 1000, 1) == sample_of(CODES, 1000, 1)).all()
    assert (sample_of(CODES, 1000, 1) != sample_of(CODES, 1000, 2)).any()
    assert sample_of(CODES, 4000, 1) is CODES


def test_singles_have_the_tables_of_single_attributes_and_no_dependence():
    domain = named(rp.Domain(dict(zip("abcd", QUESTION.sizes, strict=True))), ("c", "d"))
    made = singles(CODES, domain, 50.0, 0)
    assert made.shape == CODES.shape
    for place, size in enumerate(QUESTION.sizes):
        counts = [np.bincount(codes[:, place], minlength=size) for codes in (CODES, made)]
        assert np.abs(counts[0] - counts[1]).max() < 20
    assert abs(np.corrcoef(made[:, 0], made[:, 1])[0, 1]) < 0.1


def test_every_data_set_that_ships_answers_its_question():
    domain, _ = DATA_SETS["adult"].read(None)
    question = question_of(DATA_SETS["adult"], domain)
    assert domain.names[question.classified] == "income>50K"
    assert not question.ordered[question.classified]
    assert question.ordered[question.explained]


def row(mechanism, seed, pairs, epsilon=1.0):
    return {"data": "adult", "records": 1000, "epsilon": epsilon, "mechanism": mechanism, "seed": seed} | {
        measure: pairs for measure in (*MEASURES, "cpu")
    }


def test_verdicts_are_of_the_seeds_that_both_have_and_lost_cells_come_first():
    rows = [row("ours", 0, 0.1), row("ours", 1, 0.9), row("aim", 0, 0.2), row("singles", 0, 0.3)]
    rows += [row("ours", 0, 0.2, 10.0), row("mst", 0, 0.1, 10.0)]
    lost, won = cells_of(rows)
    assert (lost.cell[2], lost.worst) == (10.0, pytest.approx(2.0))
    assert won.worst == pytest.approx(0.5)
    assert won.shown("ours", "pairs") == "0.5"


def test_runs_that_were_stopped_are_said_to_be():
    stopped = {"data": "adult", "records": 1000, "epsilon": 1.0, "mechanism": "aim", "seed": 0}
    cells = cells_of([row("ours", 0, 0.1), stopped | {"stopped_after": 60, "cpu": 55.0}])
    assert "> 55" in "\n".join(shown(cells))
    seconds = [{"data": "adult", "ours": 1.0, "aim": each} for each in (5.0, 10.0, 20.0)]
    lines = list(summary(cells, seconds))
    assert all(len(line.split("|")) == 9 for line in lines)
    assert "median 1/10, most 1/5" in lines[-1]
    assert set(PEERS) == {"aim-published", "aim", "mst-mbi", "mst"}
