"""Relaxed records, how they are fitted, and the tiles of their tables, against definitions in double precision."""

import tracemalloc
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from inner_parts import mixture
from residualplanner.fits.rap import projection
from residualplanner.fits.rap.relaxed_records import RELAXATIONS, sparsemax
from residualplanner.fits.rap.tiles import ThresholdTable, tiles_of

ProjectionSettings, RelaxedRecords = rp.fits.rap.ProjectionSettings, rp.fits.rap.RelaxedRecords
SIZES = (3, 2, 4, 5)
BLOCKS = mixture.OneHot(SIZES)


def by_definition(columns, r):
    """The definition: the sum over all sets of at least r attributes."""
    total = 0.0
    for count in range(r, len(columns) + 1):
        for chosen in combinations(range(len(columns)), count):
            factors = [p if axis in chosen else 1 - p for axis, p in enumerate(columns)]
            total = total + np.prod(factors, axis=0)
    return total


def dense_answer(values, threshold, cell):
    digits = np.unravel_index(cell, threshold.shape)
    rows = [BLOCKS.offsets[i] + digit for i, digit in zip(threshold.positions, digits, strict=True)]
    return float(by_definition([values[row] for row in rows], threshold.at_least).mean())


THRESHOLDS = [
    ThresholdTable(positions, tuple(SIZES[i] for i in positions), r)
    for positions in [(0,), (1, 3), (0, 2, 3), (0, 1, 2, 3)]
    for r in range(1, len(positions) + 1)
]


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
def test_answers_and_slopes_of_cells_are_those_of_the_definition(threshold):
    generator = np.random.default_rng(1)
    values = generator.random((BLOCKS.count, 6))
    cells = generator.choice(threshold.cells, min(4, threshold.cells), replace=False)
    weights = generator.standard_normal(len(cells))  # of the answers in the gradient of the loss
    targets = np.array([dense_answer(values, threshold, cell) for cell in cells]) - weights / 2
    [block] = projection.listed_cells([(threshold, cells, targets, 1.0, 1.0)], BLOCKS)
    single = values.astype(np.float32)
    slopes = np.zeros_like(single)
    assert block.add_slopes(single, slopes) == pytest.approx(weights @ weights / 4, rel=1e-4)
    expected = np.zeros_like(values)
    for place in product(range(BLOCKS.count), range(2)):
        shifted = values.copy()
        for sign in (1, -1):
            shifted[place] = values[place] + sign * 0.5  # answers are linear in each value
            found = sum(w * dense_answer(shifted, threshold, cell) for w, cell in zip(weights, cells, strict=True))
            expected[place] += sign * found
    assert np.allclose(slopes[:, :2], expected[:, :2], atol=1e-6)


def all_cells(threshold, targets, precision):
    return projection.TableTargets.of(BLOCKS, (threshold, np.arange(threshold.cells), targets, precision, 1.0))


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
def test_a_whole_table_is_all_of_its_cells(threshold):
    generator = np.random.default_rng(2)
    values = BLOCKS.softmax(generator.standard_normal((BLOCKS.count, 7))).astype(np.float32)
    targets = generator.random(threshold.shape)
    whole = all_cells(threshold, targets.ravel(), 3.0)
    [listed] = projection.listed_cells([(threshold, np.arange(threshold.cells), targets.ravel(), 3.0, 1.0)], BLOCKS)
    logit_slopes = []
    for each in (whole, listed):
        slopes = np.zeros_like(values)
        loss = each.add_slopes(values, slopes)
        assert loss == pytest.approx(
            3 * sum((dense_answer(values, threshold, c) - targets.flat[c]) ** 2 for c in range(threshold.cells)),
            rel=1e-4,
        )
        # as functions of values that do not sum to 1 the two differ; along the simplex they do not
        logit_slopes.append(BLOCKS.slope_of_logits(values, slopes))
    assert np.allclose(*logit_slopes, atol=1e-4)


