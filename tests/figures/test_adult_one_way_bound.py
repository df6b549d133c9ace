"""The bounds on the largest variance of 1-way workloads against the least that convex optimization finds."""

import re
import warnings
from itertools import product
from pathlib import Path

import cvxpy
import numpy as np
import pytest

from benchmarks.adult_one_way_bound import (
    AT_LEAST,
    SHARE,
    Weights,
    basic_matrix,
    bound_for_all,
    bound_for_family,
    main,
    saved_weights,
)
from benchmarks.published_general import PREFIX_MAX
from residualplanner import Domain, Prefix, marginals, pcost, select

SIZES, PREFIXES = (4, 3, 2), 2


def least_of_all(matrices):
    """The largest variance of the best mechanism of cost 1, from a row for each query over all cells."""
    cells = list(product(*(range(W.shape[1]) for W in matrices)))
    queries = np.array([[row[cell[i]] for cell in cells] for i, W in enumerate(matrices) for row in W])
    _, singular, directions = np.linalg.svd(queries, full_matrices=False)
    Q = directions[singular > 1e-9 * singular[0]]
    M, largest = cvxpy.Variable((len(Q), len(Q)), PSD=True), cvxpy.Variable()
    limits = [q @ M @ q <= 1 for q in Q.T] + [cvxpy.matrix_frac(Q @ w, M) <= largest for w in queries]
    problem = cvxpy.Problem(cvxpy.Minimize(largest), limits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # on some processors the last digits are not reached
        problem.solve(solver="CLARABEL")
    cost = np.einsum("ij,ik,kj->j", Q, M.value, Q).max()
    found = (np.einsum("ij,ij->i", queries @ Q.T, np.linalg.solve(M.value, Q @ queries.T).T) * cost).max()
    assert found == pytest.approx(problem.value, rel=1e-6)
    return found  # of a mechanism, so that it is no less than the least whatever the solver says


@pytest.fixture(scope="module")
def matrices():
    return [basic_matrix(size, prefix=number < PREFIXES) for number, size in enumerate(SIZES)]


@pytest.fixture(scope="module")
def least(matrices):
    return least_of_all(matrices)


@pytest.mark.parametrize("seed", range(20))
def test_no_weights_prove_more_than_is_true(matrices, least, seed):
    generator = np.random.default_rng(seed)
    weights = [
        Weights(
            W, generator.exponential(size=len(W)), generator.uniform(), *generator.exponential(size=(2, W.shape[1]))
        )
        for W in matrices
    ]
    assert 0 < bound_for_all(weights) <= least * (1 + 1e-6)


def test_the_family_lies_between_all_mechanisms_and_the_plan(matrices, least):
    bound, attained = bound_for_family(matrices)
    names = "abc"
    workload = marginals(
        Domain(dict(zip(names, SIZES, strict=True))), order=1, kinds=dict.fromkeys(names[:PREFIXES], Prefix())
    )
    ours = select(workload, budget=pcost(1), loss="max").max_variance
    assert least <= attained
    assert bound <= attained <= bound * (1 + 2e-5)
    assert bound * (1 - 1e-7) <= ours <= bound * 1.0002


def test_one_attribute_has_no_better_mechanism_than_residual_bases():
    W = basic_matrix(6, prefix=True)
    bound, attained = bound_for_family([W])
    least = least_of_all([W])
    assert bound <= least * (1 + 1e-6) <= attained * (1 + 2e-6)


def test_the_saved_weights_put_the_target_for_adult_out_of_reach():
    bound = bound_for_all(saved_weights())
    assert bound >= AT_LEAST > SHARE * PREFIX_MAX["Adult"][0][0]


def test_the_figures_in_the_manual_are_those_that_are_printed(capsys):
    assert main() == 0
    printed = [f"{float(line.split()[0]):.3f}" for line in capsys.readouterr().out.splitlines()[1:]]
    page = (Path(__file__).resolve().parents[2] / "docs" / "bases.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (25\.\d+) \|", page, flags=re.MULTILINE) == printed
