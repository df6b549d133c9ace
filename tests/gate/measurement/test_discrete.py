"""Noisy answers are integers, exact for counts and noise of every size, and distributed as planned."""

import math
import threading

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import noisy_answers
from random_plans import plan_by_hand
from replayed_measuring import divisors_of, groups_of, integers_of, measured_with, noise_left_out, refinements
from residualplanner import Domain, Workload, load_measurement, marginals, measure, pcost, reconstruct, select

SIZES = (3, 1, 2, 4, 3)
DOMAIN = Domain(dict(zip(("a", "one", "b", "c", "d"), SIZES, strict=True)))
PLAN = select(marginals(DOMAIN, up_to=2), budget=pcost(1))
CODES = np.random.default_rng(5).integers(0, SIZES, (40, 5))


def test_noise_drawn_ahead_by_threads_goes_to_the_tables_it_was_drawn_for(in_batches):
    """Draws that tell their scale: with threads and without, each table gets its own, and batches come in order."""
    threads = set()

    def flat(scales, sizes, source):
        threads.add((source.is_secure, threading.current_thread() is threading.main_thread()))
        parts = zip(scales.numerators, scales.denominators, np.asarray(sizes).tolist(), strict=True)
        return np.concatenate([np.arange(size) * (a // b + 1) + len(sizes) for a, b, size in parts])

    in_batches(6, 12, draw=flat)
    for _ in range(20):
        ahead = measure(PLAN, CODES).residuals.numbers
        assert (ahead == measured_with(PLAN, CODES, 1).residuals.numbers).all()
    assert threads == {(True, False), (False, True)}


LARGE = groups_of(marginals(Domain({"a": 2**15, "b": 2**14}), up_to=2))


@pytest.mark.parametrize("records", [0, 1, 2**33 - 1, 2**33, 2**48])
def test_only_above_two_to_the_33_records_their_number_decides(records):
    wide = 1 if records <= 2**33 else 3
    found = noisy_answers.widths(LARGE, np.ones(4), divisors_of(LARGE.bases), records=records)
    assert found == [*[noisy_answers.Width.INT64] * (4 - wide), *[noisy_answers.Width.DOUBLE_WORD] * wide]


def test_the_largest_noise_of_a_group_decides_for_all_of_it():
    groups = groups_of(marginals(Domain(dict.fromkeys("abc", 3)), up_to=1))
    for place in range(3):
        precision = np.ones(4)
        precision[1 + place] = 1e-60
        assert noisy_answers.widths(groups, precision, divisors_of(groups.bases), records=0) == [
            noisy_answers.Width.INT64,
            noisy_answers.Width.PYTHON,
        ]


def plan_with_noise(workload, variance):
    return plan_by_hand(
        workload, rp.strategies.subtraction_strategy(workload), np.full(len(workload.closure), variance)
    )


WIDE_WORKLOAD = Workload(Domain(dict.fromkeys("abcde", 3)), [tuple("abcde")])


@pytest.mark.parametrize("variance", [1e18, 1e40, 1e200])
def test_noise_of_every_size_is_measured_saved_and_reconstructed(tmp_path, variance):
    codes = np.random.default_rng(1).integers(0, 3, (50, 5))
    plan = plan_with_noise(WIDE_WORKLOAD, variance)
    saved = measure(plan, codes)
    saved.save(tmp_path / "file")
    loaded = load_measurement(tmp_path / "file")
    assert bool(saved.residuals.wide) == (variance > 1e18)
    for members, integers in integers_of(saved).items():
        assert integers.tolist() == integers_of(loaded)[members].tolist()
    assert (loaded.residuals.values == saved.residuals.values).all()
    for query in [tuple("abcde"), ("b",), ()]:
        assert (reconstruct(loaded)[query].estimate == reconstruct(saved)[query].estimate).all()
    # A wrong scale, or a factor left out, is off by far more than the 20 standard errors allowed here.
    white = saved.residuals.values / math.sqrt(variance)
    assert 0.5 < np.sqrt((white**2).mean()) < 20


def test_a_draw_that_int64_cannot_hold_makes_python_integers_and_wraps_nothing(in_batches):
    def flat(_scales, sizes, _source):
        noise = np.arange(int(np.sum(sizes))).astype(object)
        noise[-1] = 10**30
        return noise

    in_batches(2**15, 2**18, draw=flat)
    found = measure(PLAN, CODES).residuals
    largest = len(found.groups.shapes) - 1
    assert list(found.wide) == [largest]
    assert min(found.wide[largest].ravel().tolist()) < -(10**29) or max(found.wide[largest].ravel().tolist()) > 10**29


def test_ready_counts_beyond_two_to_the_33_are_measured_exactly(monkeypatch):
    noise_left_out(monkeypatch)
    domain = Domain({"a": 100, "b": 100, "c": 50})
    table = np.random.default_rng(3).integers(0, 10**12, (100, 100, 50))
    plan = select(Workload(domain, [("a", "b", "c")]), budget=pcost(1))
    release = reconstruct(measure(plan, {("a", "b", "c"): table}))
    np.testing.assert_allclose(release["a", "b", "c"].estimate, table, rtol=0, atol=1e4)
    found = integers_of(release.measurement)
    f = dict(zip(plan.closure, refinements(plan), strict=True))
    assert found[()].tolist() == [f[()] * int(table.sum(dtype=object))]
    by_a = table.sum(axis=(1, 2), dtype=object)
    assert found[(0,)].tolist() == [f[0,] * 100 * (by_a[0] - count) for count in by_a[1:]]


def test_bits_of_a_test_leave_their_mark_on_what_they_make(tmp_path):
    marked = measured_with(PLAN, CODES, 1)
    marked.save(tmp_path / "file")
    for measurement in (marked, load_measurement(tmp_path / "file")):
        assert measurement.noise.randomness == "InsecureTestBits: not private"
        assert measurement.noise.guarantee.startswith("none")
        assert "not private" in repr(measurement)
        assert not measurement.noise.is_private
