"""Measuring with bases of every sort, also by set, is the explicit mechanism, to the last digit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
from forms_of_records import opened
from inner_parts import InsecureTestBits, basis_groups, blocks, gaussian, measured_counting, noisy_answers
from inner_parts import discrete as mechanism
from inner_parts import precision as precision_part
from random_plans import (
    IDENTITY,
    base_mechanism,
    base_mechanisms,
    basis_of,
    plan_by_set,
    plan_of,
    planned,
    plans,
    plans_by_set,
    random_kind,
    random_matrix,
    sample_workload,
)
from replayed_measuring import after_noise, before_noise, drawn_scales, integers_of, noise_frozen, refinements, replay
from residualplanner import Domain, marginals, measure, pcost, select

every_plan = planned() | plans() | plans_by_set()


def bases_in(plan, members):
    return [plan.strategy.basis(members, i) for i in members]


def data_of(plan, records, seed=7):
    codes = np.random.default_rng(seed).integers(0, plan.domain.sizes, (records, len(plan.domain)))
    return codes, dense.counts(plan.domain.sizes, codes)


def expected_integers(plan, data):
    """The answers of eq. (36) of every set with the squares of 1, 2, 3, .. as noise, in the order of the work."""
    drawn, found = 0, {}
    for number in np.concatenate(basis_groups(plan.strategy).members).tolist():
        members = plan.closure[number]
        bases = bases_in(plan, members)
        others = tuple(i for i in range(data.ndim) if i not in members)
        exact = refinements(plan)[number] * before_noise(data.sum(axis=others)[None], bases)
        noise = np.arange(drawn + 1, drawn + exact.size + 1).astype(object) ** 2
        drawn += exact.size
        found[members] = after_noise(exact + noise.reshape(exact.shape), bases).ravel().tolist()
    return found


@given(plan=every_plan, records=st.integers(0, 20), width=st.sampled_from([None, *noisy_answers.Width]))
@settings(max_examples=60)
def test_answers_are_those_of_eqs_36_and_44_exactly_in_every_width(plan, records, width):
    codes, data = data_of(plan, records)
    with pytest.MonkeyPatch.context() as patch:
        noise_frozen(patch)
        if width is not None:
            patch.setattr(mechanism, "widths", lambda groups, *_, **__: [width] * len(groups.members))
        measurement = measure(plan, codes)
    found = integers_of(measurement)
    assert {members: integers.tolist() for members, integers in found.items()} == expected_integers(plan, data)
    assert {integers.dtype for integers in found.values()} == {np.dtype(np.int64)}
    assert not measurement.residuals.wide


def test_long_axes_and_large_counts_are_exact(monkeypatch):
    """Products are made in one limb and in several, next to a subtraction basis and a short axis."""
    thin = random_matrix(33, 20, 2, most=2**13)
    matrices = (random_matrix(40, 39, 1, most=2**13), None, thin, random_matrix(2, 1, 3))
    query = {"a": IDENTITY, "b": IDENTITY, "c": random_kind(33, thin, 1), "d": IDENTITY}
    plan = plan_of((40, 3, 33, 2), matrices, [query])
    table = np.random.default_rng(3).integers(0, 2**20, plan.domain.sizes)
    noise_frozen(monkeypatch)
    found = integers_of(measure(plan, {tuple("abcd"): table}))
    assert {members: integers.tolist() for members, integers in found.items()} == expected_integers(plan, table)
    assert max(abs(number) for number in found[0, 1, 2, 3].tolist()) > 2**53


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[int, np.ndarray | None]]:
    axes = []
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.integers(2, 12))
        rows, bits = draw(st.none() | st.integers(1, size - 1)), draw(st.integers(2, 40))
        axes.append((size, None if rows is None else random_matrix(size, rows, draw(st.integers(0, 99)), most=2**bits)))
    return axes


@given(axes=tables(), exponent=st.integers(0, 62), spread=st.integers(-40, 125), f=st.sampled_from([1, 2, 2**22]))
@settings(max_examples=100)
def test_where_int64_is_chosen_nothing_wraps(axes, exponent, spread, f):
    """All records in one cell, and noise of 64 gamma of the worst signs: the largest numbers there can be."""
    records, precision = 2**exponent, math.nextafter(2.0**-spread, 0)
    bases = [basis_of(*axis) for axis in axes]
    divisor = f * math.prod(size for size, B in axes if B is None)
    if noisy_answers.width_of(bases, precision, divisor, records) is not noisy_answers.Width.INT64:
        return
    shape = tuple(size for size, _ in axes)
    noise_shape = [size if B is None else len(B) for size, B in axes]
    numerator, denominator = precision_part.gamma2_ratio(divisor, precision)
    bound = math.isqrt(4096 * numerator // denominator)
    signs = np.ones(noise_shape, dtype=np.int64)
    for axis, (_, B) in enumerate(axes):
        if B is None:
            first = np.arange(noise_shape[axis]).reshape([-1 if other == axis else 1 for other in range(len(axes))]) > 0
            signs = np.where(first, -signs, signs)
    for corner in (0, -1):
        counts = np.zeros((1, *shape), dtype=np.int64)
        counts.reshape(-1)[corner] = records
        for sign in (1, -1):
            z = (sign * bound * signs)[None]
            narrow = noisy_answers.noisy_answers(counts, z, bases=bases, divisor=divisor, records=records)
            wide = noisy_answers.noisy_answers(counts, z.astype(object), bases=bases, divisor=divisor, records=records)
            assert (narrow.dtype, wide.dtype) == (np.int64, object)
            assert (narrow == wide).all()
            assert max(map(abs, wide.ravel().tolist())) < 2**62


@given(plan=every_plan)
@settings(max_examples=40)
def test_every_set_is_drawn_noise_of_the_scale_that_its_cost_is_for(plan):
    """Gamma squared is the noise variance times the squared sizes of the subtraction axes, and of no others, and f."""
    expected, precision, f = [], precision_part.precision_of(plan.noise_variances).tolist(), refinements(plan)
    for number in np.concatenate(basis_groups(plan.strategy).members).tolist():
        bases = bases_in(plan, plan.closure[number])
        sizes = [basis.size for basis in bases if basis.matrix is None]
        draws = math.prod(basis.size if basis.matrix is None else basis.answers for basis in bases)
        gamma2 = Fraction(f[number] * math.prod(sizes)) ** 2 / Fraction(precision[number])
        expected += [gamma2] * draws
    assert drawn_scales(plan) == expected


@given(plan=every_plan)
@settings(max_examples=40)
def test_the_exact_cost_is_between_that_of_the_worst_record_and_the_plans(plan):
    """Of the worst record by enumeration; with one basis for each attribute it is that, and that of eq. (28)."""
    precision = precision_part.precision_of(plan.noise_variances)
    cost = measure(plan, np.zeros((3, len(plan.domain)), dtype=np.int64)).noise.pcost
    assert cost == precision_part.measured_cost(plan, precision)
    assert Fraction(plan.pcost) * (1 - Fraction(1, 2**40)) <= cost <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    information, exact = 0.0, Fraction(0)
    for members, w in zip(plan.closure, precision.tolist(), strict=True):
        rows, covariance = base_mechanism(plan, members)
        information = information + w * rows.T @ np.linalg.solve(covariance, rows)
        exact += Fraction(w) * math.prod(map(largest_squared_shift, bases_in(plan, members)), start=Fraction(1))
    worst = np.diag(information).max()
    assert worst <= float(cost) * (1 + 1e-12)
    if not plan.strategy.varying.any():
        assert cost == exact
        assert float(cost) == pytest.approx(worst, rel=1e-9)


def largest_squared_shift(basis):
    if basis.matrix is None:
        return Fraction(basis.size - 1, basis.size)
    return Fraction(max(sum(int(x) ** 2 for x in column) for column in basis.matrix.T))


@given(plan=every_plan, records=st.integers(0, 8), seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=40)
def test_before_the_noise_neighbors_differ_by_a_column_that_costs_at_most_what_is_stated(plan, records, seed, data):
    less, _ = data_of(plan, records)
    extra = [data.draw(st.integers(0, size - 1)) for size in plan.domain.sizes]
    more = np.insert(less, data.draw(st.integers(0, records)), extra, axis=0)
    with pytest.MonkeyPatch.context() as patch:
        one, two = replay(plan, less, seed, patch), replay(plan, more, seed, patch)
    moved = [after - before for stack, other in zip(one.centered, two.centered, strict=True)
             for before, after in zip(stack, other, strict=True)]  # fmt: skip
    precision, spent, f = precision_part.precision_of(plan.noise_variances).tolist(), Fraction(0), refinements(plan)
    for number, change in zip(np.concatenate(basis_groups(plan.strategy).members).tolist(), moved, strict=True):
        bases = bases_in(plan, plan.closure[number])
        record = np.zeros((1, *(basis.size for basis in bases)), dtype=np.int64)
        record[(0, *(extra[i] for i in plan.closure[number]))] = 1
        assert (change == f[number] * before_noise(record, bases)[0]).all()
        divisor = f[number] * math.prod(basis.size for basis in bases if basis.matrix is None)
        length = sum(int(entry) ** 2 for entry in change.ravel().tolist())
        spent += Fraction(precision[number]) * length / divisor**2
    assert spent <= one.measurement.noise.pcost
    for first, second in zip(one.noise, two.noise, strict=True):
        assert first.dtype == second.dtype
        assert (first == second).all()
    assert (one.requests, one.measurement.noise) == (two.requests, two.measurement.noise)
    assert one.steps == two.steps or not records


#: All pairs of attributes with subtraction bases.
PAIRS = select(marginals(Domain({"a": 3, "one": 1, "b": 2, "c": 4, "d": 3}), up_to=2), budget=pcost(1))
#: One attribute with n-1 answers, one with fewer, one with the subtraction basis; and bases by set.
SMALL_MATRICES = (random_matrix(3, 2, 4), random_matrix(4, 2, 5), None)
SMALL_QUERY = {"a": IDENTITY, "b": random_kind(4, SMALL_MATRICES[1], 1), "c": IDENTITY}
SMALL = plan_of((3, 4, 3), SMALL_MATRICES, [SMALL_QUERY])
BY_SET = plan_by_set(sample_workload(), 6)


def answers_of(plan, codes, noise, repeats):
    """Of each measurement of the same records by the same plan, which are counted and made ready once."""
    job = (
        mechanism.exact_noise(plan, InsecureTestBits(2024))
        if noise == "discrete"
        else gaussian.continuous_noise(plan, 2024)
    )
    (block,) = blocks.blocks_held(job.groups, job.family)
    tables = measured_counting.count_tables(opened(codes, plan.domain), plan.closure, block.groups, job.family)
    for _ in range(repeats):
        yield job.answers(block, [table.copy() for table in tables])


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
@pytest.mark.parametrize(
    ("plan", "answers"), [(PAIRS, 32), (SMALL, 27), (BY_SET, 36)], ids=["subtraction", "one basis", "by set"]
)
@pytest.mark.cases(1)
def test_answers_spread_around_the_truth_with_the_covariance_of_eq_26(noise, plan, answers):
    """1,000 measurements of fixed bits, all sets at once.

    Power: a variance off by 40%, or a correlation of 0.3, is found with probability above 0.99.
    """
    repeats, (codes, data) = 1000, data_of(plan, 40)
    draws = {members: [] for members in plan.closure}
    for found in answers_of(plan, codes, noise, repeats):
        for number, members in enumerate(plan.closure):
            draws[members].append(found.block(found.groups.group[number])[found.groups.row[number]].ravel())
    white = []
    for (rows, covariance), answers_of_set in zip(base_mechanisms(plan), draws.values(), strict=True):
        factor = np.linalg.cholesky(covariance)
        white.append(np.linalg.solve(factor, (np.array(answers_of_set) - rows @ data.ravel()).T).T)
    white = np.hstack(white)
    assert white.shape[1] == answers
    assert np.abs(white.mean(axis=0)).max() < 5.5 / math.sqrt(repeats)
    assert np.abs(white.var(axis=0) - 1).max() < 6 * math.sqrt(2 / repeats)
    off_diagonal = (white.T @ white / repeats)[~np.eye(white.shape[1], dtype=bool)]
    assert np.abs(off_diagonal).max() < 6.5 / math.sqrt(repeats)
