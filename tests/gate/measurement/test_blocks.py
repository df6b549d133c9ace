"""Measuring block by block: the same counts however little memory there is, answers put together in their places."""

import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from forms_of_records import Unread
from inner_parts import answers as answers_part
from inner_parts import basis_groups, blocks, measured_counting
from residualplanner import Ledger, measure
from strategies import cases

DOMAIN = rp.Domain({"a": 3, "b": 4, "c": 3, "d": 2, "e": 5})
WORKLOAD = rp.marginals(DOMAIN, up_to=3)
PLAN = rp.select(WORKLOAD, budget=rp.zcdp(1))
GROUPS, FAMILY = basis_groups(PLAN.strategy), measured_counting.parents(PLAN.closure)
RECORDS = np.random.default_rng(0).integers(0, DOMAIN.sizes, (500, len(DOMAIN)))
#: Enough for the largest table and what is summed down from it, and not for all.
LITTLE = blocks.working_bytes(GROUPS) + 2500


def sets_of(block):
    return np.concatenate(block.groups.members)


@given(cases(weighted=False), st.floats(0, 1))
def test_each_set_is_in_one_block_with_what_it_is_summed_from_and_blocks_fit(case, fraction):
    plan = rp.select(case.workload, budget=rp.pcost(1))
    groups, family = basis_groups(plan.strategy), measured_counting.parents(plan.closure)
    least = next(memory for memory in range(blocks.working_bytes(groups), 10**6, 16) if fits(groups, family, memory))
    memory = int(least + fraction * held_bytes(groups))
    found = blocks.blocks_within(groups, family, memory)
    assert sorted(np.concatenate([sets_of(block) for block in found])) == list(range(len(plan.closure)))
    for block in found:
        mine = set(sets_of(block).tolist())
        assert set(family.parent[sorted(mine)].tolist()) <= mine | {-1}
        assert held_bytes(block.groups) <= memory
        for part, (number, rows) in enumerate(zip(block.numbers, block.rows, strict=True)):
            members = block.groups.members[part]
            assert np.array_equal(groups.members[number][rows], members)
            assert (block.groups.group[members] == part).all()
            assert np.array_equal(block.groups.row[members], np.arange(len(members)))
            assert block.groups.bases[part] == groups.bases[number]


def held_bytes(groups):
    return blocks.counts_and_answers_bytes(groups) + blocks.working_bytes(groups)


def fits(groups, family, memory):
    try:
        blocks.blocks_within(groups, family, memory)
    except rp.errors.ResourceError:
        return False
    return True


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
def test_answers_on_disk_are_those_of_their_tables(tmp_path, noise):
    """With next to no noise a release is the truth: sets of one shape have places that are not mixed up."""
    equal = rp.Domain(dict.fromkeys("abcde", 3))
    workload, records = rp.marginals(equal, up_to=2), RECORDS % 3
    plan = rp.select(workload, budget=rp.zcdp(10**9))
    memory = blocks.working_bytes(basis_groups(plan.strategy)) + 1000
    release = rp.reconstruct(measure(plan, records, memory=memory, scratch=tmp_path, noise=noise))
    truth = np.zeros(equal.sizes)
    np.add.at(truth, tuple(records.T), 1)
    for query in workload:
        others = tuple(axis for axis, name in enumerate(equal.names) if name not in query)
        np.testing.assert_allclose(release[query].estimate, truth.sum(axis=others), atol=0.1)


def test_progress_counts_each_table_once_and_all_blocks_are_one_charge(tmp_path):
    steps = []
    ledger, progress = Ledger(rp.pcost(10)), lambda done, total: steps.append((done, total))
    measurement = measure(PLAN, RECORDS, memory=LITTLE, scratch=tmp_path, progress=progress, ledger=ledger)
    assert [entry.cost for entry in ledger.entries] == [measurement.noise.pcost]
    assert {total for _, total in steps} == {int(FAMILY.is_maximal.sum()) + len(PLAN.closure)}
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1][0] == steps[-1][1]


def test_answers_that_int64_cannot_hold_keep_their_places(tmp_path):
    found = blocks.blocks_within(GROUPS, FAMILY, LITTLE)
    rng = np.random.default_rng(1)
    whole = rng.integers(-(2**40), 2**40, answers_part.AnswerLayout(GROUPS).count).astype(object)
    starts = answers_part.AnswerLayout(GROUPS).starts
    wide = int(np.argmax([len(members) for members in GROUPS.members]))
    whole[starts[wide] + 1] = 2**70
    groups_of = [
        whole[a:b].reshape(len(m), *s)
        for a, b, m, s in zip(starts[:-1], starts[1:], GROUPS.members, GROUPS.answer_shapes, strict=True)
    ]
    divisors = (1,) * len(GROUPS.members)
    collector = blocks.AnswersOnDisk(GROUPS, divisors, tmp_path)
    for block in found:
        parts = [groups_of[number][rows] for number, rows in zip(block.numbers, block.rows, strict=True)]
        large = {n: part for n, part in enumerate(parts) if any(abs(x) >= 2**63 for x in part.ravel())}
        flat = np.concatenate(
            [
                np.zeros(part.size, np.int64) if n in large else part.ravel().astype(np.int64)
                for n, part in enumerate(parts)
            ]
        )
        collector.put(block, answers_part.Residuals(block.groups, flat, (1,) * len(parts), large))
    answers = collector.answers()
    assert list(answers.wide) == [wide]
    for number, expected in enumerate(groups_of):
        assert (answers.stored(number) == expected).all()


def test_a_disk_that_is_full_is_refused_before_the_charge(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks.shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    ledger = Ledger(rp.pcost(10))
    with pytest.raises(rp.errors.ResourceError, match=r"too little room: the answers take .* has .* left; nothing"):
        measure(PLAN, RECORDS, memory=LITTLE, scratch=tmp_path, ledger=ledger)
    assert ledger.spent == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"memory": memory}, "memory must be a number of bytes") for memory in (0, -1, 1.5, True, "4 GiB")),
        ({"memory": LITTLE, "scratch": "nowhere"}, "scratch must be a folder that exists"),
        (
            {"memory": blocks.working_bytes(GROUPS)},
            r"the largest tables take .* and memory= .* allows .*nothing was charged",
        ),
    ],
)
def test_room_that_is_none_is_refused_before_the_charge_and_before_records_are_looked_at(options, message):
    ledger = Ledger(rp.pcost(10))
    with pytest.raises(rp.errors.ResourceError, match=message):
        measure(PLAN, Unread(), ledger=ledger, **options)
    assert ledger.spent == 0


def test_records_that_can_be_read_once_are_refused_before_the_charge_where_there_are_several_blocks():
    ledger = Ledger(rp.pcost(10))
    table = pa.table({name: RECORDS[:, number] for number, name in enumerate(DOMAIN.names)})
    with pytest.raises(rp.errors.ResourceError, match=r"read only once, .*each of \d+ blocks.*Nothing was charged"):
        measure(PLAN, table.to_reader(), memory=LITTLE, ledger=ledger)
    assert ledger.spent == 0
    assert measure(PLAN, table.to_reader(), memory=10**9, ledger=ledger).noise.pcost == ledger.spent
