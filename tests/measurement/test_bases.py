"""Measuring with bases of integers, mixed with subtraction bases, is the explicit mechanism, to the last digit."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
from mixed_bases import (
    IDENTITY,
    MixedCase,
    answer_covariance,
    basis_of,
    measured_rows,
    mixed_cases,
    random_kind,
    random_matrix,
)
from replayed_measuring import drawn_scales, integers_of, noise_frozen, refinements, replay
from residualplanner.discrete_gaussian import InsecureTestBits
from residualplanner.measurement import discrete as mechanism
from residualplanner.measurement import measure
from residualplanner.measurement.gaussian import gaussian_mechanism
from residualplanner.measurement.measure import measure_with_bits, residual_values
from residualplanner.measurement.measurement import groups_of_plan
from residualplanner.measurement.noisy_answers import Width, fits_int64_path, noisy_answers
from residualplanner.measurement.precision import gamma2_ratio, measured_cost, precision_of


def center(size):
    return size * np.eye(size, dtype=object) - 1


def whole_product(matrices):
    product = np.ones((1, 1), dtype=object)
    for matrix in matrices:
        product = np.kron(product, matrix)
    return product


def before_noise(size, matrix):
    """What counts are multiplied by along one axis, eq. (36), in Python integers."""
    return center(size) if matrix is None else matrix.astype(object)


def after_noise(size, matrix):
    """What noisy numbers are multiplied by along one axis."""
    if matrix is None:
        return dense.subtraction(size).astype(int).astype(object)
    return np.eye(len(matrix), dtype=int).astype(object)


def data_of(case, records, seed=7):
    codes = np.random.default_rng(seed).integers(0, case.sizes, (records, len(case.sizes)))
    data = np.zeros(case.sizes, dtype=np.int64)
    np.add.at(data, tuple(codes.T), 1)
    return codes, data


def expected_integers(case, data):
    """The answers of eq. (36) of every set with the squares of 1, 2, 3, .. as noise, in the order of the work."""
    drawn, found = 0, {}
    for number in np.concatenate(groups_of_plan(case.plan).members).tolist():
        members = case.plan.closure[number]
        pairs = [(case.sizes[i], case.matrices[i]) for i in members]
        counts = (dense.marginal(case.sizes, members) @ data.ravel()).astype(int).astype(object)
        exact = refinements(case.plan)[number] * whole_product(before_noise(*pair) for pair in pairs) @ counts
        noise = np.array([(drawn + place) ** 2 for place in range(1, len(exact) + 1)], dtype=object)
        drawn += len(exact)
        found[members] = (whole_product(after_noise(*pair) for pair in pairs) @ (exact + noise)).tolist()
    return found


@given(case=mixed_cases(), records=st.integers(0, 20))
@settings(max_examples=150)
def test_answers_are_those_of_eqs_36_and_44_exactly(case, records):
    codes, data = data_of(case, records)
    with pytest.MonkeyPatch.context() as patch:
        noise_frozen(patch)
        found = integers_of(measure(case.plan, codes))
    assert {members: integers.tolist() for members, integers in found.items()} == expected_integers(case, data)
    assert {integers.dtype for integers in found.values()} == {np.dtype(np.int64)}


@given(case=mixed_cases(most_queries=2), records=st.integers(0, 20))
@settings(max_examples=40)
def test_all_widths_give_the_same_answers(case, records):
    codes, _ = data_of(case, records)
    found = []
    for width in Width:
        with pytest.MonkeyPatch.context() as patch:
            noise_frozen(patch)
            patch.setattr(mechanism, "widths", lambda groups, *_, width=width, **__: [width] * len(groups.members))
            found.append(measure(case.plan, codes).residuals)
    assert not any(answers.wide for answers in found)
    assert all((answers.integers == found[0].integers).all() for answers in found)


def along_axes(matrices, table):
    """The matrices along the axes of a table of Python integers."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, (1, axis)), 0, axis)
    return np.asarray(table, dtype=object)


