"""The picture of a report in the README and on the page docs/report.md.

    python -m benchmarks.report_picture [--out docs/report.png]

Measures all tables of up to three of six attributes of Adult, publishes non-negative integers with a title, and opens
the report on them in a headless Chromium, which must be on the PATH.  It takes seconds, and needs matplotlib: ``pip
install residualplanner[report]``.  The noise is drawn anew each time, so the numbers change a little.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import residualplanner as rp
from residualplanner.datasets import adult

ATTRIBUTES = ("age", "education-num", "marital-status", "sex", "hours-per-week", "income>50K")
#: Pixels of the window; the picture is the top of the page.
SIZE = (1040, 1180)
ABOUT = rp.publish.Publication(
    title="Adults by age, education, marital status, sex, hours and income",
    author="Office of Statistics",
    date="2026-11-22",
    contact="statistics@example.org",
    source="Adult data of the UCI Machine Learning Repository",
)


def write_page(folder: Path) -> Path:
    """Write a release of Adult and the report on it into a folder; return the path of the page."""
    domain, file = adult()
    some = rp.Domain({name: domain[name] for name in ATTRIBUTES})
    plan = rp.select(rp.marginals(some, up_to=3), budget=rp.zcdp("0.5"))
    tables = rp.reconstruct(rp.measure(plan, file))
    rp.rounded(rp.nonnegative(tables)).save(folder / "release", publication=ABOUT)
    rp.publish.write_report(folder / "release", folder / "report.html")
    return folder / "report.html"


def take_picture(page: Path, picture: Path) -> None:
    """Write the top of a page as PNG, as Chromium shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("there is no Chromium on the PATH")
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb")
    size = f"--window-size={SIZE[0]},{SIZE[1]}"
    command = [browser, *options, size, f"--screenshot={picture.resolve()}", page.as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "report.png")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        take_picture(write_page(Path(folder)), out)
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
