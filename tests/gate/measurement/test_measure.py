"""What leaves the gate is the residuals of the data plus the plan's noise, and nothing else about the records."""

import traceback

import numpy as np
import pytest

import residualplanner as rp
from forms_of_records import Unread
from inner_parts import InsecureTestBits, gaussian, measure_with_bits
from replayed_measuring import measured_with
from residualplanner import Domain, Ledger, Workload, marginals, measure, pcost, select

DOMAIN = Domain({"a": 3, "one": 1, "b": 2, "c": ["x", "y", "z", "w"], "d": 3})
PLAN = select(marginals(DOMAIN, up_to=2), budget=pcost(1))
CODES = np.random.default_rng(5).integers(0, DOMAIN.sizes, (40, 5))


def test_a_system_without_randomness_gives_no_release(monkeypatch):
    def broken(_count):
        raise OSError("no entropy")

    monkeypatch.setattr("os.urandom", broken)
    with pytest.raises(rp.errors.NoiseError, match="gives no random bytes"):
        measure(PLAN, CODES, noise="gaussian")
    with pytest.raises(rp.errors.NoiseError, match="nothing may be released"):
        measure(PLAN, CODES)


def seeded(seed):
    return measure(PLAN, CODES, noise="gaussian", seed=seed)


def test_every_bit_of_the_seed_matters():
    first, *others = (
        gaussian.continuous_noise(PLAN, seed)._generator.standard_normal(4)
        for seed in (0, *(1 << bit for bit in range(256)))
    )
    assert len(others) == 256
    assert all((other != first).all() for other in others)


def test_a_seeded_measurement_can_be_repeated_and_says_so():
    one, two = seeded(3), seeded(np.int64(3))
    assert (one.residuals.values == two.residuals.values).all()
    assert (one.noise.seed, one.noise.randomness) == (3, "seeded, not private")
    assert one.noise.guarantee.startswith("none")
    assert "seeded, not private" in repr(one)
    assert (seeded(4).residuals.values != one.residuals.values).all()


def test_neither_batches_nor_the_order_of_records_change_what_is_drawn(in_batches):
    one, exact = seeded(3), measured_with(PLAN, CODES, 3)
    in_batches(cells=1, noise_cells=2**18)
    assert (seeded(3).residuals.values == one.residuals.values).all()
    again = measured_with(PLAN, CODES[::-1], 3)
    assert (again.residuals.numbers == exact.residuals.numbers).all()


def test_what_was_measured_cannot_be_changed():
    for noise in ("discrete", "gaussian"):
        residuals = measure(PLAN, CODES, noise=noise).residuals
        assert not residuals.values.flags.writeable
        assert not residuals.block(0).flags.writeable
        assert not residuals.stored(0).flags.writeable


def steps(plan, codes, noise):
    seen = []
    measure(plan, codes, noise=noise, progress=lambda done, total: seen.append((done, total)))
    return seen


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
def test_progress_tells_of_the_plan_alone(noise):
    seen = steps(PLAN, CODES, noise)
    assert seen == steps(PLAN, CODES[:1], noise) == steps(PLAN, np.tile(CODES, (5000, 1)), noise)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    # Six pairs are counted; noise goes to them, to the four attributes and to the total.
    assert seen[-1] == (17, 17)
    assert {total for _, total in seen} == {17}


MANY_CELLS = select(marginals(Domain(dict.fromkeys("abcde", 1000)), order=4), budget=pcost(1))
TOTAL = Workload(Domain({"a": 3}), [()])
BUDGET, SMALL = rp.errors.BudgetError, "noise of standard deviation below 1e-9"


@pytest.mark.parametrize(
    ("plan", "options", "error", "reason"),
    [
        (PLAN, {"noise": "laplace"}, BUDGET, 'noise must be "discrete" or "gaussian", got \'laplace\''),
        (PLAN, {"noise": None}, BUDGET, 'noise must be "discrete" or "gaussian", got None'),
        (PLAN, {"seed": 1}, BUDGET, 'only noise="gaussian", which is for research, takes a seed'),
        (PLAN, {"noise": "discrete", "seed": 0}, BUDGET, "takes a seed; leave it out for a release"),
        (PLAN, {"charge": "frist"}, BUDGET, r"charge must be .counted. or .first., got 'frist'; did you mean 'first'"),
        (PLAN, {"charge": True}, BUDGET, 'charge must be "counted" or "first", got True'),
        *((PLAN, {"seed": seed}, BUDGET, "seed must be an integer, at least 0") for seed in (-1, 1.0, True, "1")),
        (PLAN, {"ledger": Ledger(pcost("1/2"))}, BUDGET, "the ledger has"),
        (MANY_CELLS, {}, rp.errors.WorkloadError, "the tables to measure have 5,010,010,005,001 cells, the limit is"),
        *((select(TOTAL, budget=pcost(budget)), {}, BUDGET, SMALL) for budget in ("1e19", "1e300")),
    ],
)
def test_what_cannot_be_measured_is_refused_before_records_are_looked_at(plan, options, error, reason):
    with pytest.raises(error, match=reason):
        measure(plan, Unread(), **options)


@pytest.mark.parametrize("secure", [True, False], ids=["threads", "in order"])
def test_a_failing_source_of_bits_leaves_no_trace_of_the_counts(in_batches, secure):
    """The failure comes after some tables have their noise."""

    class Failing(InsecureTestBits):
        is_secure = secure
        reads = 0

        def read(self, count):
            self.reads += 1
            if self.reads > 3:
                raise OSError("no more")
            return super().read(count)

    in_batches(cells=2**15, noise_cells=10)
    with pytest.raises(rp.errors.NoiseError, match="nothing may be released") as caught:
        measure_with_bits(PLAN, CODES, Failing(1))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    for frame, _ in traceback.walk_tb(caught.value.__traceback__):
        if "/tests/" not in frame.f_code.co_filename:
            values = frame.f_locals.values()
            assert not any(isinstance(value, np.ndarray | list) for value in values)