def test_long_axes_and_large_counts_are_exact(monkeypatch):
    """Products are made in one limb and in several, next to a subtraction basis and a short axis."""
    thin = random_matrix(33, 20, 2, most=2**13)
    matrices = (random_matrix(40, 39, 1, most=2**13), None, thin, random_matrix(2, 1, 3))
    kinds = (IDENTITY, IDENTITY, random_kind(33, thin, 1), IDENTITY)
    case = MixedCase((40, 3, 33, 2), matrices, (((0, 1, 2, 3), kinds),))
    table = np.random.default_rng(3).integers(0, 2**20, case.sizes)
    noise_frozen(monkeypatch)
    found = integers_of(measure(case.plan, {tuple("abcd"): table}))
    drawn = 0
    for number in np.concatenate(groups_of_plan(case.plan).members).tolist():
        members = case.plan.closure[number]
        pairs = [(case.sizes[i], case.matrices[i]) for i in members]
        counts = np.array(table.sum(axis=tuple(i for i in range(4) if i not in members)), dtype=object)
        exact = along_axes([before_noise(*pair) for pair in pairs], counts)
        noise = np.arange(drawn + 1, drawn + exact.size + 1).astype(object) ** 2
        drawn += exact.size
        noisy = refinements(case.plan)[number] * exact + noise.reshape(exact.shape)
        expected = along_axes([after_noise(*pair) for pair in pairs], noisy)
        assert found[members].tolist() == expected.ravel().tolist()
    assert max(abs(number) for number in found[0, 1, 2, 3].tolist()) > 2**53


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[int, np.ndarray | None]]:
    """The axes of one table: sizes and bases."""
    axes = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(2, 12))
        rows, bits = draw(st.none() | st.integers(1, size - 1)), draw(st.integers(2, 40))
        axes.append((size, None if rows is None else random_matrix(size, rows, draw(st.integers(0, 99)), most=2**bits)))
    return axes


@given(axes=tables(), exponent=st.integers(0, 62), spread=st.integers(-40, 125), f=st.sampled_from([1, 2, 2**22]))
@settings(max_examples=300)
def test_where_int64_is_chosen_nothing_wraps(axes, exponent, spread, f):
    """All records in one cell, and noise of 64 gamma of the worst signs: the largest numbers there can be."""
    records, precision = 2**exponent, math.nextafter(2.0**-spread, 0)
    bases = [basis_of(*axis) for axis in axes]
    divisor = f * math.prod(size for size, B in axes if B is None)
    if not fits_int64_path(bases, precision, divisor, records):
        return
    shape = tuple(size for size, _ in axes)
    noise_shape = [size if B is None else len(B) for size, B in axes]
    numerator, denominator = gamma2_ratio(divisor, precision)
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
            narrow = noisy_answers(counts, z, bases=bases, divisor=divisor, records=records)
            wide = noisy_answers(counts, z.astype(object), bases=bases, divisor=divisor, records=records)
            assert (narrow.dtype, wide.dtype) == (np.int64, object)
            assert (narrow == wide).all()
            assert max(map(abs, wide.ravel().tolist())) < 2**62


@pytest.mark.parametrize(
    ("axes", "precision", "records", "fits"),
    [
        ([(3, [[2**20, 0, 1]]), (3, [[2**8, 0, 1]])], 1.0, 2**33, True),
        ([(3, [[2**20, 0, 1]]), (3, [[2**9, 0, 1]])], 1.0, 2**33, False),
        ([(3, [[2**20, 0, 1]]), (2**8, None)], 1.0, 2**33, True),
        ([(3, [[2**20, 0, 1]]), (2**9, None)], 1.0, 2**33, False),
        ([(3, [[2**20, 0, 1]])], 1.0, 2**41, True),
        ([(3, [[2**20, 0, 1]])], 1.0, 2**42, False),
        # The noise is that of the answers, whatever the basis: 64 / sqrt(w); no axis doubles it but subtraction.
        ([(3, [[1, 0, 0]])] * 5, 2.0**-109, 2**33, True),
        ([(3, [[1, 0, 0]])] * 5, 2.0**-111, 2**33, False),
        ([(3, [[1, 0, 0]])] * 5 + [(2, None)], 2.0**-106, 2**33, True),
        ([(3, [[1, 0, 0]])] * 5 + [(2, None)], 2.0**-109, 2**33, False),
        ([(3, [[1, 0, 0]])] + [(2, None)] * 5, 2.0**-90, 2**33, True),
        ([(3, [[1, 0, 0]])] + [(2, None)] * 5, 2.0**-96, 2**33, False),
    ],
)
def test_int64_is_chosen_by_entries_and_scales(axes, precision, records, fits):
    bases = [basis_of(size, None if B is None else np.array(B)) for size, B in axes]
    divisor = math.prod(size for size, B in axes if B is None)
    assert fits_int64_path(bases, precision, divisor, records) is fits


