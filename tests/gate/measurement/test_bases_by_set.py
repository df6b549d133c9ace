"""Files of measurements with bases by set say what they cost, and sets are grouped by their own bases."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from random_plans import plan_by_set, sample_workload
from replayed_measuring import replay
from residualplanner import load_measurement, measure
from residualplanner.gate.measurement.precision import PRECISION_RULE_VARYING
from residualplanner.ground.archive import read_archive, write_archive
from residualplanner.ground.array_hashes import content_hash
from residualplanner.method.plan.files import plan_to_archive

KIND = {"kind": "measurement", "version": 5}
PLAN = plan_by_set(sample_workload(), 6)
SIZES = PLAN.domain.sizes
CODES = np.random.default_rng(5).integers(0, SIZES, (40, 4))


@pytest.fixture
def path(tmp_path):
    measure(PLAN, CODES).save(tmp_path / "measurement")
    return tmp_path / "measurement"


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
    strategy = rp.strategies.constant_strategy(PLAN.closure, PLAN.strategy.of_attributes)
    one = replace(PLAN, strategy=strategy, noise_variances=PLAN.noise_variances * 99)
    header["plan"], theirs = plan_to_archive(one)
    for name in [name for name in arrays if name.startswith("plan/")]:
        del arrays[name]
    arrays.update({f"plan/{name}": array for name, array in theirs.items()})


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (other_noise(pcost="1/1"), rp.errors.BudgetError, "states the exact cost"),
        (other_noise(precision="w = 1 / noise_variance"), rp.errors.FileFormatError, "contradicts itself"),
        (scaled("plan/bases/messages", 0), rp.errors.BudgetError, r"states pcost|more than the budget"),
        (scaled("plan/bases/matrix_2", 2), rp.errors.BudgetError, "more than the budget"),
        (scaled("plan/noise_variance", 4), rp.errors.BudgetError, "states pcost"),
        (one_basis, rp.errors.BudgetError, "states the exact cost"),
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
    assert (tmp_path / "one").stat().st_size == (tmp_path / "two").stat().st_size
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()
