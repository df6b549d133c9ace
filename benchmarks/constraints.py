"""The oldest and the newest dependencies: ``python -m benchmarks.constraints`` tries the package with both.

Or with one: ``python -m benchmarks.constraints oldest``, as CI does, whose tests run with the newest of all.  Of each
list it makes a fresh environment, installs a wheel with the extras ``report`` and ``convex`` there, and runs the
demonstration, `benchmarks/newcomer.py` and `benchmarks/constraints_trial.py`, in an empty folder, without the
repository.  Status 1 where one fails.  The lists hold the base dependencies, those of the two extras, and what these
need in turn:

- ``constraints/oldest.txt``: the least versions that ``pyproject.toml`` allows, for the oldest Python, and tried with
  that only.  What they need in turn is as new as they take it, as an installation of today would have it.
- ``constraints/newest.txt``: the newest versions of all, for every Python.

With ``--make`` it resolves both lists anew before, which takes the resolver of ``uv``.
"""

import argparse
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from hatchling.builders.wheel import WheelBuilder

HOME = Path(__file__).parents[1]
LISTS = HOME / "constraints"
EXTRAS = ("report", "convex")
PROGRAMS = ("newcomer", "constraints_trial")
#: Of each list, how it is resolved.
RESOLUTIONS = {
    "oldest": ("--resolution", "lowest-direct"),
    "newest": ("--resolution", "highest", "--universal"),
}
_HEAD = "# Made by `python -m benchmarks.constraints --make`, which says what is in it.\n"


def oldest_python() -> str:
    """The oldest Python that is supported, such as 3.11."""
    project = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["requires-python"].removeprefix(">="))


def make(name: str) -> None:
    """Resolve a list, and write it."""
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    quiet = ("--quiet", "--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links")
    options = (*quiet, *extras, *RESOLUTIONS[name], "--python-version", oldest_python())
    command = ["uv", "pip", "compile", "--upgrade", *options, "pyproject.toml"]
    done = subprocess.run(command, cwd=HOME, check=True, capture_output=True, text=True)
    (LISTS / f"{name}.txt").write_text(_HEAD + done.stdout, encoding="utf-8")


def failures(name: str, wheel: Path, folder: Path) -> list[str]:
    """What fails with the versions of a list, in a fresh environment in a folder."""
    venv.create(folder / "venv")
    programs, empty = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin"), folder / "empty"
    empty.mkdir()
    wanted = ("--constraint", LISTS / f"{name}.txt", f"{wheel}[{','.join(EXTRAS)}]")
    steps = (
        (sys.executable, "-m", "pip", "--python", programs / "python", "install", "--quiet", "--no-compile", *wanted),
        (programs / "residualplanner", "demo"),
        *((programs / "python", "-I", Path(__file__).with_name(f"{program}.py")) for program in PROGRAMS),
    )
    for step in steps:
        done = subprocess.run([*map(str, step)], cwd=empty, check=False, capture_output=True, text=True)
        if done.returncode:
            return [f"{name}: {' '.join(map(str, step))}\n{done.stdout}{done.stderr}"]
    return []


def main() -> int:
    """Make the lists if that is asked for, and try the package with each; the status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", default=[*RESOLUTIONS], help="oldest, newest, or both")
    parser.add_argument("--make", action="store_true", help="resolve both lists anew before")
    given = parser.parse_args()
    if unknown := {*given.lists} - {*RESOLUTIONS}:
        parser.error(f"there is no list {' nor '.join(sorted(unknown))}")
    is_made, is_oldest = given.make, "{}.{}".format(*sys.version_info) == oldest_python()
    tried = [name for name in given.lists if name != "oldest" or is_oldest]
    if len(tried) < len(given.lists):
        print(f"oldest: not tried, it is for Python {oldest_python()}")
    found: list[str] = []
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in RESOLUTIONS if is_made else ():
            make(name)
        (wheel,) = WheelBuilder(str(HOME)).build(directory=str(folder / "dist"), versions=["standard"])
        for name in tried:
            (folder / name).mkdir()
            trouble = failures(name, Path(wheel), folder / name)
            found += trouble
            print(f"{name}: {'fails' if trouble else 'works'}", flush=True)
    if found:
        print(*found, sep="\n", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