@given(case=mixed_cases())
@settings(max_examples=100)
def test_every_set_is_drawn_noise_of_the_scale_that_its_cost_is_for(case):
    """Gamma squared is the noise variance times the squared sizes of the subtraction axes, and of no others, and f."""
    expected, f = [], refinements(case.plan)
    precision = precision_of(case.plan.noise_variances).tolist()
    for number in np.concatenate(groups_of_plan(case.plan).members).tolist():
        members = case.plan.closure[number]
        sizes = [case.sizes[i] for i in members if case.matrices[i] is None]
        shape = [case.sizes[i] if case.matrices[i] is None else len(case.matrices[i]) for i in members]
        gamma2 = Fraction(f[number] * math.prod(sizes)) ** 2 / Fraction(precision[number])
        expected += [gamma2] * math.prod(shape)
    assert drawn_scales(case.plan) == expected


@given(case=mixed_cases())
@settings(max_examples=150)
def test_the_cost_is_that_of_eq_28_and_of_the_dense_mechanism(case):
    """Exactly the sum of products over attributes, which is the largest squared shift, in units of the noise."""
    precision = precision_of(case.plan.noise_variances)
    cost, exact, information = measured_cost(case.plan, precision), Fraction(0), 0.0
    for members, w in zip(case.plan.closure, precision.tolist(), strict=True):
        factor = Fraction(1)
        for i in members:
            n, B = case.sizes[i], case.matrices[i]
            factor *= Fraction(n - 1, n) if B is None else max(sum(int(x) ** 2 for x in column) for column in B.T)
        exact += Fraction(w) * factor
        rows = measured_rows(case, members)
        information = information + w * rows.T @ np.linalg.solve(answer_covariance(case, members), rows)
    assert cost == exact
    assert float(cost) == pytest.approx(np.diag(information).max(), rel=1e-9)
    assert measure(case.plan, np.zeros((3, len(case.sizes)), dtype=np.int64)).noise.pcost == cost


def column(size, matrix, place):
    return before_noise(size, matrix)[:, [place]]


@given(case=mixed_cases(most_cells=48), records=st.integers(0, 8), seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=100)
def test_before_the_noise_neighbors_differ_by_a_column_that_costs_at_most_what_is_stated(case, records, seed, data):
    less, _ = data_of(case, records)
    extra = [data.draw(st.integers(0, size - 1)) for size in case.sizes]
    with pytest.MonkeyPatch.context() as patch:
        one, two = (replay(case.plan, codes, seed, patch) for codes in (less, np.vstack([less, [extra]])))
    moved = [after - before for one_stack, two_stack in zip(one.centered, two.centered, strict=True)
             for before, after in zip(one_stack, two_stack, strict=True)]  # fmt: skip
    precision, spent, f = precision_of(case.plan.noise_variances).tolist(), Fraction(0), refinements(case.plan)
    order = np.concatenate(groups_of_plan(case.plan).members).tolist()
    for number, change in zip(order, moved, strict=True):
        members = case.plan.closure[number]
        expected = whole_product(column(case.sizes[i], case.matrices[i], extra[i]) for i in members)
        assert change.ravel().tolist() == (f[number] * expected).ravel().tolist()
        divisor = f[number] * math.prod(case.sizes[i] for i in members if case.matrices[i] is None)
        length = sum(int(entry) ** 2 for entry in change.ravel().tolist())
        spent += Fraction(precision[number]) * length / divisor**2
    assert spent <= one.measurement.noise.pcost
    assert all((first == second).all() for first, second in zip(one.noise, two.noise, strict=True))
    assert (one.asked, one.measurement.noise) == (two.asked, two.measurement.noise)


