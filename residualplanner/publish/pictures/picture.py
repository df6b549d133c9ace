"""A picture that a notebook shows and a file holds.

Reads: a function that draws a matplotlib figure.  Gives: Picture.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from residualplanner.ground.atomic import PathLike, write_atomically
from residualplanner.ground.errors import WorkloadError
from residualplanner.publish.pictures.drawing import drawing, svg_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The kinds of file that a picture is written to, by the end of their names.
ENDINGS = (".svg", ".png", ".pdf")


@dataclass(frozen=True, eq=False, slots=True)
class Picture:
    """A picture: notebooks show it as it is, `save` writes it, `figure` gives it to matplotlib.

    Attributes:
        title: what it shows, in a line.
        draw: makes the figure, in this library's style.
    """

    title: str
    draw: "Callable[[], Figure]"

    def __repr__(self) -> str:
        return f"<Picture: {self.title}; notebooks show it, .save(path) writes it>"

    def _repr_svg_(self) -> str:
        return svg_of(self.draw)

    def figure(self) -> "Figure":
        """A new matplotlib figure, to be changed at will.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        with drawing():
            return self.draw()

    def save(self, path: PathLike) -> None:
        """Write the picture to a file, whole or not at all; the same picture gives the same SVG, byte for byte.

        Args:
            path: of the file; its name ends in .svg, .png or .pdf.

        Raises:
            WorkloadError: the name ends otherwise.
            MissingExtraError: matplotlib is not installed.
            OSError: the file cannot be written.
        """
        ending = Path(path).suffix.lower()
        if ending not in ENDINGS:
            raise WorkloadError(f"a picture's file must end in one of {list(ENDINGS)}, got {ending!r}")
        if ending == ".svg":
            with write_atomically(path) as file:
                file.write(svg_of(self.draw).encode("utf-8"))
            return
        with drawing():
            figure = self.draw()
            with write_atomically(path) as file:
                figure.savefig(file, format=ending[1:], dpi=200)
