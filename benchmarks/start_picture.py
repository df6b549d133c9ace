"""The picture of the start page, a plan, a table and a map, made by running the code of docs/tutorial-geography.md.

``python -m benchmarks.start_picture`` writes docs/start.svg.  The noise is drawn anew each time, so that the numbers
change a little.
"""

import contextlib
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import residualplanner as rp

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: The height of a title, with the space above it.
TITLE = 34
TITLES = (
    "The plan: how accurate every table will be, before a record is read",
    "A table of the release: estimates with their intervals",
    "Another table as a map",
)
OPENING = re.compile(r'.*?<svg [^>]*?width="([\d.]+)pt" height="([\d.]+)pt"[^>]*>', flags=re.DOTALL)


def below_one_another(pictures: dict[str, str]) -> str:
    """Several pictures as one, each below its title."""
    parts, top, widest = [], 0.0, 0.0
    for number, (title, picture) in enumerate(pictures.items()):
        opening = OPENING.match(picture)
        assert opening is not None
        wide, high = map(float, opening.groups())
        # what one picture clips and draws by name is not what another one does
        inner = re.sub(r'( id="|href="#|url\(#)', rf"\g<1>p{number}-", picture[opening.end() :])
        font = 'font-family="sans-serif" font-size="13" fill="#1a1c1f"'
        size = f'width="{wide:g}" height="{high:g}" viewBox="0 0 {wide:g} {high:g}"'
        parts += [
            f'<text x="4" y="{top + TITLE - 12:g}" {font}>{title}</text>',
            f'<svg y="{top + TITLE:g}" {size}>{inner.strip()}',
        ]
        top, widest = top + TITLE + high, max(widest, wide)
    size = f'width="{widest:g}pt" height="{top:g}pt" viewBox="0 0 {widest:g} {top:g}"'
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join([f"<svg {names} {size}>", background, *parts, "</svg>\n"])


def main() -> None:
    """Run the page's code up to its maps in a folder of its own, and draw what it has made."""
    page = (DOCS / "tutorial-geography.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore", rp.errors.NoLedgerWarning)  # the records are invented
        for block in re.findall(r"```python\n(?!>>>)(.*?)```", page, flags=re.DOTALL):
            exec(block, names)
            if "variation.svg" in block:
                break
        map_of_tracts = rp.publish.choropleth(names["table"], names["shapes"])
        drawn = {}
        pictures = (names["plan"].plot(), names["release"]["age", "sex"].plot(), map_of_tracts)
        for title, picture in zip(TITLES, pictures, strict=True):
            picture.save("drawn.svg")
            drawn[title] = Path("drawn.svg").read_text(encoding="utf-8")
    (DOCS / "start.svg").write_text(below_one_another(drawn), encoding="utf-8")


if __name__ == "__main__":
    main()
