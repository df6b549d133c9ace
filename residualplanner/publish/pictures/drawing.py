"""Pictures that a notebook shows and a file holds, and SVG: the same bytes for the same figure, its text as text.

matplotlib's home.
"""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from residualplanner.ground.atomic import PathLike, write_atomically
from residualplanner.ground.errors import WorkloadError, needing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Ink, quiet lines, and the colors of Okabe and Ito, which people with any color vision can tell apart.
INK, QUIET, FAINT = "#1b1f24", "#6a737d", "#d5dae0"
BLUE, ORANGE, GREEN, PURPLE, RED, SKY = "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"
#: Sequences of one hue each, from pale to deep, of ColorBrewer by C. Brewer: lightness alone tells them apart.
BLUES = ("#eff3ff", "#bdd7e7", "#6baed6", "#3182bd", "#08519c")
ORANGES = ("#feedde", "#fdbe85", "#fd8d3c", "#e6550d", "#a63603")

#: The names of these colors in a page, which can so have darker and lighter ones.
_ROLES = {
    **{INK: "--ink", QUIET: "--quiet", FAINT: "--faint", "#ffffff": "--paper"},
    **{BLUE: "--blue", ORANGE: "--orange", GREEN: "--green", PURPLE: "--purple", RED: "--red", SKY: "--sky"},
    **{color: f"--blue-{number}" for number, color in enumerate(BLUES, 1)},
    **{color: f"--orange-{number}" for number, color in enumerate(ORANGES, 1)},
}
_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    **dict.fromkeys(("font.size", "axes.titlesize"), 9),
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), QUIET),
    "grid.color": FAINT,
    **dict.fromkeys(("axes.linewidth", "grid.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.minor.size", "ytick.minor.size"), 0),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    **dict.fromkeys(("text.parse_math", "axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "svg.fonttype": "none",
    "svg.hashsalt": "residualplanner",
    "figure.facecolor": "#ffffff",
    "axes.facecolor": "none",
}
#: The kinds of file that a picture is written to, by the end of their names.
_ENDINGS = (".svg", ".png", ".pdf")
_NO_METADATA = {"Date": None, "Creator": None, "Format": None, "Type": None}
_COLOR = re.compile("|".join(_ROLES))
_TAG = re.compile("<[^<>]*>")  # matplotlib escapes both signs in texts and values
_ID = re.compile(r'(\bid="|url\(#|href="#)')
_NOT_INLINE = re.compile(r"<metadata>.*?</metadata>\s*|<style.*?</style>\s*", re.DOTALL)


def require_package(name: str) -> None:
    """Raise MissingExtraError if a package that reports need is not installed."""
    with needing(f"a report needs {name}, which is not installed", "report"):
        import_module(name)


@contextmanager
def drawing() -> Iterator[None]:
    """Draw in this library's style; MissingExtraError without matplotlib."""
    require_package("matplotlib")
    import matplotlib as mpl

    # A letter that the font here lacks is drawn by the reader's: the SVG holds text.
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        warnings.filterwarnings("ignore", message=r"Matplotlib currently does not support")
        mpl.rcdefaults()  # whatever the user's own settings are
        parameters: Any = mpl.rcParams
        parameters.update(_STYLE)
        yield


def svg_of(draw: "Callable[[], Figure]") -> str:
    """The SVG file of a figure; equal figures give equal files.  MissingExtraError without matplotlib."""
    stream = io.StringIO()
    with drawing():
        draw().savefig(stream, format="svg", metadata=_NO_METADATA)
    return stream.getvalue()


def inline_svg(svg: str, name: str, *, title: str, description: str) -> str:
    """An SVG file of `svg_of` as an element of a page: named and described, in the page's colors, its ids its own."""
    from html import escape  # here, since all entities of HTML come with it

    def adapted(tag: re.Match[str]) -> str:
        return _COLOR.sub(lambda color: f"var({_ROLES[color[0]]})", _ID.sub(rf"\g<1>{name}-", tag[0]))

    element = _TAG.sub(adapted, _NOT_INLINE.sub("", svg[svg.index("<svg") :]))
    head, body = element.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    ids = f"{name}-title {name}-desc"
    titles = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>'
    return f'{head} role="img" aria-labelledby="{ids}">{titles}{body}'


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
        if ending not in _ENDINGS:
            raise WorkloadError(f"a picture's file must end in one of {list(_ENDINGS)}, got {ending!r}")
        how: dict[str, Any] = {"metadata": _NO_METADATA} if ending == ".svg" else {"dpi": 200}
        with drawing():
            figure = self.draw()
            with write_atomically(path) as file:
                figure.savefig(file, format=ending[1:], **how)
