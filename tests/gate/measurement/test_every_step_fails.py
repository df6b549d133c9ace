"""Whatever fails at whatever step: what failed before the charge cost nothing, and no noise was drawn before it."""

import linecache
import random
import sys
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

import residualplanner as rp
from forms_of_records import CHARGED, MARKED, PLAN
from inner_parts import Folder, OperatingSystemBits, release, source
from leaks import leaks_of_error
from slowness import slow

PACKAGE = str(Path(rp.__file__).parent)
NAMES = {"name": ["x", "y", "z"], "group": ["a", "b"], "city": ["c", "d"]}
SOME = pd.DataFrame({name: [labels[number % len(labels)] for number in range(7)] for name, labels in NAMES.items()})
SEVERAL = rp.select(rp.marginals(rp.Domain(NAMES), up_to=2), budget=rp.pcost("1/4"))
LITTLE = 600  # bytes of counts and noise: several blocks
ROUNDS = rp.fits.rap.RapPlan(
    rp.marginals(rp.Domain(NAMES), order=2),
    budget=rp.pcost("1/4"),
    neighbors="add-remove",
    rounds=2,
    choices=1,
    projection=rp.fits.rap.ProjectionSettings(relaxed_records=2, steps=2),
)


def measured(form):
    return lambda folder: (MARKED[form](folder), lambda data, ledger: partial(rp.measure, PLAN, data, ledger=ledger))


def of_some(work):
    return lambda folder: (SOME, lambda data, ledger: partial(work, data, ledger, folder))


def of_session(_folder):
    return SOME, lambda data, ledger: partial(rp.Session(data, ledger=ledger).release, SEVERAL)


def stored(data, ledger, folder, **options):
    return rp.scale.measure_in_store(SEVERAL, data, folder / "store", ledger=ledger, **options)


#: What is done, by name, with the records of each.
PATHS = {
    **{f"measure, {form}": measured(form) for form in ("pandas", "CSV", "counts", "Dask")},
    "measure in blocks": of_some(lambda data, ledger, _: rp.measure(SEVERAL, data, ledger=ledger, memory=LITTLE)),
    "measure, charged first": of_some(lambda data, ledger, _: rp.measure(SEVERAL, data, ledger=ledger, charge="first")),
    "session": of_session,
    "store": of_some(stored),
    "store, charged first": of_some(lambda *given: stored(*given, charge="first")),
    "rap": of_some(lambda data, ledger, _: rp.fits.rap.rap(ROUNDS, data, ledger=ledger)),
    "rap, recounted": of_some(lambda data, ledger, _: rp.fits.rap.rap(ROUNDS, data, ledger=ledger, memory=4096)),
}
#: What the gate does with an error, and with the arguments, when a step has failed or all are done.
ENDS = {"entered", "spend", "told", "_found", "shielded", "without_history", "location_of"}


def ends_handling(file, number):
    """Whether a line ends a context manager or returns from a handler: there no signal is handled.

    If a tracer raises there, Python 3.11 goes on handling the error that had been suppressed, in all that follows.
    """
    before, line = (linecache.getline(file, each).lstrip() for each in (number - 1, number))
    return line.startswith("with ") or (line.startswith("return") and before.startswith("except "))


class Failing:
    """Raises at one of the lines that are executed in the library."""

    def __init__(self, line, failure=KeyboardInterrupt):
        self.left, self.failure, self.seen = line, failure, 0

    def __call__(self, frame, event, _argument):
        code = frame.f_code
        if not code.co_filename.startswith(PACKAGE):
            return None
        # Frames that take the records hold them until they are left; and a failing session says nothing of its own.
        if event == "line" and code.co_name not in ENDS and not ends_handling(code.co_filename, frame.f_lineno):
            self.seen += 1
            self.left -= 1
            if self.left < 0:
                sys.settrace(None)
                raise self.failure
        return self


