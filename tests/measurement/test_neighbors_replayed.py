"""With the same noise, a data set and its neighbor differ in what one record contributes, and in nothing else."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replayed_measuring import refinements, replay
from residualplanner._archive import read_archive
from residualplanner.plan import select
from residualplanner.privacy import pcost
from strategies import Case, cases


def column_of_xi(sizes, cell):
    """The column of Xi for one cell, as a table: the product over axes of n at the cell, less 1 everywhere."""
    result = np.ones((1,) * len(sizes), dtype=object)
    for axis, (size, place) in enumerate(zip(sizes, cell, strict=True)):
        column = np.full(size, -1, dtype=object)
        column[place] += size
        result = result * column.reshape([-1 if other == axis else 1 for other in range(len(sizes))])
    return result.reshape(sizes)


def columns(plan, sizes, record):
    """For every set, in the order of the work, its f and what a record moves the centered counts by over f."""
    groups, f = plan_groups(plan), refinements(plan)
    for members in groups.members:
        for number in members.tolist():
            attributes = plan.closure[number]
            yield f[number], column_of_xi([sizes[i] for i in attributes], [record[i] for i in attributes])


def plan_groups(plan):
    from residualplanner.measurement.measurement import groups_of_plan

    return groups_of_plan(plan)


def flat(stacks):
    return [table for stack in stacks for table in stack]


@st.composite
def neighbors(draw: st.DrawFn) -> tuple[Case, list[tuple[int, ...]], tuple[int, ...]]:
    case = draw(cases(most_cells=48))
    record = st.tuples(*(st.integers(0, size - 1) for size in case.sizes))
    return case, draw(st.lists(record, max_size=8)), draw(record)


@given(pair=neighbors(), seed=st.integers(0, 2**32), place=st.integers(0, 8))
@settings(max_examples=300)
def test_before_the_noise_neighbors_differ_by_a_column_of_xi(pair, seed, place):
    case, records, extra = pair
    plan = select(case.workload, budget=pcost(1))
    width = len(case.sizes)
    less = np.array(records, dtype=np.int64).reshape(-1, width)
    more = np.array([*records[:place], extra, *records[place:]], dtype=np.int64)
    with pytest.MonkeyPatch.context() as patch:
        one, two = replay(plan, less, seed, patch), replay(plan, more, seed, patch)

    for before, after, (f, column) in zip(
        flat(one.centered), flat(two.centered), columns(plan, case.sizes, extra), strict=True
    ):
        assert ((after - before) == f * column).all()
        cells = math.prod(column.shape)
        assert sum(entry**2 for entry in column.ravel().tolist()) == cells * math.prod(n - 1 for n in column.shape)
    assert all((first == second).all() for first, second in zip(one.noise, two.noise, strict=True))
    assert [array.dtype for array in one.noise] == [array.dtype for array in two.noise]
    assert one.asked == two.asked
    assert one.steps == two.steps or not records
    assert one.measurement.noise == two.measurement.noise


def test_files_of_neighbors_differ_in_the_answers_alone(tmp_path, monkeypatch):
    case = Case((3, 4, 2), ((0, 1), (1, 2)), None)
    plan = select(case.workload, budget=pcost(1))
    codes = np.random.default_rng(3).integers(0, case.sizes, (30, 3))
    contents = []
    for name, data in (("one", codes), ("two", codes[1:])):
        replay(plan, data, 5, monkeypatch).measurement.save(tmp_path / name)
        header, arrays = read_archive(tmp_path / name, kind="measurement", version=5)
        answers = arrays.pop("integers")
        contents.append((header, answers.shape, {key: array.tobytes() for key, array in arrays.items()}))
    assert contents[0] == contents[1]
    assert (tmp_path / "one").stat().st_size == (tmp_path / "two").stat().st_size
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()
