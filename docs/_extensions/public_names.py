"""On the site the index of the reference is a flat list: a line for each public name, in the order of the pages.

The list is made of the pages and of the first lines of docstrings.  On GitHub the index is a table of the pages.
"""

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

from contents import ROW

import residualplanner

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INDEX = "api/index"
BLOCK = re.compile(r"^```\{eval-rst\}\n\.\. currentmodule:: residualplanner\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
NAME = re.compile(r"^\.\. auto(?:class|function|exception):: (\w+)", flags=re.MULTILINE)
TABLE = re.compile(r"^\|.*\|\n(?:^\|.*\|\n)*", flags=re.MULTILINE)


def names_of_page(text: str) -> list[str]:
    r"""The names of the package itself that a page documents.

    Example:
        >>> names_of_page("```{eval-rst}\n.. currentmodule:: residualplanner\n\n.. autoclass:: Plan()\n```\n")
        ['Plan']
    """
    return [name for block in BLOCK.findall(text) for name in NAME.findall(block)]


def line_of(name: str) -> str:
    """The line of a public name: a link, and the first line of its docstring up to a semicolon or a full stop.

    Example:
        >>> line_of("Domain")
        '- {py:obj}`Domain <residualplanner.Domain>` – The attributes of a table, in order.'
    """
    summary = (inspect.getdoc(getattr(residualplanner, name)) or "").splitlines()[0]
    plain = re.split(r"; |\. |\.$", summary)[0].replace("``", "`") + "."
    return f"- {{py:obj}}`{name} <residualplanner.{name}>` – {plain}"


def list_names(app: "Sphinx", page: str, source: list[str]) -> None:
    """Put the list in the place of the table of pages, which remains the navigation."""
    if page != INDEX:
        return
    folder = Path(app.srcdir, INDEX).parent
    pages = [(folder / f"{name}.md").read_text(encoding="utf-8") for _, name in ROW.findall(source[0])]
    lines = "\n".join(line_of(name) for text in pages for name in names_of_page(text))
    source[0] = TABLE.sub(lambda _: lines + "\n", source[0], count=1)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", list_names, priority=600)  # after the navigation was made of the table
    return {"parallel_read_safe": True, "parallel_write_safe": True}
