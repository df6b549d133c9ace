"""What a newcomer does who has the package, its README and nothing else: a program for `benchmarks.constraints`.

It runs where the package is installed with the extra ``report``, in an empty folder, without the repository.  The
README is that in the package's metadata: its examples in Python are executed, and its commands, with records and a code
book of one's own.  What they write is then read by other programs, R among them where it is on the machine.
"""

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

SIZES = {"age": 100, "sex": 2, "region": 3}
CODE_BOOK = """variable,value,label
age,0-99,years
sex,1,female
sex,2,male
region,1,north
region,2,east
region,3,south
"""


def main() -> None:
    """Everything in turn; an error where something does not work."""
    readme = metadata("residualplanner")["Description"]
    assert "](docs/" not in readme, "a link that leads nowhere outside the repository"
    names: dict[str, Any] = {"__name__": "readme"}
    for example in re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE):
        exec(example, names)
    own_records()
    (commands,) = re.findall(r"^```sh\n(residualplanner init .*?)^```", readme, re.DOTALL | re.MULTILINE)
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in commands.splitlines():
        if line.startswith("residualplanner release"):
            spec = Path("people.toml").read_text(encoding="utf-8")  # R reads CSV without a package
            assert '\n# format = "csv"' in spec
            Path("people.toml").write_text(spec.replace('\n# format = "csv"', '\nformat = "csv"'), encoding="utf-8")
        subprocess.run(line.partition("#")[0], shell=True, check=True, env=os.environ | {"PATH": programs})
    check_release(Path("release"))
    assert "<svg" in Path("release.html").read_text(encoding="utf-8")


def own_records() -> None:
    """A code book and records that nobody has seen."""
    Path("codebook.csv").write_text(CODE_BOOK, encoding="utf-8")
    chance = random.Random(1)
    with Path("people.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(SIZES)
        writer.writerows([chance.randrange(100), chance.randint(1, 2), chance.randint(1, 3)] for _ in range(2000))


def check_release(folder: Path) -> None:
    """A table is near the truth, as another program reads it, and the release says what it cost."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert "zCDP" in manifest["noise"]["guarantee"]
    path = folder / "tables" / "sex.csv"
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert len(rows) == SIZES["sex"]
    total = sum(float(row["estimate"]) for row in rows)
    assert abs(total - 2000) < 200
    if shutil.which("Rscript") is None:
        print("Rscript was not found, so that R did not read the release.")
        return
    read = f'cat(sum(read.csv("{path.as_posix()}")$estimate), "\\n")'
    done = subprocess.run(["Rscript", "--vanilla", "-e", read], check=True, capture_output=True, text=True)
    assert abs(float(done.stdout) - total) < 0.01, done.stdout
    print("R reads the same table.")


if __name__ == "__main__":
    main()
