"""On the site the index of the reference is a flat list: a line for each public name, in the order of the pages.

The list is made of the pages and of the first lines of docstrings.  On GitHub the index is a table of the pages.
"""

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from contents import ROW

import residualplanner

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INDEX = "api/index"
DIRECTIVE = re.compile(r"^\.\. (?:(currentmodule)|auto(?:class|function|exception)):: ([\w.]+)", flags=re.MULTILINE)
TABLE = re.compile(r"^\|.*\|\n(?:^\|.*\|\n)*", flags=re.MULTILINE)
_ROOMS = (getattr(residualplanner, name) for name in residualplanner.__all__)
#: The package and its rooms, and how a user writes them.
MODULES = {room.__name__: f"{room.__name__.rpartition('.')[2]}." for room in _ROOMS if isinstance(room, ModuleType)}
MODULES |= {"residualplanner": "", "residualplanner.fits.rap": "fits.rap."}


def names_of_page(text: str) -> list[tuple[str, str]]:
    r"""The names of the package and of its rooms that a page documents, each after its module.

    Example:
        >>> names_of_page("```{eval-rst}\n.. currentmodule:: residualplanner\n\n.. autoclass:: Plan()\n```\n")
        [('residualplanner', 'Plan')]
    """
    found, module = [], ""
    for is_module, name in DIRECTIVE.findall(text):
        if is_module:
            module = name
        elif module in MODULES:
            found.append((module, name))
    return found


def line_of(module: str, name: str) -> str:
    """The line of a public name: a link, and the first line of its docstring up to a semicolon or a full stop.

    Example:
        >>> line_of("residualplanner", "Domain")
        '- {py:obj}`Domain <residualplanner.Domain>` – The attributes of a table, in order.'
    """
    summary = (inspect.getdoc(getattr(import_module(module), name)) or "").splitlines()[0]
    plain = re.split(r"; |\. |\.$", summary)[0].replace("``", "`") + "."
    return f"- {{py:obj}}`{MODULES[module]}{name} <{module}.{name}>` – {plain}"


def list_names(app: "Sphinx", page: str, source: list[str]) -> None:
    """Put the list in the place of the table of pages, which remains the navigation."""
    if page != INDEX:
        return
    folder = Path(app.srcdir, INDEX).parent
    pages = [(folder / f"{name}.md").read_text(encoding="utf-8") for _, name in ROW.findall(source[0])]
    lines = "\n".join(line_of(*name) for text in pages for name in names_of_page(text))
    source[0] = TABLE.sub(lambda _: lines + "\n", source[0], count=1)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", list_names, priority=600)  # after the navigation was made of the table
    return {"parallel_read_safe": True, "parallel_write_safe": True}
