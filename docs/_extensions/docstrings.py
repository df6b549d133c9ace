"""Docstrings as they are written here become pages.

Napoleon reads their sections Args, Returns, Raises, Attributes, Yields and Example.  What it does not know is rewritten
before: shapes after names ("matrix (m, n): ..."), and sections of one paragraph that begin with their name
("Guarantees: ...", "Cost: ...", "Source: eq. (8)").  Equations and pages of the manual become links.
"""

import re
from typing import TYPE_CHECKING, Any

from sphinx.domains.python import PyObject

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

PARAGRAPH = re.compile(r"(?:^|(?<=\.  ))(Guarantees|Cost|Source): ", flags=re.MULTILINE)
SHAPE = re.compile(r"^( +\w+) (\([^)]*\)): ", flags=re.MULTILINE)
CITATION = re.compile(r"\beqs?\.\s+(?:\(\d+\)(?:,\s+and\s+|,\s+|\s+and\s+|\s+to\s+)?)+")
EQUATION = re.compile(r"\((\d+)\)")
PAGE = re.compile(r"\bdocs/([\w/-]+)\.md\b")


def linked(text: str) -> str:
    """Link the equations of citations to the mathematics, and pages that are named to themselves.

    Example:
        >>> linked("Source: eqs. (8) and (11); paper Lemma 1.")
        'Source: eqs. :ref:`(8) <equation-8>` and :ref:`(11) <equation-11>`; paper Lemma 1.'
        >>> linked("Source: docs/exact-noise.md section 2.")
        'Source: :doc:`/exact-noise` section 2.'
    """
    text = CITATION.sub(lambda match: EQUATION.sub(r":ref:`(\1) <equation-\1>`", match[0]), text)
    return PAGE.sub(r":doc:`/\1`", text)


def rewrite(_app: "Sphinx", kind: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place."""
    text = SHAPE.sub(r"\1: ``\2``: ", linked("\n".join(lines)))
    lines[:] = PARAGRAPH.sub(r"\n\n**\1.** ", text).split("\n")
    if kind in ("attribute", "property"):
        lines[:0] = ["..", ""]  # an empty comment; else Napoleon takes what stands before a colon for a type


def find_by_name(app: "Sphinx", env: "BuildEnvironment", node: "pending_xref", content: "nodes.Element") -> Any:
    """Annotations name the module that defines a type, the pages its public name: link one to the other."""
    if node.get("refdomain") != "py":
        return None
    domain = env.domains.python_domain
    name = str(node["reftarget"]).split(".")[-1]
    members = f".{node['reftarget']}" if "." in node["reftarget"] else None  # `Plan.errors` from another room's page
    for full, entry in domain.objects.items():
        is_found = full.split(".")[-1] == name and entry.objtype in ("class", "exception", "function")
        if is_found or (members and full.endswith(members)):
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", full, node, content)
    if node["reftype"] == "obj" and name.islower() and "." not in node["reftarget"]:
        return content  # an argument or an attribute, which have no place of their own to link to
    return None


def setup(app: "Sphinx") -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", rewrite, priority=400)  # before Napoleon
    app.connect("missing-reference", find_by_name)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
