"""What the pages have in common: templates, where nothing that a user wrote is HTML, and one script that may run.

Reads: the files of this package.  Gives: HTML.  jinja2's home.
"""

import base64
import hashlib
import re
from importlib.resources import files
from typing import Any

from residualplanner.ground.words import number_text
from residualplanner.publish.pictures import inline_svg

#: What is to stand on one line: "0.5-zCDP", "rho = 0.5", but no long fraction; and the element that keeps it there.
_STATEMENT = re.compile(
    r"\b[\w.+/]{1,20}-(?:zCDP|GDP|DP)\b|\b(?:rho|mu|epsilon|delta|pcost) = [\w.+/-]{0,24}\w(?![\w.+/-]*\w)"
)
_SPAN = r'<span class="unbroken">\g<0></span>'
#: A fraction of long numbers, each of which is to stand on one line.
_FRACTION = re.compile(r"\b(\d{6,24}/)(\d{6,24})\b")
_SPANS = r'<span class="whole">\1</span><span class="whole">\2</span>'


def html_of(template: str, *, title: str, **values: Any) -> str:
    """A page from one of the templates; whatever is not `ready` is escaped.

    Args:
        template: the name of its file.
        title: of the page, which stands on top of each of its printed pages, too.
        values: the names in the template.
    """
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
        _FRACTION.sub(_SPANS, _STATEMENT.sub(_SPAN, str(escape(text))))
    )
    style, running = ready(source("page.css").strip()), ready(css_text(title))
    return environment.get_template(template).render(title=title, style=style, running=running, **values)


def ready(text: str) -> Any:
    """A text that is HTML already; it must hold nothing that a user wrote."""
    from markupsafe import Markup

    return Markup(text)


def source(name: str) -> str:
    """The content of a file of this package."""
    return files("residualplanner.publish.report").joinpath(name).read_text(encoding="utf-8")


def script_hash(script: str) -> str:
    """The hash by which a page's security policy allows this script, and no other, to run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")


def css_text(text: str) -> str:
    r"""A text as a string of CSS within a style element, which nothing in it ends.

    Example:
        >>> print(css_text('a "b" </style>'))
        "a \22 b\22  \3c \2f style\3e "
    """
    plain = "".join(letter if letter.isalnum() or letter == " " else f"\\{ord(letter):x} " for letter in text)
    return f'"{plain}"'
