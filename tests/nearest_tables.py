"""The nearest non-negative tables by explicit matrices and a general solver, over data vectors."""

import cvxpy as cp
import numpy as np

import dense
from random_plans import base_mechanisms, noise_of


def nearest(plan, answers, freedoms, *, constraint_rows, known=(), zero_rows=(), tolerance=1e-11):
    """A data vector whose answers are nearest to ``answers`` while all ``constraint_rows`` of it are non-negative.

    Every set of answers is that of some data vector, so that nothing is lost by looking for one.

    Args:
        plan: its base mechanisms are used as explicit matrices.
        answers: by set of attributes, noisy.
        freedoms: by set; those that are 0 keep their answers.
        constraint_rows: matrices over the domain.
        known: pairs of a matrix over the domain and what it gives.
        zero_rows: matrices over the domain that give 0.
        tolerance: of the solver.
    """
    x = cp.Variable(int(np.prod(plan.domain.sizes)))
    terms, constraints = [], [rows @ x >= 0 for rows in constraint_rows]
    for (members, variance), (rows, covariance) in zip(noise_of(plan).items(), base_mechanisms(plan), strict=True):
        off = rows @ x - answers[members]
        if freedoms[members]:
            root = np.linalg.inv(np.linalg.cholesky(covariance / variance * freedoms[members]))
            terms.append(cp.sum_squares(root @ off))
        else:
            constraints.append(off == 0)
    constraints += [rows @ x == values for rows, values in known] + [rows @ x == 0 for rows in zero_rows]
    problem = cp.Problem(cp.Minimize(sum(terms) / 2 if terms else cp.Constant(0)), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=tolerance, tol_gap_rel=tolerance, tol_feas=tolerance)
    return x.value, float(problem.value)


def marginals_of(plan, sets):
    """The explicit marginals of sets of attributes."""
    return {members: dense.marginal(plan.domain.sizes, members) for members in sets}
