"""The bytes of everything that the library writes, to be compared before and after a change that must not alter them.

    python -m benchmarks.golden FOLDER                  write them to a new folder
    python -m benchmarks.golden FOLDER --like BEFORE    and say which differ from those in another; exit 1 if some do

Plans, measurements from test bits, releases in every format and product, reports, synthetic records, RAP, and what the
command line says.  Both folders must come from one machine: versions of NumPy and SciPy may change the last digits.
What differs on purpose belongs in the changelog.
"""

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import residualplanner as rp
from residualplanner.gate.discrete_gaussian import InsecureTestBits
from residualplanner.gate.measurement.measure import measure_with_bits

AGES = {"minor": [0, 1], "adult": [2, 3, 4]}
COLUMNS = {"age": 5, "sex": ["F", "M"], "region": ["north", "south", "east"], "income": rp.Bins([0, 10, 50, 200])}
DOMAIN = rp.Domain(COLUMNS)
PAYROLL = rp.Domain(COLUMNS | {"pay": rp.Numeric(0, 100, unit=1, outside="clip")})
SINGLES = [(), *((name,) for name in COLUMNS)]
PAIRS = [*SINGLES, ("age", "sex"), ("sex", "region"), ("age", "income")]

#: Workloads by the words that their files are named by.
WORKLOADS: dict[str, Callable[[], rp.Workload]] = {
    "counts": lambda: rp.Workload(DOMAIN, PAIRS),
    "kinds": lambda: rp.Workload(
        DOMAIN,
        [
            *PAIRS,
            {"age": rp.Prefix(), "region": rp.Identity()},
            {"income": rp.Range()},
            {"age": rp.Hierarchy([AGES]), "sex": rp.Identity()},
            {"region": rp.Custom([[1, 1, 1], [1, 1, 0], [0, 1, 1]])},
        ],
    ),
    "universes": lambda: rp.Workload(DOMAIN, [*PAIRS, rp.Among(("age",), where={"sex": "F"})]),
    "thresholds": lambda: rp.Workload(DOMAIN, [*PAIRS, rp.Threshold(("age", "region"), 1)]),
    "amounts": lambda: rp.Workload(PAYROLL, [*SINGLES, ("age", "sex"), {"age": rp.Identity(), "pay": rp.Sum()}]),
    "means": lambda: rp.Workload(PAYROLL, [*SINGLES, {"sex": rp.Identity(), "pay": rp.Mean()}]),
}
#: What is optimized, under which notion of neighbors.
CHOICES = {
    "sum": {},
    "max": {"loss": rp.losses.MaxVariance()},
    "replace": {"neighbors": "replace"},
    "two": {"records_per_person": 2},
}
FORMATS = ("csv", "parquet", "xlsx", "workbook", "parts")
#: What the command line is told, one after another, in one folder.
COMMANDS = (
    "--help",
    *(f"{command} --help" for command in ("init", "plan", "measure", "reconstruct", "release", "synthesize", "report")),
    "init people.csv --header -o names.toml",
    "init codebook.csv --dictionary -o people.toml",
    "plan people.toml",
    "plan people.toml -o even.plan --loss max --at-most 40",
    "compare people.plan even.plan -o both.csv",
    "release people.toml people.csv -o never --dry-run",
    "reconstruct people.measurement -o csv --format csv --level 0.9",
    "reconstruct people.measurement -o integers --nonnegative --round-to 1 --with-unbiased",
    "report people.plan -o plan.html",
    "report csv -o csv.html",
    "reconstruct missing.measurement -o nothing",
    "plan people.csv",
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--like", type=Path, help="a folder that an earlier run wrote")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    warnings.simplefilter("ignore")
    with _within(arguments.folder):
        write_all()
    print(f"{sum(1 for _ in files_of(arguments.folder))} files in {arguments.folder}")
    if arguments.like is not None:
        sys.exit(1 if differences(arguments.like, arguments.folder) else 0)


def write_all() -> None:
    """Write everything to the current folder."""
    records = _records()
    for (word, workload), (choice, options) in product(WORKLOADS.items(), CHOICES.items()):
        name = Path(f"{word}-{choice}")
        name.mkdir()
        try:
            plan = rp.select(workload(), budget=rp.zcdp(1), **options)
            plan.save(name / "people.plan")
            measurement = measure_with_bits(plan, records, InsecureTestBits(7))
        except rp.errors.ResidualPlannerError as error:
            (name / "refused.txt").write_text(f"{type(error).__name__}: {error}\n", encoding="utf-8")
            continue
        measurement.save(name / "people.measurement")
        _write_release(measurement, name)
    _write_records(records)
    _write_transcripts(records)


def _write_release(measurement: rp.Measurement, folder: Path) -> None:
    release = rp.reconstruct(measurement)
    for format in FORMATS:
        _attempt(folder / f"unbiased-{format}", lambda path, format=format: release.save(path, format))
    products = {
        "nonnegative": lambda: rp.nonnegative(release),
        "rounded": lambda: rp.rounded(release),
        "both": lambda: rp.rounded(rp.nonnegative(release)),
    }
    for name, made in products.items():
        for format in ("csv", "parts"):
            _attempt(folder / f"{name}-{format}", lambda path, made=made, format=format: made().save(path, format))
    _attempt(folder / "plan.html", lambda path: rp.publish.write_report(measurement.plan, path))
    _attempt(folder / "release.html", lambda path: rp.publish.write_report(folder / "unbiased-csv", path))


def _write_records(records: pd.DataFrame) -> None:
    measurement = rp.load_measurement("counts-sum/people.measurement")
    rp.synthesize(rp.reconstruct(measurement), seed=7).save("synthetic.csv")
    pairs = rp.marginals(DOMAIN, order=2)
    plan = rp.fits.rap.RapPlan(pairs, budget=rp.zcdp(1), neighbors="replace", rounds=2, choices=2)
    result = rp.fits.rap.rap(plan, records, seed=7)
    np.savetxt("rap.txt", np.concatenate([result.table(query).ravel() for query in pairs]))


def _write_transcripts(records: pd.DataFrame) -> None:
    folder = Path("shell")
    folder.mkdir()
    records[list(COLUMNS)].to_csv(folder / "people.csv", index=False)
    (folder / "codebook.csv").write_text(
        "attribute,value\n" + "".join(f"sex,{value}\n" for value in "FM") + "".join(f"age,{age}\n" for age in range(5)),
        encoding="utf-8",
    )
    plan = rp.load_plan("counts-sum/people.plan")
    measure_with_bits(plan, records, InsecureTestBits(7)).save(folder / "people.measurement")
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    for number, command in enumerate(COMMANDS):
        run = subprocess.run(
            [sys.executable, "-m", "residualplanner", *command.split()],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        said = f"$ residualplanner {command}\n{run.stdout}{run.stderr}status {run.returncode}\n"
        Path(f"transcript-{number:02}.txt").write_text(said, encoding="utf-8")


def _records() -> pd.DataFrame:
    random = np.random.default_rng(3)
    columns = {name: random.choice(DOMAIN[name].labels, 400) for name in ("sex", "region")}
    columns |= {"age": random.integers(0, 5, 400), "income": random.integers(0, 200, 400)}
    return pd.DataFrame(columns | {"pay": random.integers(0, 100, 400)})


def _attempt(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file or folder; what it was refused with, where it was."""
    try:
        write(path)
    except rp.errors.ResidualPlannerError as error:
        path.with_name(f"{path.name}.refused.txt").write_text(f"{type(error).__name__}: {error}\n", encoding="utf-8")


def differences(before: Path, after: Path) -> list[str]:
    """The names of files that are in one of two folders only, or of other bytes, which are printed."""
    names = sorted({*files_of(before), *files_of(after)})
    found = [name for name in names if _bytes(before / name) != _bytes(after / name)]
    for name in found:
        print(f"differs: {name}")
    print(f"{len(names) - len(found)} of {len(names)} files are equal")
    return found


def files_of(folder: Path) -> Iterator[str]:
    """The names of all files in a folder."""
    return (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    home = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(home)


if __name__ == "__main__":
    main()
