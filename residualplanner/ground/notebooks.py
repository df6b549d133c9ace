"""What consoles and notebooks show of a noun: tables in HTML, with what users wrote escaped, and the names to complete.

Completion shows the names that the manual has, not those that modules of the package share.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import pandas as pd

#: How many rows of a long table consoles and notebooks show.
ROWS = 20
_Class = TypeVar("_Class", bound=type)


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """A table with a caption, and perhaps a note on what it leaves out."""
    from html import escape  # here, since all entities of HTML come with it

    headings = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in head)
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    after = f"<p>{escape(note)}</p>" if note else ""
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{headings}</tr></thead><tbody>{body}</tbody></table>"
        f"{after}"
    )


def frame_html(frame: "pd.DataFrame") -> str:
    """The first rows of a data frame, without their numbers."""
    html: str = frame.to_html(max_rows=ROWS, index=False)
    return html


def caption_of(noun: object) -> str:
    """What a noun says of itself, without the brackets around it."""
    return repr(noun).removeprefix("<").removesuffix(">")


def rest_note(left: int, remedy: str) -> str:
    """The note on so many rows that a table leaves out, and where all are; empty where it leaves out none."""
    return f"and {left:,} more; {remedy}" if left > 0 else ""


def hides(*names: str) -> Callable[[_Class], _Class]:
    """A decorator of a class: ``dir`` of its objects, and of those of its subclasses, leaves out these names.

    Each string is a name, or several with spaces between them.

    They can be used as before.  They are for other modules of the package, and stand on no page of the manual.
    """

    def hiding(cls: _Class) -> _Class:
        setattr(cls, "_hidden", frozenset(" ".join(names).split()))  # noqa: B010 - as no type checker knows it
        setattr(cls, "__dir__", _shown)  # noqa: B010
        return cls

    return hiding


def hidden_names(cls: type) -> frozenset[str]:
    """The names that a class and those that it is made from hide."""
    return frozenset[str]().union(*(vars(each).get("_hidden", ()) for each in cls.__mro__))


def _shown(self: Any) -> list[str]:
    return sorted(set(object.__dir__(self)) - hidden_names(type(self)))
