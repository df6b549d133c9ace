r"""Formulas as MathML, written when the pages are built: no script, no network, and they print.

GitHub renders the same TeX with MathJax.  An equation with ``\tag{8}`` gets the anchor ``equation-8``, on the
mathematics page also a label that docstrings link to.
"""

import re
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

TAG = re.compile(r"\s*\\tag\{(\w+)\}")
SIZED = re.compile(r"\\(bigg|Bigg|big|Big)(?![a-zA-Z])\s*(\\[a-zA-Z]+|\\.|.)")
CLOSING = (")", "]", r"\}", r"\rangle", r"\rceil", r"\rfloor")
#: The bars of norms and sizes; a browser would stretch them to the height of the line.
BAR = re.compile(r'<mo(?: class="mathopen")?>([‖|])</mo>')
#: The page whose equations docstrings cite by their numbers alone.
CITED = "mathematics"


#: TeX that GitHub reads, and what docutils makes the same of.  An accent would take the index for its own, a fraction
#: a number of two digits for one argument, and many fonts have no glyph for the set difference.
SPELLINGS = (
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\setminus(?![a-zA-Z])"), r"\\;\\backslash\\;"),
    (re.compile(r"(\\(?:hat|tilde|bar)(?:\{[^{}]*\}| ?\\[a-zA-Z]+| ?[a-zA-Z])) ?(?=[_^])"), r"\1{}"),
    (re.compile(r"(\\[td]?frac) ?(\d)(?=\d)"), r"\1{\2}"),
    (re.compile(r"^(?=[_^])"), r"{}"),
)


def mathml(tex: str, *, as_block: bool) -> str:
    r"""Convert TeX as GitHub reads it to MathML.

    Example:
        >>> from xml.etree.ElementTree import fromstring
        >>> "".join("".join(fromstring(mathml(r"\hat v_A = 1, \dots, n", as_block=False)).itertext()).split())
        'vˆA=1,…,n'
    """
    plain = tex.strip()
    for spelled, meant in SPELLINGS:
        plain = spelled.sub(meant, plain)
    sided = SIZED.sub(lambda match: rf"\{match[1]}{'r' if match[2] in CLOSING else 'l'}{match[2]}", plain)
    formula = tex2mathml(sided, as_block=as_block).replace("<mo>'</mo>", "<mo>′</mo>")
    return BAR.sub(r'<mo stretchy="false">\1</mo>', formula)


def tag_of(node: nodes.math_block) -> str | None:
    """The equation's number or letter, None if it has no tag."""
    tag = TAG.search(node.astext())
    return tag[1] if tag else None


def visit_math(self: "HTML5Translator", node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_math_block(self: "HTML5Translator", node: nodes.math_block) -> None:
    """Write a formula of its own lines, with its number at the right."""
    tag = tag_of(node)
    formula = mathml(TAG.sub("", node.astext()), as_block=True)
    number = f'<a class="eqno" href="#equation-{tag}">({tag})</a>' if tag else ""
    self.body.append(
        f'<div class="math-row"><div tabindex="0">{formula}</div>{number}</div>\n'
    )  # the theme writes the anchor
    raise nodes.SkipNode


def name_equations(app: "Sphinx", document: nodes.document) -> None:
    """Give every tagged equation an anchor, and those of the mathematics page a label for the whole site."""
    page = app.env.current_document.docname
    for block in document.findall(nodes.math_block):
        tag = tag_of(block)
        if tag is None:
            continue
        block["ids"].append(f"equation-{tag}")
        if page == CITED:
            app.env.domains.standard_domain.anonlabels[f"equation-{tag}".lower()] = (page, f"equation-{tag}")


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.connect("doctree-read", name_equations)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
