"""Measuring with bases by set is the explicit mechanism, costs what is stated, and its files say so."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
from plans_by_set import measured, plan_by_set, plans_by_set, sample_workload, strategy
from replayed_measuring import after_noise, before_noise, drawn_scales, integers_of, noise_frozen, refinements, replay
from residualplanner._archive import content_hash, read_archive, write_archive
from residualplanner.discrete_gaussian import InsecureTestBits
from residualplanner.errors import BudgetError, FileFormatError
from residualplanner.measurement import discrete, load_measurement, measure, require_measurable
from residualplanner.measurement.gaussian import gaussian_mechanism
from residualplanner.measurement.measure import measure_with_bits, residual_values
from residualplanner.measurement.measurement import groups_of_plan
from residualplanner.measurement.noisy_answers import Width
from residualplanner.measurement.precision import PRECISION_RULE_VARYING, measured_cost, precision_of
from residualplanner.plan import plan_hash, plan_to_archive
from residualplanner.strategy import constant_strategy

KIND = {"kind": "measurement", "version": 5}
PLAN = plan_by_set(sample_workload(), 6)
SIZES = PLAN.domain.sizes
CODES = np.random.default_rng(5).integers(0, SIZES, (40, 4))


def bases_in(plan, members):
    return [plan.strategy.basis(members, i) for i in members]


def data_of(plan, records, seed=7):
    codes = np.random.default_rng(seed).integers(0, plan.domain.sizes, (records, len(plan.domain)))
    data = np.zeros(plan.domain.sizes, dtype=np.int64)
    np.add.at(data, tuple(codes.T), 1)
    return codes, data


def expected_integers(plan, data):
    """(kron S) v + z of every set, with the squares of 1, 2, 3, .. as noise, in the order of the work."""
    drawn, found = 0, {}
    for number in np.concatenate(groups_of_plan(plan).members).tolist():
        members = plan.closure[number]
        bases = bases_in(plan, members)
        others = tuple(i for i in range(data.ndim) if i not in members)
        exact = refinements(plan)[number] * before_noise(data.sum(axis=others)[None], bases)
        noise = np.arange(drawn + 1, drawn + exact.size + 1).astype(object) ** 2
        drawn += exact.size
        found[members] = after_noise(exact + noise.reshape(exact.shape), bases).ravel().tolist()
    return found


@given(plan=plans_by_set(), records=st.integers(0, 20), width=st.sampled_from([None, *Width]))
@settings(max_examples=150, deadline=None)
def test_answers_of_every_set_are_those_of_its_own_bases_exactly(plan, records, width):
    codes, data = data_of(plan, records)
    with pytest.MonkeyPatch.context() as patch:
        noise_frozen(patch)
        if width is not None:
            patch.setattr(discrete, "widths", lambda groups, *_, **__: [width] * len(groups.members))
        found = integers_of(measure(plan, codes))
    assert {members: integers.tolist() for members, integers in found.items()} == expected_integers(plan, data)


@given(plan=plans_by_set())
@settings(max_examples=50, deadline=None)
def test_every_set_is_drawn_noise_of_the_scale_that_its_cost_is_for(plan):
    expected, precision, f = [], precision_of(plan.noise_variances).tolist(), refinements(plan)
    for number in np.concatenate(groups_of_plan(plan).members).tolist():
        bases = bases_in(plan, plan.closure[number])
        sizes = [basis.size for basis in bases if basis.matrix is None]
        draws = math.prod(basis.size if basis.matrix is None else basis.answers for basis in bases)
        gamma2 = Fraction(f[number] * math.prod(sizes)) ** 2 / Fraction(precision[number])
        expected += [gamma2] * draws
    assert drawn_scales(plan) == expected


@given(plan=plans_by_set())
@settings(max_examples=100, deadline=None)
def test_the_exact_cost_is_between_that_of_the_worst_record_and_the_plans(plan):
    """Of the worst record by enumeration: never above the stated bound, nor that above the plan and budget."""
    cost = measure(plan, np.zeros((3, len(plan.domain)), dtype=np.int64)).noise.pcost
    assert cost == measured_cost(plan, precision_of(plan.noise_variances)) == require_measurable(plan)
    assert cost <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    assert cost >= Fraction(plan.pcost) * (1 - Fraction(1, 2**40))
    information = 0.0
    for (rows, noise), w, variance in zip(
        measured(plan), precision_of(plan.noise_variances).tolist(), plan.noise_variances.tolist(), strict=True
    ):
        if len(rows):
            information = information + w * variance * rows.T @ np.linalg.solve(noise, rows)
    assert np.diag(information).max() <= float(cost) * (1 + 1e-12)


@given(plan=plans_by_set(), records=st.integers(0, 8), seed=st.integers(0, 2**32), data=st.data())
@settings(max_examples=60, deadline=None)
def test_before_the_noise_neighbors_differ_by_a_column_that_costs_at_most_what_is_stated(plan, records, seed, data):
    less, _ = data_of(plan, records)
    extra = [data.draw(st.integers(0, size - 1)) for size in plan.domain.sizes]
    with pytest.MonkeyPatch.context() as patch:
        one, two = (replay(plan, codes, seed, patch) for codes in (less, np.vstack([less, [extra]])))
    moved = [after - before for stack, other in zip(one.centered, two.centered, strict=True)
             for before, after in zip(stack, other, strict=True)]  # fmt: skip
    precision, spent, f = precision_of(plan.noise_variances).tolist(), Fraction(0), refinements(plan)
    for number, change in zip(np.concatenate(groups_of_plan(plan).members).tolist(), moved, strict=True):
        bases = bases_in(plan, plan.closure[number])
        record = np.zeros((1, *(basis.size for basis in bases)), dtype=np.int64)
        record[(0, *(extra[i] for i in plan.closure[number]))] = 1
        assert (change == f[number] * before_noise(record, bases)[0]).all()
        divisor = f[number] * math.prod(basis.size for basis in bases if basis.matrix is None)
        length = sum(int(entry) ** 2 for entry in change.ravel().tolist())
        spent += Fraction(precision[number]) * length / divisor**2
    assert spent <= one.measurement.noise.pcost
    assert all((first == second).all() for first, second in zip(one.noise, two.noise, strict=True))
    assert (one.asked, one.measurement.noise) == (two.asked, two.measurement.noise)


@given(plan=plans_by_set(), records=st.integers(0, 20))
@settings(max_examples=50, deadline=None)
def test_without_noise_continuous_answers_are_those_of_the_explicit_mechanism(plan, records):
    _, data = data_of(plan, records)
    groups = groups_of_plan(plan)
    others = [tuple(i for i in range(data.ndim) if i not in members) for members in plan.closure]
    counts = [np.array([data.sum(axis=others[number]) for number in members]) for members in groups.members]
    zero = np.zeros(len(plan.closure))
    values = residual_values(gaussian_mechanism(np.random.default_rng(1)), counts, groups, zero)
    rows = [rows for rows, _ in measured(plan)]
    expected = np.concatenate([rows[number] @ data.ravel() for number in np.concatenate(groups.members)])
    np.testing.assert_allclose(values, expected, atol=1e-9)


REPEATS = 1000


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
def test_answers_spread_around_the_truth_with_the_covariance_of_their_own_bases(noise):
    """1,000 measurements of fixed bits.  Power: a variance off by 40%, or a correlation of 0.3, is found."""
    _, data = data_of(PLAN, 40, seed=5)
    bits, draws = InsecureTestBits(2024), {members: [] for members in PLAN.closure}
    codes = np.argwhere(data).repeat(data[data > 0], axis=0)
    for seed in range(REPEATS):
        found = (
            measure_with_bits(PLAN, codes, bits)
            if noise == "discrete"
            else measure(PLAN, codes, noise="gaussian", seed=seed)
        ).residuals
        for number, members in enumerate(PLAN.closure):
            draws[members].append(found.block(found.groups.group[number])[found.groups.row[number]].ravel())
    white = []
    for (rows, covariance), answers in zip(measured(PLAN), draws.values(), strict=True):
        factor = np.linalg.cholesky(covariance)
        white.append(np.linalg.solve(factor, (np.array(answers) - rows @ data.ravel()).T).T)
    white = np.hstack(white)
    assert white.shape[1] == 36
    assert np.abs(white.mean(axis=0)).max() < 5.5 / math.sqrt(REPEATS)
    assert np.abs(white.var(axis=0) - 1).max() < 6 * math.sqrt(2 / REPEATS)
    off_diagonal = (white.T @ white / REPEATS)[~np.eye(white.shape[1], dtype=bool)]
    assert np.abs(off_diagonal).max() < 6.5 / math.sqrt(REPEATS)


@pytest.fixture
def path(tmp_path):
    measure(PLAN, CODES).save(tmp_path / "measurement")
    return tmp_path / "measurement"


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
def test_a_measurement_comes_back_as_it_was(tmp_path, noise):
    saved = measure(PLAN, CODES, noise=noise)
    saved.save(tmp_path / "file")
    loaded = load_measurement(tmp_path / "file")
    assert loaded.residuals.values.tobytes() == saved.residuals.values.tobytes()
    assert loaded.noise == saved.noise
    assert plan_hash(loaded.plan) == plan_hash(PLAN)
    groups, others = loaded.residuals.groups, saved.residuals.groups
    assert [[basis.family for basis in bases] for bases in groups.bases] == [
        [basis.family for basis in bases] for bases in others.bases
    ]
    assert (groups.group == others.group).all()


def test_the_cost_can_be_computed_from_the_file_by_the_rule_that_it_states(path):
    """As somebody would who has the file and the rule, and nothing of this library."""
    header, arrays = read_archive(path, **KIND)
    assert header["noise"]["precision"] == PRECISION_RULE_VARYING
    w = [Fraction(math.nextafter(1 / variance, 0)) for variance in arrays["plan/noise_variance"].tolist()]
    sets = [members for k in range(4) for members in itertools.combinations(range(3), k) if members in PLAN.closure]
    of_attribute, varying = (arrays[f"plan/bases/{name}"].tolist() for name in ("of_attribute", "varying"))
    of_factor, messages = (iter(arrays[f"plan/bases/{name}"].tolist()) for name in ("of_factor", "messages"))
    bound, values = Fraction(0), {}
    for precision, members in zip(w, sets, strict=True):
        squares, told = [], []
        for i in members:
            number, n = next(of_factor) if i in varying else of_attribute[i], SIZES[i]
            B = arrays[f"plan/bases/matrix_{number}"].tolist() if number >= 0 else None
            squares.append([Fraction(n - 1, n) if B is None else sum(row[j] ** 2 for row in B) for j in range(n)])
            told.append([Fraction(next(messages)) for _ in range(n)] if B and len(members) > 1 else [Fraction(0)] * n)
        if len(members) == 1:
            values[members[0]] = [precision * square for square in squares[0]]
            continue
        cells = itertools.product(*(range(SIZES[i]) for i in members))
        bound += max(
            precision * math.prod(axis[j] for axis, j in zip(squares, cell, strict=True))
            - sum(axis[j] for axis, j in zip(told, cell, strict=True))
            for cell in cells
        )
        for i, axis in zip(members, told, strict=True):
            values[i] = [value + message for value, message in zip(values[i], axis, strict=True)]
    bound += sum(map(max, values.values()))
    assert header["noise"]["pcost"] == f"{bound.numerator}/{bound.denominator}"


def rewrite(path, edit):
    """Change the header and arrays of a file, all its checksums made to fit, that of the plan too."""
    header, arrays = read_archive(path, **KIND)
    arrays = {name: array.copy() for name, array in arrays.items()}
    edit(header, arrays)
    plan_arrays = {name.removeprefix("plan/"): array for name, array in arrays.items() if name.startswith("plan/")}
    header["plan_sha256"] = content_hash(header["plan"], plan_arrays)
    write_archive(path, **KIND, header=header, arrays=arrays)


def other_noise(**told):
    return lambda header, _arrays: header["noise"].update(told)


def scaled(name, factor, **told):
    def edit(header, arrays):
        arrays[name] = (arrays[name] * factor).astype(arrays[name].dtype)
        header["plan"].update(told)

    return edit


def one_basis(header, arrays):
    """The plan with one basis for each attribute in place of the one that was measured."""
    strategy = constant_strategy(PLAN.closure, PLAN.strategy.of_attributes)
    one = replace(PLAN, strategy=strategy, noise_variances=PLAN.noise_variances * 99)
    header["plan"], theirs = plan_to_archive(one)
    for name in [name for name in arrays if name.startswith("plan/")]:
        del arrays[name]
    arrays.update({f"plan/{name}": array for name, array in theirs.items()})


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (other_noise(pcost="1/1"), BudgetError, "states the exact cost"),
        (other_noise(precision="w = 1 / noise_variance"), FileFormatError, "contradicts itself"),
        (scaled("plan/bases/messages", 0), BudgetError, r"states pcost|more than the budget"),
        (scaled("plan/bases/matrix_2", 2), BudgetError, "more than the budget"),
        (scaled("plan/noise_variance", 4), BudgetError, "states pcost"),
        (one_basis, BudgetError, "states the exact cost"),
    ],
)
def test_an_edited_measurement_is_refused(path, edit, error, reason):
    rewrite(path, edit)
    with pytest.raises(error, match=reason):
        load_measurement(path)


def test_files_of_neighbors_differ_in_the_answers_alone(tmp_path, monkeypatch):
    contents = []
    for name, data in (("one", CODES), ("two", CODES[1:])):
        replay(PLAN, data, 5, monkeypatch).measurement.save(tmp_path / name)
        header, arrays = read_archive(tmp_path / name, **KIND)
        answers = arrays.pop("integers")
        contents.append((header, answers.shape, {key: array.tobytes() for key, array in arrays.items()}))
    assert contents[0] == contents[1]
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


def test_sets_are_grouped_by_the_bases_that_they_have_themselves():
    groups = groups_of_plan(PLAN)
    for number, members in enumerate(PLAN.closure):
        mine = groups.bases[groups.group[number]]
        assert all(a is b for a, b in zip(mine, bases_in(PLAN, members), strict=True))
        expected = [len(strategy(basis)[0]) for basis in bases_in(PLAN, members)]
        assert groups.answer_shapes[groups.group[number]] == tuple(expected)
        assert dense.marginal(SIZES, members).shape[0] == math.prod(groups.shapes[groups.group[number]])