@given(st.lists(st.floats(-3, 3, width=32), min_size=9, max_size=9), st.floats(-2, 2, width=32))
def test_sparsemax_is_the_nearest_point_of_every_simplex(numbers, shift):
    points, blocks = np.array(numbers, dtype=np.float32)[:, None], mixture.OneHot((4, 5))
    found = sparsemax(points, blocks)
    for rows in (slice(0, 4), slice(4, 9)):
        p, z = found[rows, 0].astype(float), points[rows, 0].astype(float)
        assert p.sum() == pytest.approx(1, abs=1e-5)
        assert p.min() >= 0
        excess = z - p  # the same where p > 0, and no more elsewhere
        assert np.ptp(excess[p > 0]) < 1e-4
        assert (excess[p == 0] <= excess[p > 0].min() + 1e-4).all()
    assert np.allclose(sparsemax(points + np.float32(shift), blocks), found, atol=1e-5)


def test_values_that_no_cell_mentions_keep_their_proportions():
    generator = np.random.default_rng(4)
    logits = generator.standard_normal((BLOCKS.count, 3)).astype(np.float32)
    mentioned = np.zeros(BLOCKS.count, dtype=bool)
    mentioned[[1, 5, 6]] = True
    part = projection.FittedRows.of(mentioned, BLOCKS, merges=True)
    fitted = part.fitted(logits)
    assert part.blocks.sizes == (2, 3)
    assert part.order.tolist() == [1, 0, 2, 5, 6, 7, 8]
    assert part.numbers.tolist() == [0, 1, 1, 2, 3, 4, 4]
    assert np.allclose(part.blocks.softmax(fitted)[[0, 2, 3]], BLOCKS.softmax(logits)[[1, 5, 6]], atol=1e-6)
    assert np.allclose(part.put_back(fitted, logits), logits, atol=1e-6)
    moved = BLOCKS.softmax(part.put_back(fitted + np.arange(5)[:, None], logits))
    before = BLOCKS.softmax(logits)
    assert np.allclose(moved[0] / moved[2], before[0] / before[2], rtol=1e-5)
    assert np.allclose(moved[3:5], before[3:5], atol=1e-6)


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_a_fit_comes_near_targets_without_noise(relaxation):
    generator = np.random.default_rng(5)
    kind, tables = RELAXATIONS[relaxation], [t for t in THRESHOLDS if t.at_least == len(t.positions)]
    truth = RelaxedRecords(BLOCKS, BLOCKS.softmax(3 * generator.standard_normal((BLOCKS.count, 5))).astype(np.float32))
    targets = [all_cells(table, truth.fractions(table).ravel(), 1.0) for table in tables]
    start, rate = kind.start(BLOCKS, 40, generator), 0.1 if kind.is_softmax else 0.01
    exact = ProjectionSettings(relaxation=relaxation, steps=400, learning_rate=rate, stops_at_noise=False)
    parameters, losses, steps = projection.relaxed_projection(start, BLOCKS, targets, exact)
    assert steps == 400
    assert losses[-1] < losses[0] / 50
    kept = kind.values(parameters, BLOCKS)
    assert kept.min() >= (-1 if kind.is_interval else 0)
    assert kept.max() <= 1 + 1e-6


def test_the_published_optimizer_has_a_constant_rate_by_the_cells_and_ends_where_the_loss_stalls():
    published = ProjectionSettings.published(relaxed_records=4)
    assert published.rate_at(0, 16) == published.rate_at(4_999, 16) == pytest.approx(4e-4)
    assert published.rate_at(0, 10**6) == pytest.approx(1e-4 * 25_000**0.5)
    assert not published.is_last([2.0, 1.0], fits=True)  # noise would explain it
    assert published.is_last([2.0, 1.0, 1.0 - 1e-10], fits=False)
    assert published.is_last([1.0] * 5_001, fits=False)
    assert not ProjectionSettings().is_last([1.0, 2.0], fits=False)


