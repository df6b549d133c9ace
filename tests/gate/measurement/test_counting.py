"""Every table is counted exactly, and only those are counted that no other holds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import dense
import residualplanner as rp
from forms_of_records import opened
from residualplanner.gate.measurement.counting import count_tables, parents
from residualplanner.method.strategy.basis_groups import basis_groups
from strategies import Case, bases_of, cases


class Spy:
    """A source that remembers which sets it counted."""

    def __init__(self, source):
        self.source, self.counted = source, []

    def count(self, groups, **options):
        self.counted += [tuple(row) for rows in groups for row in rows.tolist()]
        return self.source.count(groups, **options)


def random_codes(case: Case, records: int):
    return np.random.default_rng(7).integers(0, case.sizes, (records, len(case.sizes)))


def counted(case: Case, codes):
    spy = Spy(opened(codes, case.domain))
    closure = case.workload.closure
    groups = basis_groups(rp.strategies.constant_strategy(closure, bases_of(case.sizes)))
    return count_tables(spy, closure, groups, parents(closure)), groups, spy


@given(case=cases(), records=st.integers(0, 30))
def test_tables_are_the_marginals_of_eq_1(case, records):
    codes = random_codes(case, records)
    tables, groups, _ = counted(case, codes)
    data = dense.counts(case.sizes, codes)
    for number, members in enumerate(case.workload.closure):
        table = tables[groups.group[number]][groups.row[number]]
        assert table.dtype == np.int64
        assert (table.ravel() == dense.marginal(case.sizes, members) @ data.ravel()).all()


@given(case=cases())
def test_only_sets_that_are_part_of_no_other_are_counted(case):
    _, _, spy = counted(case, random_codes(case, 3))
    closure = [set(members) for members in case.workload.closure]
    maximal = [members for members in closure if not any(members < other for other in closure)]
    assert sorted(spy.counted) == sorted(tuple(sorted(members)) for members in maximal)


@given(case=cases())
def test_a_parent_is_the_set_and_the_attribute_at_its_axis(case):
    closure = case.workload.closure
    family, sets = parents(closure), list(closure)
    for members, parent, axis in zip(sets, family.parent, family.axis, strict=True):
        if parent >= 0:
            larger = sets[parent]
            assert larger[:axis] + larger[axis + 1 :] == members
        else:
            assert axis == -1
