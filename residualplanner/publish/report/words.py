"""What the pages have in common: numbers for people who decide, and templates in which no user's words are HTML.

Numbers have few digits, and none that says more than is true.  jinja2's home.
"""

import base64
import hashlib
import math
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from residualplanner.ground.checks import FloatArray
from residualplanner.ground.words import number_text, table_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.publish.pictures.drawing import inline_svg

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

#: What is to stand on one line: "0.5-zCDP", "rho = 0.5", but no long fraction; and the element that keeps it there.
_STATEMENT = re.compile(
    r"\b[\w.+/]{1,20}-(?:zCDP|GDP|DP)\b|\b(?:rho|mu|epsilon|delta|pcost) = [\w.+/-]{0,24}\w(?![\w.+/-]*\w)"
)
#: An interval of numbers, as labels of bins are, or a few words in parentheses: neither is broken within.
_BRACKET = re.compile(r"[\[(][^\s\[\]()]{1,20}, [^\s\[\]()]{1,20}[\])]|\([^()\s]{1,20}(?: [^()\s]{1,20})?\)")
_SPAN = r'<span class="unbroken">\g<0></span>'
#: A fraction of long numbers, each of which is to stand on one line.
_FRACTION = re.compile(r"\b(\d{6,24}/)(\d{6,24})\b")
_SPANS = r'<span class="whole">\1</span><span class="whole">\2</span>'


def column_rounded_up(numbers: Sequence[float]) -> list[str]:
    """The numbers of a column, all with the same decimals, none below itself."""
    decimals = decimals_for(np.array(numbers, dtype=np.float64)) + 1
    pairs = ((f"{number:.{decimals}f}", number) for number in numbers)
    return [
        text if float(text) >= number else f"{float(text) + 10.0**-decimals:.{decimals}f}" for text, number in pairs
    ]


def decimals_for(numbers: FloatArray) -> int:
    """How many decimals show three digits of a typical number, (n,): a column has one number of decimals."""
    typical = typical_of(numbers)
    return max(0, min(8, 2 - math.floor(math.log10(typical)))) if typical else 0


def typical_of(numbers: FloatArray) -> float:
    """The number whose size decides on the decimals of all, (n,); 0 where all are 0."""
    positive = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    if not positive.size:
        return 0.0
    # what is nearly 0 may be shown as 0
    return float(np.quantile(positive[positive >= np.median(positive) / 1000], 0.05))


def decimals_of_errors(errors: FloatArray, *, fewest: int = 1) -> int:
    """How many decimals show two digits of the least error, (n,), that is not 0; at most 15."""
    positive = errors[np.isfinite(errors) & (errors > 0)]
    return min(15, max(fewest, 1 - math.floor(math.log10(float(positive.min()))))) if positive.size else fewest


def apart(low: FloatArray, high: FloatArray, decimals: int) -> tuple[FloatArray, FloatArray]:
    """The ends of intervals; where so many decimals do not tell two ends apart, rounded outward."""
    unit = 10.0**decimals
    pairs = zip(low, high, strict=True)
    is_hidden = (low < high) & np.array([round(a, decimals) == round(b, decimals) for a, b in pairs])
    return np.where(is_hidden, np.floor(low * unit) / unit, low), np.where(is_hidden, np.ceil(high * unit) / unit, high)


def ratio_text(ratio: float) -> str:
    """How many times as large something is, with three significant digits."""
    return number_text(float(f"{ratio:.3g}"))


def level_text(level: float) -> str:
    """A confidence level in percent, such as "99.9%"."""
    return f"{100 * level:.6g}%"


def table_names(errors: "pd.DataFrame") -> list[str]:
    """The names of the queries of an error table."""
    return [table_text(query, str(kinds)) for query, kinds in zip(errors["query"], errors["kinds"], strict=True)]


def title_of(attribute: Attribute) -> str:
    """What an attribute is called for people: its title, or else its name."""
    return attribute.about.title or attribute.name


def html_of(template: str, *, title: str, **values: Any) -> str:
    """A page from a template, its title on each printed page; whatever the template does not call safe is escaped."""
    # a string of CSS within a style element, which nothing in it ends
    plain = "".join(letter if letter.isalnum() or letter == " " else f"\\{ord(letter):x} " for letter in title)
    style, running = source("page.css").strip(), f'"{plain}"'
    return _environment().get_template(template).render(title=title, style=style, running=running, **values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape

    environment = Environment(
        loader=PackageLoader("residualplanner.publish.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number_text
    environment.filters["picture"] = lambda figure: Markup(
        inline_svg(figure.svg, figure.name, title=figure.title, description=figure.caption)
    )
    environment.filters["unbroken"] = lambda text: Markup(
        _BRACKET.sub(_SPAN, _FRACTION.sub(_SPANS, _STATEMENT.sub(_SPAN, str(escape(text)))))
    )
    return environment


def source(name: str) -> str:
    """The content of a file of this package."""
    return files("residualplanner.publish.report").joinpath(name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """The hash by which a page's security policy allows this script, and no other, to run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
