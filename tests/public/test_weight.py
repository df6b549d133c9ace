"""How long a first import and the first help take, in units of the time to import NumPy on the same machine."""

import subprocess
import sys
from functools import cache

import pytest

resource = pytest.importorskip("resource", reason="processor time of other processes is known on POSIX only")
pytestmark = pytest.mark.slow


@cache
def seconds(*arguments: str) -> float:
    """The least processor time of several new interpreters, which other processes disturb least."""
    return min(_seconds(arguments) for _ in range(5))


def _seconds(arguments: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("arguments", "most"),
    [
        (("-c", "from residualplanner import select, measure, reconstruct"), 4.5),  # 2.5 when this was written
        (("-m", "residualplanner", "--help"), 3.0),  # 1.2
    ],
    ids=["verbs", "help"],
)
def test_what_comes_first_comes_soon(arguments, most):
    assert seconds(*arguments) <= most * seconds("-c", "import numpy")