@pytest.mark.parametrize("relaxation", ["sparsemax", "interval"])
def test_all_cells_of_large_tables_are_fitted_as_published(relaxation):
    table, blocks = ThresholdTable((0, 1), (60, 50), 2), mixture.OneHot((60, 50))
    noisy = np.random.default_rng(2).normal(0, 0.01, table.cells)
    noisy[[7, 1_500]] += 0.4
    answered = projection.Answered(blocks, ProjectionSettings.published(relaxation, relaxed_records=3), [1.0])
    answered.add([table], {0: np.arange(table.cells)}, {0: noisy}, 1e4)
    assert not answered.large
    assert answered.targets[0].targets.size == 3_000
    assert np.allclose(answered.targets[0].targets.ravel(), noisy.clip(0, 1))
    start = answered.settings.kind.start(blocks, 3, np.random.default_rng(0))
    _, losses, _ = projection.relaxed_projection(start, blocks, answered.targets, answered.settings)
    assert losses[-1] < losses[0]


def test_the_start_is_of_records_that_are_nearly_of_one_value_each():
    kind, blocks = RELAXATIONS["softmax"], mixture.OneHot((100,))
    values = kind.values(kind.start(blocks, 500, np.random.default_rng(0)), blocks)
    assert np.median(values.max(axis=0)) > 0.3  # of 100 values; standard logits give 0.1
    assert values.mean(axis=1).max() < 0.05  # all together are spread over all values


def test_numbers_between_minus_1_and_1_are_for_marginals_and_give_no_records():
    workload = rp.Workload(rp.Domain({"a": 3, "b": 2}), [rp.Threshold(("a", "b"), 1)])
    with pytest.raises(rp.errors.WorkloadError, match="marginals alone"):
        rp.fits.rap.RapPlan(workload, budget=rp.zcdp(1), projection=ProjectionSettings.published("interval"))
    pairs = rp.marginals(workload.domain, order=2)
    quick = ProjectionSettings(relaxed_records=9, relaxation="interval", steps=3)
    plan = rp.fits.rap.RapPlan(pairs, budget=rp.zcdp(1), rounds=1, choices=1, projection=quick)
    result = rp.fits.rap.rap(plan, np.zeros((5, 2), dtype=int))
    assert result.table(("a", "b")).shape == (3, 2)
    with pytest.raises(rp.errors.WorkloadError, match="no probabilities"):
        result.codes()


def test_a_fit_stops_where_noise_explains_the_loss():
    table, start = ThresholdTable((0,), (3,), 1), np.zeros((BLOCKS.count, 4), np.float32)
    close = np.array([0.4, 0.3, 0.3])
    listed = projection.listed_cells([(table, np.arange(3), close, 1e-3, 1.0)], BLOCKS)
    whole = all_cells(table, close, 1e-3)
    few, all_of_them = ProjectionSettings(steps=3), ProjectionSettings(steps=3, stops_at_noise=False)
    for targets, settings, expected in ((listed, few, 0), (listed, all_of_them, 3), ([whole, *listed], few, 3)):
        *_, steps = projection.relaxed_projection(start, BLOCKS, targets, settings)
        assert steps == expected


@pytest.mark.parametrize("threshold", THRESHOLDS, ids=str)
def test_tables_of_relaxed_records_are_those_of_the_definition(threshold):
    values = BLOCKS.softmax(np.random.default_rng(4).standard_normal((BLOCKS.count, 6)))
    found = RelaxedRecords(BLOCKS, values.astype(np.float32)).fractions(threshold)
    expected = [dense_answer(values, threshold, cell) for cell in range(threshold.cells)]
    assert np.allclose(found.ravel(), expected, atol=1e-6)


