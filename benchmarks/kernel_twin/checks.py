"""What is asked of the kernel's source, whatever it is: right tables, no race, no slip in memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired

from benchmarks.kernel_twin import ADDRESS_SANITIZER, PLAIN, THREAD_SANITIZER, TwinError, build, run
from benchmarks.kernel_twin.cases import Cases, is_right, long_cases, short_cases


@dataclass(frozen=True)
class Check:
    """One way of looking at a source.

    Attributes:
        name: what it is called in tables.
        options: of the compiler.
        cases: the tables that are made.
    """

    name: str
    options: Sequence[str]
    cases: Cases

    def objection(self, folder: Path, source: str) -> str:
        """What is wrong with a source, in a few words; nothing if nothing was found."""
        cases = self.cases()
        try:
            found = run(build(folder, source, self.options), cases)
        except TwinError as error:
            return _first_line(str(error))
        except TimeoutExpired:
            return "it does not end"
        wrong = [number for number, pair in enumerate(zip(cases, found, strict=True)) if not is_right(*pair)]
        return f"{len(wrong)} of {len(cases)} tables are wrong" if wrong else ""


TABLES = Check("tables", PLAIN, lambda: [*short_cases(), *long_cases()])
RACES = Check("races", THREAD_SANITIZER, short_cases)
MEMORY = Check("memory", ADDRESS_SANITIZER, short_cases)
CHECKS = (TABLES, RACES, MEMORY)


def _first_line(report: str) -> str:
    lines = [line.strip() for line in report.splitlines() if ":" in line or "thread" in line]
    return (lines or ["it stopped"])[0].split("==")[-1].strip()[:90]
