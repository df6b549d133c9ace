"""The search lists pages for users before those for developers, in the order of the sections of `docs/index.md`.

Sphinx scores a page by whether a word is in its title or its text, and lists equal scores by the alphabet.  Here the
section of a page adds to that; what is for developers comes last, whatever its score.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from contents import ROW, SECTION

if TYPE_CHECKING:
    from sphinx.application import Sphinx

#: The section whose pages come last.
LAST = "For developers"
#: What a section adds more than the next one: less than a word in a title counts more than one in the text.
STEP = 2
SCRIPT = """document.addEventListener("DOMContentLoaded", () => {
  const scores = SCORES;
  Scorer.score = ([page, title, , , score, , kind]) => {
    const isWholeName = title.split(".").length === 2 && score >= Scorer.objNameMatch + Scorer.objPrio[1];
    const ofItsOwn = kind !== "object" ? 0 : isWholeName ? 20 : -10;
    return score + ofItsOwn + (scores[page] ?? scores[page.split("/")[0] + "/"] ?? 0);
  };
});
"""


def scores(index: str) -> dict[str, int]:
    r"""What each page's section adds to its score; pages of a folder are where its own index is.

    Example:
        >>> scores("## Start\n\n| [A](a.md) | a |\n\n## For developers\n\n| [B](b/README.md) | b |\n")
        {'a': 2, 'b/README': -100, 'b/': -100}
    """
    heads = [*SECTION.finditer(index)]
    ends = [head.start() for head in heads[1:]] + [len(index)]
    added = {}
    for place, (head, end) in enumerate(zip(heads, ends, strict=True)):
        score = -100 if head[1] == LAST else STEP * (len(heads) - 1 - place)
        for _, page in ROW.findall(index[head.end() : end]):
            added[page] = score
            if "/" in page:
                added[page.split("/")[0] + "/"] = score
    return added


def add_scorer(app: "Sphinx", page: str, _template: str, _context: dict[str, Any], _doctree: Any) -> None:
    """Put the scorer into the page of the search, before Sphinx's own script."""
    if page == "search":
        index = Path(app.srcdir, "index.md").read_text(encoding="utf-8")
        app.add_js_file(None, body=SCRIPT.replace("SCORES", json.dumps(scores(index))))


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_scorer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
