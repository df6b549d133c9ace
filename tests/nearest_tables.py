"""The nearest non-negative tables by explicit matrices and a general solver, over data vectors."""

import cvxpy as cp
import numpy as np

import dense
from inner_parts import facts as facts_part
from random_plans import base_mechanisms, noise_of
from residualplanner.fits.nonnegative.problem import WEIGHTS, problem_of

#: Of a general solver that needs no point strictly inside the constraints.
EXACT = {"solver": cp.OSQP, "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000}


def nearest(plan, answers, freedoms, *, constraint_rows, known=(), zero_rows=(), **options):
    """A data vector whose answers are nearest to ``answers`` while all ``constraint_rows`` of it are non-negative.

    Every set of answers is that of some data vector, so that nothing is lost by looking for one.

    Args:
        plan: its base mechanisms are used as explicit matrices.
        answers: by set of attributes, noisy.
        freedoms: by set; those that are 0 keep their answers.
        constraint_rows: matrices over the domain.
        known: pairs of a matrix over the domain and what it gives.
        zero_rows: matrices over the domain that give 0.
        options: of the solver.
    """
    x = cp.Variable(int(np.prod(plan.domain.sizes)))
    unit = max(freedoms.values()) or 1.0  # the solver wants an objective that is not tiny
    terms, constraints = [], [rows @ x >= 0 for rows in constraint_rows]
    for (members, variance), (rows, covariance) in zip(noise_of(plan).items(), base_mechanisms(plan), strict=True):
        off = rows @ x - answers[members]
        if freedoms[members]:
            root = np.linalg.inv(np.linalg.cholesky(covariance / variance * (freedoms[members] / unit)))
            terms.append(cp.sum_squares(root @ off))
        else:
            constraints.append(off == 0)
    constraints += [rows @ x == values for rows, values in known] + [rows @ x == 0 for rows in zero_rows]
    problem = cp.Problem(cp.Minimize(sum(terms) / 2 if terms else cp.Constant(0)), constraints)
    tolerances = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
    problem.solve(**(options or {"solver": cp.CLARABEL} | tolerances))
    return x.value, float(problem.value) / unit


def marginals_of(plan, sets):
    """The explicit marginals of sets of attributes."""
    return {members: dense.marginal(plan.domain.sizes, members) for members in sets}


def problem_for(release, known=None, impossible=(), *, weights="protect-margins", fixes_total=True):
    """The dual problem of the tables nearest to those of a release that keep to facts."""
    facts = facts_part.read_facts(release.plan, known, impossible)
    return problem_of(release.measurement, facts, WEIGHTS[weights], fixes_total=fixes_total)
