"""Readers of files against files that were changed at random: they are read, or refused with an error of this library.

    python -m benchmarks.fuzz [--mutations N] [--reader NAME ..] [--seed N] [--case NAME:N] [--json FILE]

Plans, measurements, ledgers, specs, release folders in all formats, geographies, boundaries and records as CSV, changed
as bytes and in their fields, mostly with corrected hashes, so that the code behind them is reached.  Exits with 1 if
one of them raises an error that is not the library's, warns, takes more than 2 seconds of processor time or 256 MiB of
memory, or ends the process.  ``--case`` does one of them again and shows where it ends.
"""

import argparse
import json
import multiprocessing
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NamedTuple, NoReturn

from benchmarks.fuzz_files import Files
from benchmarks.fuzz_readers import READERS, Reader
from residualplanner.ground.errors import NoLedgerWarning, ResidualPlannerError

MUTATIONS, SEED = 100_000, 1
#: What reading a small file may take: seconds of the processor, and bytes of memory beyond what good files take.
SECONDS, MEMORY = 2.0, 2**28
#: When a case is given up, in seconds of the processor, and how much memory no case can get, in bytes.
_GIVEN_UP, _MOST_MEMORY = 20.0, 2**32
_KIB = 1024 if sys.platform != "darwin" else 1
_SHOWN = 5


class Verdict(StrEnum):
    """How a reader dealt with a file."""

    READ = "read"
    REFUSED = "refused"
    FOREIGN = "foreign error"
    SLOW = "too slow"
    LARGE = "too much memory"
    CRASHED = "crash"

    @property
    def is_right(self) -> bool:
        return self in (Verdict.READ, Verdict.REFUSED)


class Outcome(NamedTuple):
    """One changed file: its number, what became of it, in how many seconds of the processor, and the last words."""

    number: int
    verdict: Verdict
    seconds: float
    words: str = ""


class _GivenUpError(BaseException):
    """A case took far too long."""


def changed_files(reader: Reader, good: list[Files], number: int, seed: int = SEED) -> Files:
    """The files of one case; the same for the same reader, number and seed."""
    chance = random.Random(f"{seed}:{reader.name}:{number}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reader.changed(chance, chance.choice(good))


def outcome_of(reader: Reader, files: Files, number: int) -> Outcome:
    """Let a reader read files; warnings count as errors, that nothing keeps count aside."""
    with tempfile.TemporaryDirectory() as home, warnings.catch_warnings():
        path = reader.written(files, Path(home))
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoLedgerWarning)  # nothing is released here
        start = time.process_time()
        verdict, words = Verdict.READ, ""
        try:
            with _given_up_late():
                reader.read(path)
        except ResidualPlannerError:
            verdict = Verdict.REFUSED
        except _GivenUpError:
            verdict = Verdict.SLOW
        except Exception as error:  # noqa: BLE001 - which are looked for
            verdict, words = Verdict.FOREIGN, _words_of(error)
        seconds = time.process_time() - start
    if verdict.is_right and seconds > SECONDS:
        verdict = Verdict.SLOW
    return Outcome(number, verdict, seconds, words)


@contextmanager
def _given_up_late() -> Iterator[None]:
    """Raise _GivenUpError after so long a time that waiting for the end would not pay."""

    def give_up(*_: object) -> NoReturn:
        raise _GivenUpError

    before = signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, _GIVEN_UP)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _words_of(error: Exception) -> str:
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "residualplanner" in frame.filename]
    place = f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else "elsewhere"
    return f"{type(error).__name__} in {place}: {str(error)[:100]}"


@dataclass
class Tally:
    """What became of all files of one reader."""

    name: str
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    seconds: float = 0.0
    longest: float = 0.0
    wrong: list[Outcome] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        self.verdicts[outcome.verdict] += 1
        self.seconds += outcome.seconds
        self.longest = max(self.longest, outcome.seconds)
        if not outcome.verdict.is_right:
            self.wrong.append(outcome)

    @property
    def total(self) -> int:
        return self.verdicts.total()

    def row(self) -> str:
        counts = "".join(f"{self.verdicts[verdict]:>{len(verdict) + 3},}" for verdict in Verdict)
        return f"{self.name:<22}{self.total:>9,}{counts}{self.seconds:>9.1f}{self.longest:>9.2f}"


