"""A ledger adds up exactly, never exceeds its budget, and notices whatever was done to its file."""

import copy
import hashlib
import json
import os
import pickle
import threading
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import residualplanner as rp
from residualplanner import Domain, Ledger, load_measurement, marginals, measure, pcost, reconstruct, select, zcdp

pytestmark = pytest.mark.usefixtures("quick_disk")
PLAN = select(marginals(Domain({"a": 2, "b": 3}), up_to=2), budget=pcost("1/3"))
CODES = np.array([[0, 0], [1, 2], [1, 1]])
HASH = "0123456789abcdef" * 4
ADD_REMOVE = {"neighbors": "add-remove"}
#: Records that nothing can read: who looks at them raises DataError.
UNREADABLE = object()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


@pytest.fixture(params=["memory", "file"])
def make(request, path):
    if request.param == "memory":
        return lambda budget: Ledger(budget, data_set="census")
    return lambda budget: Ledger.create(path, budget=budget, data_set="census")


def filled(path, count=3):
    ledger = Ledger.create(path, budget=pcost(1), data_set="census")
    for number in range(count):
        ledger.charge(Fraction(1, 7 + number), HASH, label=f"run {number}", **ADD_REMOVE)
    return path.read_bytes().splitlines(keepends=True)


costs = st.lists(st.fractions(min_value=Fraction(1, 10**40), max_value=1).filter(bool), max_size=12)


@given(costs=costs, budget=st.fractions(min_value=Fraction(1, 10**6), max_value=2).filter(bool))
def test_a_charge_is_accepted_exactly_if_it_fits_and_so_it_is_said_before(costs, budget):
    ledger, total = Ledger(pcost(budget)), Fraction(0)
    for cost in costs:
        told, before = [], ledger.entries
        for use in (ledger.require_room, ledger.charge):
            assert ledger.entries == before
            try:
                use(cost, HASH, **ADD_REMOVE)
            except rp.errors.BudgetError as error:
                told.append(str(error))
        if total + cost <= budget:
            assert told == []
            total += cost
        else:
            assert told[0] == told[1]
            assert "left of pcost" in told[0]
        assert (ledger.spent, ledger.remaining) == (total, budget - total)


def test_what_was_charged_is_kept_and_fills_a_budget_to_the_last_bit(make):
    ledger, last = make(pcost(1)), Fraction(1, 2**1074)  # which no float would notice
    ledger.charge(Fraction(1, 3), HASH, label="spring tables", **ADD_REMOVE)
    ledger.charge(Fraction(2, 3) - last, HASH[::-1], **ADD_REMOVE)
    with pytest.raises(rp.errors.BudgetError, match="next to nothing left of pcost 1; this costs"):
        ledger.charge(Fraction(1, 3), HASH, **ADD_REMOVE)
    ledger.charge(last, HASH, **ADD_REMOVE)
    with pytest.raises(rp.errors.BudgetError, match=r"nothing left of pcost 1; this costs"):
        ledger.charge(Fraction(1, 2**2000), HASH, **ADD_REMOVE)
    assert [(e.sequence, e.cost, e.plan_sha256, e.label) for e in ledger.entries] == [
        (1, Fraction(1, 3), HASH, "spring tables"),
        (2, Fraction(2, 3) - last, HASH[::-1], ""),
        (3, last, HASH, ""),
    ]
    assert (ledger.spent, ledger.remaining, ledger.budget) == (1, 0, pcost(1))
    assert (ledger.data_set, ledger.neighbors, ledger.reason) == ("census", "add-remove", "")


