"""The paper's figures 1 to 3: what its text says of them holds, and the pictures and data kept are of them."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.fairness import FIGURES, claims, plans
from residualplanner.publish.report import fairness_data

ROOT = Path(__file__).resolve().parents[2]
SAVED = pd.read_csv(ROOT / "benchmarks" / "results" / "fairness.csv")


@pytest.fixture(scope="module")
def data():
    return {weights: fairness_data(plan) for weights, plan in plans().items()}


def test_what_the_paper_says_of_its_figures_holds(data):
    for weights, claim in claims(data).items():
        assert claim.holds, (weights, claim)


def test_the_saved_numbers_are_those_of_the_library(data):
    assert SAVED["order"].value_counts().to_dict() == {0: 1, 1: 14, 2: 91, 3: 364}
    for weights, frame in data.items():
        assert SAVED["query"].tolist() == frame["query"].tolist()
        assert SAVED[f"std_err_{weights}"].to_numpy() == pytest.approx(frame["std_err"].to_numpy(), rel=1e-5)


def test_the_total_has_the_standard_error_of_the_closed_form():
    # Eqs. (11) and (14) by hand, at privacy cost 1: with sums over the workload written out for each set.
    sizes = np.array([100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2], dtype=float)
    sets = [()] + [(i,) for i in range(14)] + [(i, j) for i in range(14) for j in range(i)]
    sets += [(i, j, k) for i in range(14) for j in range(i) for k in range(j)]
    importance = {"equal": lambda n: 1.0, "cells": lambda n: n, "sqrt": lambda n: n**0.5}
    for weights, rule in importance.items():
        used = {frozenset(names): 0.0 for names in sets}
        cost = {names: float(np.prod([1 - 1 / sizes[i] for i in names])) for names in used}
        for query in sets:
            weight = rule(float(np.prod(sizes[list(query)])))
            for names in used:
                if names <= set(query):
                    inner = np.prod([1 - 1 / sizes[i] for i in names])
                    used[names] += weight * inner * np.prod([sizes[j] ** -2.0 for j in set(query) - names])
        root_sum = sum((used[names] * cost[names]) ** 0.5 for names in used)
        total = (cost[frozenset()] / used[frozenset()]) ** 0.25 * root_sum**0.5
        assert SAVED[f"std_err_{weights}"][0] == pytest.approx(total, rel=1e-6)


@pytest.mark.parametrize("weights", FIGURES)
def test_pictures_are_whole_and_not_too_large(weights):
    text = (ROOT / "docs" / f"fairness-{weights}.svg").read_text(encoding="utf-8")
    assert text.rstrip().endswith("</svg>")
    assert len(text) < 60_000
    assert not re.search(r"<dc:date>", text)