@pytest.mark.parametrize("measured", [[np.array([1, 4]), np.array([0, 3])], [np.arange(6), np.arange(8)]])
def test_the_loss_adds_up_squared_errors_by_the_weights_of_their_tables(measured):
    # marginals and thresholds are listed apart, each in its order
    tables = [ThresholdTable((0, 1), (3, 2), 2), ThresholdTable((1, 2), (2, 4), 1)]
    importance, precision, generator = [0.25, 0.75], 7.0, np.random.default_rng(6)
    targets = [generator.random(len(cells)) for cells in measured]
    answered = projection.Answered(BLOCKS, ProjectionSettings(), importance)
    answered.add(tables, dict(enumerate(measured)), dict(enumerate(targets)), precision)
    values = BLOCKS.softmax(generator.standard_normal((BLOCKS.count, 7))).astype(np.float32)
    slopes = np.zeros_like(values)
    found = sum(each.add_slopes(values, slopes) for each in answered.targets)
    errors = [
        sum((dense_answer(values, table, cell) - a) ** 2 for cell, a in zip(cells, target, strict=True))
        for table, cells, target in zip(tables, measured, targets, strict=True)
    ]
    assert found == pytest.approx(precision * (0.25 * errors[0] + 0.75 * errors[1]), rel=1e-4)
    if len(measured[0]) == 2:  # some cells: the fit ends where their weighted squared errors are those of their noise
        assert sum(each.enough for each in answered.targets) == pytest.approx(0.25 * 2 + 0.75 * 2)


@pytest.mark.parametrize(("cells", "ends"), [(49, True), (50, False)])
def test_a_fit_goes_on_while_a_round_of_many_cells_is_farther_off_than_its_noise(cells, ends):
    """Answers of an earlier round that all fit would hide it: together they are as near as all noise is."""
    table, blocks = ThresholdTable((0, 1), (20, 20), 2), mixture.OneHot((20, 20))
    answered = projection.Answered(blocks, ProjectionSettings(steps=3), [1.0])
    for first, count, away in ((0, 300, 0.0), (300, cells, 2.0)):  # each cell has a 400th
        numbers = np.arange(first, first + count)
        answered.add([table], {0: numbers}, {0: np.full(count, 1 / 400 + away / 1000)}, 1000.0**2)
    _, (loss, *_), steps = answered.fit(np.zeros((blocks.count, 8), dtype=np.float32))
    assert loss == pytest.approx(4 * cells, rel=1e-3)
    assert steps == (0 if ends else 3)


@pytest.mark.parametrize("true", [0.0, 0.3, 1.0, 3.0, 400.0], ids="{} standard deviations from 0".format)
def test_the_loss_at_which_a_fit_ends_is_that_of_the_truth_where_answers_are_cut_at_0(true):
    noise, cells = 1e-3, 20_000
    noisy = noise * (true + np.random.default_rng(7).standard_normal(cells))
    listed = projection.Answered(BLOCKS, ProjectionSettings(), [1.0])._listed(
        [(ThresholdTable((0, 1), (100, 200), 2), np.arange(cells), noisy, noise**-2, 1.0)]
    )
    loss = sum(float(each.precision @ (each.targets - noise * true) ** 2) for each in listed)
    assert -0.02 < (sum(each.enough for each in listed) - loss) / cells < 0.12  # 0.1 at 0.6 standard deviations


@pytest.mark.parametrize("room", [2**29, 20_000], ids=["all at once", "in tiles"])
def test_the_most_surprising_cells_of_a_large_table_are_fitted_however_little_it_weighs(room):
    table, blocks = ThresholdTable((0, 1), (60, 50), 2), mixture.OneHot((60, 50))
    noisy = np.random.default_rng(2).random(table.cells)
    answered = projection.Answered(blocks, ProjectionSettings(steps=1), [1e-6], room)
    answered.add([table], {0: np.arange(table.cells)}, {0: noisy}, 1e4)
    answered.fit(np.zeros((blocks.count, 2), dtype=np.float32))  # each cell has a 3,000th
    found = answered.active[0].tolist()
    assert len(set(found)) == len(found) == projection.ADDED * projection.FITS
    assert set(found[: projection.ADDED]) == set(np.argsort(noisy)[-projection.ADDED :].tolist())
    few = projection.Answered(blocks, ProjectionSettings(steps=1), [1.0], room)
    few.add([table], {0: np.arange(table.cells)}, {0: np.full(table.cells, 1 / 3_000)}, 1e4)
    few.fit(np.zeros((blocks.count, 2), dtype=np.float32))
    assert not few.active[0].size


