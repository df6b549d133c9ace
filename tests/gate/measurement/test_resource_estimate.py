"""Estimates count what can be counted, grow as they should, and say it in words."""

import itertools
import math

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings

import residualplanner as rp
from residualplanner import Domain, Prefix, Range, Workload, marginals, measure, reconstruct, select, zcdp
from residualplanner.ground.words import MOST_FILES
from strategies import cases

estimate_of = rp.questions.resource_estimate


@settings(max_examples=50)
@given(case=cases(smallest=2))
def test_what_is_counted_is_what_there_is(case):
    estimate = estimate_of(case.workload)
    closed = {
        part
        for members in case.distinct
        for order in range(len(members) + 1)
        for part in itertools.combinations(members, order)
    }
    tables = [math.prod(case.sizes[i] for i in members) for members in case.distinct]
    assert estimate.tables == len(case.distinct)
    assert (estimate.cells, estimate.largest_table) == (sum(tables), max(tables))
    assert estimate.residual_sets == len(closed)
    assert estimate.counts == sum(math.prod(case.sizes[i] for i in members) for members in closed)
    assert estimate.residual_answers == sum(math.prod(case.sizes[i] - 1 for i in members) for members in closed)


@pytest.mark.parametrize("kinds", [{}, {"a": Range(), "b": Prefix()}])
def test_sizes_on_disk_are_within_a_factor_of_two(tmp_path, kinds):
    workload = marginals(Domain({"a": 60, "b": 50, "c": 20, "d": 8}), up_to=2, kinds=kinds)
    plan = select(workload, budget=zcdp(1), bases="orthogonal")
    estimate = plan.resource_estimate(records=100)
    measurement = measure(plan, np.zeros((100, 4), dtype=np.int64))
    measurement.save(tmp_path / "measurement")
    stored = (tmp_path / "measurement").stat().st_size
    assert 0.5 <= estimate.measurement_bytes / stored <= 2 or stored < 2**20
    reconstruct(measurement).save(tmp_path / "tables")
    disk = sum(file.stat().st_size for file in (tmp_path / "tables").rglob("*") if file.is_file())
    assert 0.5 <= estimate.disk_bytes / disk <= 2


def test_the_size_of_very_many_tables_is_that_of_parts(tmp_path):
    workload = marginals(Domain({f"q{number}": 4 for number in range(33)}), up_to=3)
    plan = select(workload, budget=zcdp(1))
    fewer, estimate = estimate_of(workload.take(np.arange(MOST_FILES))), plan.resource_estimate()
    reconstruct(measure(plan, np.zeros((10, 33), dtype=np.int64))).save(tmp_path / "tables")
    assert (tmp_path / "tables" / "parts").is_dir()
    assert len(workload) > MOST_FILES
    disk = sum(file.stat().st_size for file in (tmp_path / "tables").rglob("*") if file.is_file())
    assert 0.5 <= estimate.disk_bytes / disk <= 2
    assert estimate.disk_bytes < fewer.disk_bytes / 2
    assert estimate.writing_seconds < fewer.writing_seconds / 2


def test_what_is_not_known_or_too_large_is_said_all_the_same():
    estimate = estimate_of(marginals(Domain({"a": 3}), order=1), loss=cvxpy.max)
    assert math.isnan(estimate.planning_seconds)
    assert "Planning    a time not known" in str(estimate)
    large = Domain({f"x{i}": 2**40 for i in range(10)})
    estimate = estimate_of(Workload(large, [tuple(large.names)]))
    assert estimate.cells == 2.0**400
    assert "GiB on disk" in str(estimate)


@pytest.mark.parametrize("records", [-1, "many", True, math.nan])
def test_what_is_no_number_of_records_and_no_workload_is_refused(records):
    with pytest.raises(rp.errors.DataError, match="records must be a number, at least 0"):
        estimate_of(marginals(Domain({"a": 3}), order=1), records=records)
    with pytest.raises(rp.errors.ArgumentError, match="resource_estimate: workload must be a Workload, got a list"):
        estimate_of([("a",)])


@pytest.mark.cases(1)
@pytest.mark.parametrize(("places", "seconds", "memory"), [(3111, 1, 2**26), (100_000, 60, 2**30)])
def test_hierarchies_are_planned_without_matrices_of_all_values(places, seconds, memory):
    """Of 51 states or thousands of groups; their bases took 0.5 and 12 to 26 seconds."""
    levels = [61] if places == 3111 else [10, 100, 1000, 10_000]
    workload = rp.Workload(rp.Domain({"place": places}), [{"place": rp.Hierarchy(levels[::-1])}])
    found = estimate_of(workload)
    assert found.planning_seconds < seconds
    assert found.planning_bytes < memory
