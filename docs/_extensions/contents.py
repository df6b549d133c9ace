"""The site's navigation is its index pages: what they link to, section by section, becomes the table of contents.

So they stay what they are on GitHub, pages with links, and nothing is listed twice.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

INDEXES = ("index", "api/index", "decisions/README")
SECTION = re.compile(r"^## (.+)$", flags=re.MULTILINE)
#: The first link of a row is the page that the row is about; its text is what the navigation calls the page,
#: unless it is a number.
ROW = re.compile(r"^\| \[([^\]]+)\]\((?!https?:)([^)#]+)\.md\)", flags=re.MULTILINE)


def entry(title: str, page: str) -> str:
    """The line of a page in a table of contents."""
    return f"{page}\n" if title.isdigit() else f"{title} <{page}>\n"


def toctrees(text: str) -> str:
    r"""One hidden table of contents for each section with rows about pages.

    Example:
        >>> print(toctrees("# Title\n\n## Start\n\n| [Quick start](quick-start.md) | first |\n"))
        ```{toctree}
        :hidden:
        :caption: Start
        <BLANKLINE>
        Quick start <quick-start>
        ```
        <BLANKLINE>
    """
    first, *parts = SECTION.split(text)
    groups = [("", first), *zip(parts[::2], parts[1::2], strict=True)]
    blocks = []
    for caption, body in groups:
        option = f":caption: {caption}\n" if caption else ""
        if pages := [entry(title, page) for title, page in ROW.findall(body)]:
            blocks.append("```{toctree}\n:hidden:\n" + option + "\n" + "".join(pages) + "```\n")
    return "\n".join(blocks)


def add_contents(_: "Sphinx", page: str, source: list[str]) -> None:
    """Append them to the text of an index page, before it is parsed."""
    if page in INDEXES:
        source[0] += "\n" + toctrees(source[0])


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", add_contents)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