def fuzz(reader: Reader, count: int, *, seed: int = SEED) -> Tally:
    """Give a reader ``count`` changed files, in processes of their own, so that one that ends is seen."""
    tally, spawn = Tally(reader.name), multiprocessing.get_context("spawn")
    while tally.total < count:
        mine, theirs = spawn.Pipe(duplex=False)
        process = spawn.Process(target=_work, args=(reader.name, tally.total, count, seed, theirs))
        process.start()
        theirs.close()
        for outcome in _received(mine):
            tally.add(outcome)
        process.join()
        if process.exitcode:
            tally.add(Outcome(tally.total, Verdict.CRASHED, 0.0, f"the process ended with {process.exitcode}"))
    return tally


def _received(connection: Connection) -> Iterator[Outcome]:
    while True:
        try:
            yield connection.recv()
        except EOFError:
            return


def _work(name: str, start: int, stop: int, seed: int, connection: Connection) -> None:
    """The cases ``start`` to ``stop``, or up to one that takes much memory, whose peak would hide others."""
    (reader,) = (each for each in READERS if each.name == name)
    good = reader.make()
    for files in good:
        require_read(reader, files)
    allowed = _peak() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY + _peak(), resource.RLIM_INFINITY))
    for number in range(start, stop):
        outcome = outcome_of(reader, changed_files(reader, good, number, seed), number)
        if outcome.verdict.is_right and _peak() > allowed:
            outcome = outcome._replace(verdict=Verdict.LARGE)
        connection.send(outcome)
        if _peak() > allowed:
            return


def _peak() -> int:
    """The most memory that this process has had so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB


def require_read(reader: Reader, files: Files) -> None:
    """Raise RuntimeError unless good files are read."""
    outcome = outcome_of(reader, files, -1)
    if outcome.verdict not in (Verdict.READ, Verdict.SLOW):
        raise RuntimeError(f"{reader.name}: a good file is not read: {outcome.verdict}: {outcome.words}")


def counts_of(mutations: int) -> dict[str, int]:
    """How many files each reader gets, at least ``mutations`` in all."""
    whole = sum(reader.weight for reader in READERS)
    return {reader.name: -(-mutations * reader.weight // whole) for reader in READERS}


def _again(case: str, seed: int) -> None:
    """Do one case again, and let its error out."""
    name, _, number = case.rpartition(":")
    (reader,) = (each for each in READERS if each.name == name)
    with tempfile.TemporaryDirectory() as home:
        reader.read(reader.written(changed_files(reader, reader.make(), int(number), seed), Path(home)))


def _told(tally: Tally) -> dict[str, object]:
    counts = {str(verdict): tally.verdicts[verdict] for verdict in Verdict}
    return {"cases": tally.total, **counts, "longest_seconds": round(tally.longest, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutations", type=int, default=MUTATIONS)
    parser.add_argument("--reader", action="append", choices=[reader.name for reader in READERS])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--case", help="do one again, such as plan:17, and show where it ends")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.case:
        _again(given.case, given.seed)
        return

    heads = "".join(f"{verdict:>{len(verdict) + 3}}" for verdict in Verdict)
    print(f"{'reader':<22}{'files':>9}{heads}{'seconds':>9}{'longest':>9}")
    counts, tallies = counts_of(given.mutations), []
    for reader in READERS:
        if given.reader and reader.name not in given.reader:
            continue
        tallies.append(fuzz(reader, counts[reader.name], seed=given.seed))
        print(tallies[-1].row(), flush=True)
        for outcome in tallies[-1].wrong[:_SHOWN]:
            print(f"    {reader.name}:{outcome.number} {outcome.verdict}, {outcome.seconds:.1f} s {outcome.words}")
    if given.json:
        told = {tally.name: _told(tally) for tally in tallies}
        given.json.write_text(json.dumps({"seed": given.seed, "readers": told}, indent=1) + "\n")
    wrong = sum(len(tally.wrong) for tally in tallies)
    print(
        f"{sum(tally.total for tally in tallies):,} changed files, {wrong:,} of them not dealt with as they should be"
    )
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
