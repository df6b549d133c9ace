"""What consoles and notebooks show of a noun: tables in HTML, with what users wrote escaped."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

#: How many rows of a long table consoles and notebooks show.
ROWS = 20


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """A table with a caption, and perhaps a note on what it leaves out."""
    from html import escape  # here, since all entities of HTML come with it

    headings = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in head)
    cells = ("".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    after = f"<p>{escape(note)}</p>" if note else ""
    whole = f"<caption>{escape(title)}</caption><thead><tr>{headings}</tr></thead><tbody>{body}</tbody>"
    return f"<table>{whole}</table>{after}"


def frame_html(frame: "pd.DataFrame") -> str:
    """The first rows of a data frame, without their numbers."""
    return frame.to_html(max_rows=ROWS, index=False)


def caption_of(noun: object) -> str:
    """What a noun says of itself, without the brackets around it."""
    return repr(noun).removeprefix("<").removesuffix(">")


def rest_note(left: int, remedy: str) -> str:
    """The note on so many rows that a table leaves out, and where all are; empty where it leaves out none."""
    return f"and {left:,} more; {remedy}" if left > 0 else ""