#: One attribute with n-1 answers, one with fewer, one with the subtraction basis.
SMALL_KIND = random_kind(4, random_matrix(4, 2, 5), 1)
SMALL = MixedCase(
    (3, 4, 3),
    (random_matrix(3, 2, 4), random_matrix(4, 2, 5), None),
    (((0, 1, 2), (IDENTITY, SMALL_KIND, IDENTITY)),),
)
CODES, DATA = data_of(SMALL, 40)
REPEATS = 3000


def whitened(draws, members, variance):
    """Answers of many runs less the truth, whitened by the covariance of eq. (26)."""
    truth = measured_rows(SMALL, members) @ DATA.ravel()
    factor = np.linalg.cholesky(variance * answer_covariance(SMALL, members))
    return np.linalg.solve(factor, (draws - truth).T).T


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
def test_answers_spread_around_the_truth_with_the_covariance_of_eq_26(noise):
    """3,000 measurements of fixed bits, all sets at once.

    Power: a variance off by 15%, or a correlation of 0.13, is found with probability above 0.99.
    """
    closure, variances = list(SMALL.plan.closure), 1 / precision_of(SMALL.plan.noise_variances)
    draws = {members: [] for members in closure}
    bits = InsecureTestBits(2024)
    for seed in range(REPEATS):
        found = (
            measure_with_bits(SMALL.plan, CODES, bits)
            if noise == "discrete"
            else measure(SMALL.plan, CODES, noise="gaussian", seed=seed)
        ).residuals
        for number, members in enumerate(closure):
            draws[members].append(found.block(found.groups.group[number])[found.groups.row[number]].ravel())
    white = np.hstack(
        [whitened(np.array(draws[members]), members, s) for members, s in zip(closure, variances, strict=True)]
    )
    assert white.shape[1] == 3 * 3 * 3
    assert np.abs(white.mean(axis=0)).max() < 5.5 / math.sqrt(REPEATS)
    assert np.abs(white.var(axis=0) - 1).max() < 6 * math.sqrt(2 / REPEATS)
    off_diagonal = (white.T @ white / REPEATS)[~np.eye(white.shape[1], dtype=bool)]
    assert np.abs(off_diagonal).max() < 6.5 / math.sqrt(REPEATS)


@given(case=mixed_cases(), records=st.integers(0, 20))
def test_without_noise_continuous_answers_are_those_of_the_dense_mechanism(case, records):
    _, data = data_of(case, records)
    plan, groups = case.plan, groups_of_plan(case.plan)
    others = [tuple(i for i in range(data.ndim) if i not in members) for members in plan.closure]
    counts = [np.array([data.sum(axis=others[number]) for number in members]) for members in groups.members]
    zero = np.zeros(len(plan.closure))
    values = residual_values(gaussian_mechanism(np.random.default_rng(1)), counts, groups, zero)
    order = np.concatenate(groups.members).tolist()
    expected = np.concatenate([measured_rows(case, plan.closure[number]) @ data.ravel() for number in order])
    np.testing.assert_allclose(values, expected, atol=1e-9)


def test_two_attributes_of_one_size_may_have_different_bases():
    """Their tables have one shape, and are kept apart."""
    B, C = random_matrix(4, 3, 1), random_matrix(4, 2, 2)
    kind = random_kind(4, C, 3)
    queries = [((i,), (kind if i == 2 else IDENTITY,)) for i in range(5)]
    case = MixedCase((4,) * 5, (B, None, C, B.copy(), None), tuple(queries))
    groups = groups_of_plan(case.plan)
    assert sorted(members.tolist() for members in groups.members) == [[0], [1, 4], [2, 5], [3]]
    assert groups.shapes == ((), (4,), (4,), (4,))
    assert sorted(groups.answer_shapes) == [(), (2,), (3,), (3,)]
    codes, data = data_of(case, 30)
    with pytest.MonkeyPatch.context() as patch:
        noise_frozen(patch)
        found = integers_of(measure(case.plan, codes))
    assert {members: integers.tolist() for members, integers in found.items()} == expected_integers(case, data)