# Tables in tiles: the same counts, answers and choices as of whole tables, in the memory that is allowed.


SHAPE = (3, 4, 5, 2)
RECORDS = np.random.default_rng(0).integers(0, SHAPE, (200, 4))
TABLES = [
    ThresholdTable(positions, tuple(SHAPE[i] for i in positions), r)
    for positions in [(), (1,), (0, 2), (1, 2, 3), (0, 1, 2, 3)]
    for r in range(min(1, len(positions)), len(positions) + 1)
]
SMALL = 3_000


def test_less_memory_than_one_cell_needs_and_more_tiles_than_records_should_be_read_for_are_refused():
    with pytest.raises(rp.errors.ResourceError, match="less than one cell"):
        tiles_of(TABLES, relaxed_records=1, room=100)
    most, room = (ThresholdTable((0,), (size,), 1) for size in (100_000, 100_001)), 200  # of one value each
    assert len(tiles_of([next(most)], relaxed_records=1, room=room)) == 100_000
    with pytest.raises(rp.errors.ResourceError, match="more than 100,000 tiles"):
        tiles_of([next(most)], relaxed_records=1, room=room)


@pytest.mark.parametrize("changes", [{}, {"unit": "table", "choices": 1}, {"rounds": 1, "choices": None}])
@pytest.mark.parametrize("sizes", [SHAPE, (12, 10, 15, 2)], ids=["counts are kept", "counted anew"])
def test_a_run_in_tiles_is_the_run_with_whole_tables(changes, sizes):
    domain = rp.Domain(dict(zip("abcd", sizes, strict=True)))
    workload = rp.Workload(domain, [("a", "b", "c"), rp.Threshold(("b", "c", "d"), 2)])
    settings = ProjectionSettings(relaxed_records=2, steps=20)
    given = {"rounds": 2, "choices": 3, "neighbors": "replace", "projection": settings} | changes
    plan = rp.fits.rap.RapPlan(workload, budget=rp.zcdp(2), **given)
    assert len(tiles_of(plan.thresholds, relaxed_records=2, room=SMALL)) > 6
    assert (8 * sum(each.cells for each in plan.thresholds) > SMALL) == (sizes != SHAPE)
    whole, tiled = (rp.fits.rap.rap(plan, RECORDS, seed=4, memory=memory) for memory in (2**30, 2 * SMALL))
    for one, other in zip(whole.rounds, tiled.rounds, strict=True):
        assert one.chosen == other.chosen
        for table, answers in one.answers.items():
            assert answers.tolist() == other.answers[table].tolist()
            assert one.cells[table].tolist() == other.cells[table].tolist()
    assert np.allclose(whole.records.values, tiled.records.values, atol=1e-5)


def test_a_table_larger_than_the_memory_takes_no_more_than_it():
    domain = rp.Domain({"a": 60, "b": 70, "c": 80})
    records = np.random.default_rng(3).integers(0, domain.sizes, (500, 3))
    settings = ProjectionSettings(relaxed_records=20, steps=2)
    memory = 2**21
    for r in (3, 2):
        workload = rp.Workload(domain, [rp.Threshold(("a", "b", "c"), r)])
        plan = rp.fits.rap.RapPlan(
            workload, budget=rp.zcdp(1), neighbors="replace", rounds=1, choices=2, projection=settings
        )
        assert 8 * plan.thresholds[0].cells > memory
        rp.fits.rap.rap(plan, records, seed=1)  # what is made once in a process
        tracemalloc.start()
        rp.fits.rap.rap(plan, records, seed=1, memory=memory)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < memory