class Watch:
    """What the ledger held, and how many lines had been run, when records had been counted and when noise was drawn."""

    def __init__(self, patch, ledger, failing):
        self.steps, self.ledger, self.failing = [], ledger, failing
        for owner, name in ((source.Source, "count"), (OperatingSystemBits, "read")):
            patch.setattr(owner, name, self.told(name, getattr(owner, name)))

    def told(self, name, function):
        def spy(*arguments, **options):
            charges = len(self.ledger.entries)
            result = function(*arguments, **options)
            self.steps.append((name, charges, self.failing.seen))
            return result

        return spy


def run(path, folder, failing):
    """What a path ends in where it fails at a line; with its ledger, its records, and what was watched."""
    folder.mkdir()
    data, work = PATHS[path](folder)
    ledger = rp.Ledger.create(folder / "ledger", budget=rp.pcost(1), data_set="d")
    do = work(data, ledger)
    with pytest.MonkeyPatch.context() as patch:
        watch = Watch(patch, ledger, failing)
        sys.settrace(failing)
        try:
            ended = do()
        except BaseException as error:  # noqa: BLE001 - whatever it is
            ended = error
        finally:
            sys.settrace(None)
    return ended, ledger, data, watch.steps


def check(path, folder, line, failure):
    """Whether the run was charged; None where it did not fail at all."""
    ended, ledger, data, steps = run(path, folder, Failing(line, failure))
    comes_first = path.endswith("charged first")
    assert all(charges == 1 for name, charges, _ in steps if name == "read"), "noise was drawn before the charge"
    assert comes_first or not ledger.entries or steps[0][:2] == ("count", 0), "charged before records were counted"
    if not isinstance(ended, BaseException):
        return None
    notes = " ".join(getattr(ended, "__notes__", []))
    assert leaks_of_error(ended, data) == [], line
    is_told = CHARGED in notes or "its cost stays charged to the ledger" in notes
    assert is_told == bool(ledger.entries), (line, notes)
    store = Folder(folder / "store")
    if (folder / "store").exists() and store.names(release.RELEASE):
        answers = {name: store.read(name) for name in store.names(release.ANSWERS)}
        resumed = rp.scale.resume_measuring(store, data, ledger=ledger)
        assert [entry.cost for entry in ledger.entries] == [resumed.noise.pcost]
        assert {name: store.read(name) for name in answers} == answers
        return is_told
    return bool(ledger.entries)


@pytest.fixture(scope="module")
def lengths(tmp_path_factory):
    """How many lines each path runs before the first bit of noise, and in all; filled as paths are taken."""
    known = {}

    def lengths_of(path):
        if path not in known:
            folder = tmp_path_factory.mktemp("lines")
            run(path, folder / "warm", Failing(10**9))  # the first measurement of all tests the machine's arithmetic
            failing = Failing(10**9)
            _, _, _, steps = run(path, folder / "lines", failing)
            known[path] = next(seen for name, _, seen in steps if name == "read"), failing.seen
        return known[path]

    return lengths_of


def lines_to_fail_at(middle, end, points):
    """So many lines before the first bit of noise and as many after it, and the first and last ones."""
    assert 100 < middle < end
    draw = random.Random(points)
    before, after = range(middle), range(middle, end)
    some = {*draw.sample(before, points), *draw.sample(after, min(points, len(after)))}
    return sorted({0, 1, middle - 1, middle, end - 1} | some)


@pytest.mark.parametrize(
    ("failure", "points"),
    [(KeyboardInterrupt, 6), slow(MemoryError, 4), slow(ValueError, 4)],
)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.cases(1)
def test_a_failure_at_any_line_costs_nothing_before_the_charge_and_says_so_after_it(
    path, failure, points, tmp_path, lengths
):
    lines = lines_to_fail_at(*lengths(path), points)
    found = {check(path, tmp_path / str(number), line, failure) for number, line in enumerate(lines)}
    assert {True, False} <= found