def test_costs_of_thousands_of_digits_or_without_a_common_denominator_add_up_to_no_less(path):
    ledger = Ledger.create(path, budget=pcost(2), data_set="census")
    cost = Fraction(10**9999 + 1, 3 * 10**9999)
    costs = [cost, *(Fraction(prime // 10, prime) for prime in (2**p - 1 for p in (2203, 2281, 3217, 4253, 4423)))]
    for each in costs:
        ledger.charge(each, HASH, **ADD_REMOVE)
    assert cost < ledger.entries[0].cost < cost * (1 + Fraction(1, 2**1000))
    assert sum(costs) < Ledger.open(path).spent < sum(costs) * (1 + Fraction(1, 2**1000))


def test_an_unlimited_ledger_adds_up_and_keeps_its_reason(path):
    for ledger in (
        Ledger.unlimited("public records"),
        Ledger.create(path, budget=None, reason="public records", data_set="census"),
    ):
        ledger.charge(10**300, HASH, **ADD_REMOVE)
        ledger.charge(10**300, HASH, **ADD_REMOVE)
        assert (ledger.spent, ledger.remaining, ledger.budget) == (2 * 10**300, None, None)
        assert ledger.reason == "public records"
        assert "unlimited, 'public records'" in repr(ledger)


@pytest.mark.parametrize("noise", ["discrete", "gaussian"])
def test_what_an_unlimited_ledger_was_charged_with_says_why(tmp_path, noise):
    ledger = Ledger.unlimited("made-up records")
    measurement = measure(PLAN, np.zeros((1, 2), dtype=np.int64), noise=noise, ledger=ledger)
    measurement.save(tmp_path / "m")
    assert load_measurement(tmp_path / "m").noise == measurement.noise
    assert measurement.noise.unlimited_because == "made-up records"
    assert measurement.noise.guarantee.endswith("made-up records") == (noise == "discrete")
    reconstruct(measurement).save(tmp_path / "release")
    assert "made-up records" in (tmp_path / "release" / "manifest.json").read_text()
    limited = measure(PLAN, np.zeros((1, 2), dtype=np.int64), ledger=Ledger(zcdp(1)))
    assert limited.noise.unlimited_because == ""
    assert "ledger" not in limited.noise.guarantee


def test_the_file_is_the_documented_text(path):
    ledger = Ledger.create(path, budget=pcost(1), data_set="census")
    entry = ledger.charge(Fraction(1, 3), HASH, label="spring", **ADD_REMOVE)
    first, second = path.read_bytes().split(b"\n")[:2]
    terms, charge = json.loads(first), json.loads(second)
    told = terms.pop("sha256")
    assert told == hashlib.sha256(json.dumps(terms, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    stated = charge.pop("sha256")
    chained = told + json.dumps(charge, sort_keys=True, separators=(",", ":"))
    assert stated == entry.sha256 == hashlib.sha256(chained.encode()).hexdigest()
    assert charge == {"cost": "1/3", "label": "spring", "plan_sha256": HASH, "sequence": 1}
    assert terms == {
        "format": "residualplanner/ledger",
        "version": 1,
        "budget": {"pcost": "1/1", "notion": "pcost", "given": ["1"], "noise": None},
        "data_set": "census",
        "neighbors": "add-remove",
        "reason": "",
        "records_per_person": 1,
    }


OTHERS = "costs for different neighbors do not add up"
REFUSED_CHARGES = [
    *(({"cost": bad}, "a charge must be") for bad in (0, -1, 0.5, float("nan"), float("inf"), True, "1/3", None)),
    *(({"cost": bad}, "a charge must be") for bad in (Fraction(-1, 3), 10**400)),
    *(({"plan_sha256": bad}, "a plan is charged by its SHA-256") for bad in ("", "0" * 63, "0" * 63 + "G", "A" * 64)),
    *(({"plan_sha256": bad}, "a plan is charged by its SHA-256") for bad in (None, b"0" * 64)),
    *(({"label": bad}, "label must be one line") for bad in ("two\nlines", "tab\t", "x" * 201, "\ud800", None, 3)),
    ({"neighbors": "replace"}, OTHERS),
    ({"records_per_person": 2}, OTHERS),
    ({"neighbors": "bounded"}, "neighbors must be one of"),
    ({"records_per_person": True}, "records_per_person must be an integer"),
    ({"records_per_person": 0}, "records_per_person must be an integer"),
]


def test_a_charge_is_exact_and_positive_for_a_plan_in_one_line_and_for_the_neighbors_of_the_ledger(make):
    ledger, sound = make(pcost(1)), {"cost": Fraction(1, 9), "plan_sha256": HASH, "label": "", **ADD_REMOVE}
    for change, match in REFUSED_CHARGES:
        with pytest.raises(rp.errors.BudgetError, match=match):
            ledger.charge(**sound | change)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"budget": 1}, "budget must be a Budget"),
        ({"budget": None}, "either a budget or a reason"),
        ({"budget": None, "reason": " "}, "either a budget or a reason"),
        ({"reason": "why"}, "either a budget or a reason"),
        ({"reason": "two\nlines"}, "reason must be one line"),
        ({"data_set": "two\nlines"}, "data_set must be one line"),
        ({"neighbors": "bounded"}, "neighbors must be one of"),
        ({"records_per_person": 1.0}, "records_per_person must be"),
    ],
)
def test_terms_that_do_not_fit_are_refused_and_leave_no_file(path, options, match):
    with pytest.raises(rp.errors.BudgetError, match=match):
        Ledger.create(path, **{"budget": pcost(1), "data_set": "census"} | options)
    assert not path.exists()


def test_a_ledger_in_memory_needs_a_budget_or_a_reason_too():
    path_given = r"must be a Budget .*got 'survey.ledger'; .* opened by Ledger\.open"
    for begin, match in (
        (lambda: Ledger("survey.ledger"), path_given),
        (lambda: Ledger(None), r"Ledger\.unlimited"),
        (lambda: Ledger.unlimited(""), "either a budget or a reason"),
    ):
        with pytest.raises(rp.errors.BudgetError, match=match):
            begin()


def test_a_ledger_is_not_begun_where_it_is_nor_made_by_opening_it(path):
    for use, match in (
        (lambda: Ledger.open(path), "there is no ledger"),
        (lambda: Ledger.create(path / "ledger", budget=pcost(1), data_set="census"), "does not exist; make it first"),
    ):
        with pytest.raises(FileNotFoundError, match=match):
            use()
    assert not path.exists()
    lines = filled(path)
    with pytest.raises(FileExistsError, match="exists already; open it"):
        Ledger.create(path, budget=pcost(1), data_set="census")
    assert path.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_ledger_cannot_be_copied(make, copied):
    with pytest.raises(TypeError, match="would spend the same budget again"):
        copied(make(pcost(1)))


def test_threads_take_turns_with_a_ledger_in_memory(monkeypatch):
    ledger = Ledger(pcost(1))

    def slowly(line, head, torn):
        time.sleep(0.02)
        return replace(line, sha256="")

    monkeypatch.setattr("residualplanner.gate.ledger.lines.chained", slowly)
    threads = [threading.Thread(target=attempt, args=(ledger, Fraction(2, 3))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.entries) == 1


def in_a_fork(action):
    """What ``action`` returns in a forked process: a text."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, action().encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader) as file:
        return file.read()


def attempt(ledger, cost):
    try:
        return str(ledger.charge(cost, HASH, **ADD_REMOVE).sequence)
    except rp.errors.BudgetError as error:
        return str(error)


def test_a_forked_process_shares_a_ledger_in_a_file_and_cannot_spend_one_in_memory_again(path):
    ledger = Ledger(pcost(1))
    assert "only by the process that made it" in in_a_fork(lambda: attempt(ledger, 1))
    assert attempt(ledger, 1) == "1"
    ledger = Ledger.create(path, budget=pcost(1), data_set="census")
    assert in_a_fork(lambda: attempt(ledger, Fraction(2, 3))) == "1"
    assert "left of pcost 1" in attempt(ledger, Fraction(2, 3))
    assert attempt(ledger, Fraction(1, 3)) == "2"


def edited(lines, number, found, wanted):
    assert found in lines[number]
    return [*lines[:number], lines[number].replace(found, wanted), *lines[number + 1 :]]


BUDGET = b'{"given":["1"],"noise":null,"notion":"pcost","pcost":"1/1"}'
#: The number of a line, what is in it, what somebody wrote there, and what is said of it.
EDITS = [
    (2, b'"1/8"', b'"1/9"', "line 3 was edited"),
    (2, b'"1/8"', b'"2/16"', "line 3 was edited"),
    (0, b'"1/1"', b'"9/1"', "line 1: .* not what its statement"),
    (0, BUDGET, BUDGET.replace(b'"1', b'"9'), "line 1 was edited"),
    (0, BUDGET, b"null", "line 1: a ledger has either"),
    (0, b"add-remove", b"bounded", "line 1: neighbors must be"),
    (0, b'"version":1', b'"version":2', "line 1: written by a newer version .* update the package"),
    (1, b'"label":', b'"label": ', "line 2 was edited"),
    (1, b"{", b"\t{", "line 2 was edited"),
    (1, b"{", b"torn\t{", "line 2 was edited"),
    (1, b'"label"', b'"label":"","label"', "line 2 is not a line"),
    (1, b'"label"', b'"k":1,"label"', "line 2 does not have the fields"),
    (1, b'"1/7"', b"NaN", "line 2 is not a line"),
    (1, b'"1/7"', b"[" * 9000 + b"]" * 9000, "line 2 is not a line"),
    (1, b"run 0", b"\xff", "line 2 is not a line"),
    (1, b"run 0", b"\0", "line 2 is not a line"),
    (1, b'"sequence":1', b'"sequence":' + b"1" * 9000, "line 2 is no"),
    (1, b'"sequence":1', b'"sequence":true', "line 2 is not entry 1"),
    (1, b"run 0", b"x" * 40_000, "line 2 is longer"),
    (1, HASH.encode(), b"", "line 2: a plan is charged by"),
    *((1, b'"1/7"', b, "line 2 has no cost") for b in (b"0.1", b'"-1/7"', b'"1/0"', b'"1/' + b"7" * 4000 + b'"')),
]
FORGERIES = [
    *((lambda lines, row=row: edited(lines, *row), match) for *row, match in EDITS),
    (lambda lines: [line.replace(b"\n", b"\r\n") for line in lines], "line 1 was edited"),
    (lambda lines: [*lines[:2], lines[3]], "line 3 is not entry 2"),
    (lambda lines: lines[1:], "line 1 does not have the fields"),
    (lambda lines: [*lines, lines[3]], "line 5 is not entry 4"),
    (lambda lines: [*lines[:2], lines[3], lines[2]], "line 3 is not entry 2"),
    (lambda lines: [*lines[:2], b"\n", *lines[2:]], "line 3 is not a line of a ledger"),
    (lambda lines: [*lines, b"\n"], "line 5 is not a line of a ledger"),
    (lambda lines: [], "line 1 is incomplete"),
    (lambda lines: [lines[0][:50]], "line 1 is incomplete"),
]


def test_what_was_not_written_by_the_library_is_refused_by_line(path):
    lines = filled(path)
    for forge, match in FORGERIES:
        path.write_bytes(b"".join(lines))
        opened = Ledger.open(path)
        path.write_bytes(b"".join(forge(lines)))
        before = path.read_bytes()
        with pytest.raises(rp.errors.FileFormatError, match=f"ledger: {match}"):
            Ledger.open(path)
        with pytest.raises(rp.errors.FileFormatError, match=f"ledger: {match}"):
            opened.charge(Fraction(1, 100), HASH, **ADD_REMOVE)
        assert path.read_bytes() == before


@given(position=st.integers(0, 2000), byte=st.integers(0, 255))
def test_no_byte_can_be_changed(tmp_path_factory, position, byte):
    path = tmp_path_factory.mktemp("flip") / "ledger"
    content = bytearray(b"".join(filled(path, count=2)))
    position %= len(content) - 1  # the last line feed makes a torn line, which is another matter
    if content[position] == byte:
        byte ^= 1
    content[position] = byte
    path.write_bytes(bytes(content))
    with pytest.raises(rp.errors.FileFormatError, match=r"ledger: line [1-4]"):
        Ledger.open(path)


def chain(lines):
    """Lines with right hashes, as somebody would forge them who knows how."""
    previous, result = "", []
    for line in lines:
        fields = json.loads(line)
        fields.pop("sha256")
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"))
        previous = hashlib.sha256((previous + text).encode()).hexdigest()
        result.append(json.dumps(fields | {"sha256": previous}, sort_keys=True, separators=(",", ":")).encode() + b"\n")
    return result


def test_an_overspent_ledger_is_refused_even_if_its_hashes_are_right(path):
    lines = filled(path)
    assert chain(lines) == lines
    path.write_bytes(b"".join(chain(edited(lines, 2, b'"1/8"', b'"8/9"'))))
    with pytest.raises(rp.errors.FileFormatError, match="line 3 spends more than the budget"):
        Ledger.open(path)


@pytest.mark.parametrize("kept", [1, 3])
def test_a_file_that_was_cut_off_or_put_back_is_noticed_by_whoever_had_it_open(path, kept):
    lines = filled(path)
    opened = Ledger.open(path)
    path.write_bytes(b"".join(lines[:kept]))
    for use in (lambda: opened.spent, lambda: opened.charge(Fraction(1, 100), HASH, **ADD_REMOVE)):
        with pytest.raises(rp.errors.FileFormatError, match="entries that were there before are missing"):
            use()


def test_another_ledger_in_its_place_is_noticed(path):
    filled(path)
    opened = Ledger.open(path)
    path.unlink()
    filled(path, count=5)
    path.write_bytes(b"".join(chain(edited(path.read_bytes().splitlines(keepends=True), 3, b"run 2", b"run x"))))
    with pytest.raises(rp.errors.FileFormatError, match="entries that were there before are missing"):
        opened.charge(Fraction(1, 100), HASH, **ADD_REMOVE)


def test_a_huge_file_is_refused_and_a_full_one_can_be_read_but_not_charged(path, monkeypatch):
    filled(path)
    ledger = Ledger.open(path)
    monkeypatch.setattr("residualplanner.gate.ledger.lines.SIZE_LIMIT", path.stat().st_size)
    with pytest.raises(rp.errors.BudgetError, match="the ledger is full"):
        ledger.charge(Fraction(1, 100), HASH, **ADD_REMOVE)
    assert len(ledger.entries) == 3
    monkeypatch.undo()
    os.truncate(path, 2**26 + 1)
    with pytest.raises(rp.errors.FileFormatError, match="at most 67,108,864 bytes long"):
        Ledger.open(path)


def test_what_is_no_ordinary_file_is_refused(path, tmp_path):
    os.mkfifo(path)
    for other in (path, tmp_path, "/dev/zero", "/dev/null"):
        with pytest.raises(rp.errors.FileFormatError, match="not a regular file"):
            Ledger.open(other)


def test_a_line_torn_while_it_was_settled_can_be_settled(path):
    lines = filled(path, count=1)
    path.write_bytes(b"".join(lines) + b'{"cost":')
    Ledger.open(path).settle(Fraction(1, 9))
    path.write_bytes(path.read_bytes()[:-20])
    assert Ledger.open(path).is_torn
    Ledger.open(path).settle(Fraction(1, 8))
    assert Ledger.open(path).spent == Fraction(1, 7) + Fraction(1, 8)


def test_the_torn_part_of_a_settled_line_cannot_be_changed(path):
    path.write_bytes(b"".join(filled(path, count=1)) + b'{"cost":"1/2')
    Ledger.open(path).settle(Fraction(1, 2))
    path.write_bytes(path.read_bytes().replace(b'{"cost":"1/2\t', b'{"cost":"1/3\t'))
    with pytest.raises(rp.errors.FileFormatError, match="line 3 was edited"):
        Ledger.open(path)


@pytest.mark.parametrize("charge", ["counted", "first"])
def test_the_charge_is_on_the_disk_before_noise_is_drawn_and_after_the_count_or_before_it(path, monkeypatch, charge):
    ledger, seen, read = Ledger.create(path, budget=pcost(1), data_set="census"), [], os.urandom

    def look(name):
        seen.append((name, len(Ledger.open(path).entries)))

    monkeypatch.setattr(os, "urandom", lambda count: (look("draw"), read(count))[1])
    measure(PLAN, CODES, ledger=ledger, charge=charge, progress=lambda done, _total: look(f"step {done}"))
    drawn = [name for name, _ in seen].index("draw")
    assert seen[0] == ("step 1", int(charge == "first"))  # the first table is counted
    assert {entries for _, entries in seen[:drawn]} == {int(charge == "first")}
    assert {entries for _, entries in seen[drawn:]} == {1}
    assert Fraction(999, 3000) < ledger.spent <= Fraction(1, 3)


def test_what_the_ledger_refuses_is_refused_before_a_record_is_read(make):
    ledger = make(pcost("0.9"))
    measure(PLAN, CODES, ledger=ledger)
    measure(PLAN, CODES, ledger=ledger, again=True)
    with pytest.raises(rp.errors.BudgetError, match=r"left of pcost 0\.9; this costs"):
        measure(PLAN, UNREADABLE, ledger=ledger, again=True)
    assert len(ledger.entries) == 2
    for bad in ("ledger.txt", zcdp(1), 1.0, object()):
        with pytest.raises(rp.errors.BudgetError, match="ledger must be a Ledger"):
            measure(PLAN, UNREADABLE, ledger=bad)
    with pytest.raises(rp.errors.DataError, match="data of type object are not understood"):
        measure(PLAN, UNREADABLE, ledger=Ledger(pcost(1)))
