"""HTML pages as trees, for tests of reports."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

#: Elements that have no end tag.
VOID = {"meta", "input", "link", "br", "img", "hr"}


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict
    children: list = field(default_factory=list)

    @property
    def text(self):
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag, **attributes):
        found = []
        for child in self.children:
            if isinstance(child, Element):
                named = tag in (child.tag, "*")
                if named and all(child.attributes.get(name) == value for name, value in attributes.items()):
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def one(self, tag, **attributes):
        (found,) = self.all(tag, **attributes)
        return found


class Reader(HTMLParser):
    """Reads HTML in which every element is closed where it should be."""

    def __init__(self):
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs))
        assert len(element.attributes) == len(attrs), f"an attribute twice in {tag}"
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        self.open[-1].children.append(data)


def read_page(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert reader.open == [reader.root], "an element is not closed"
    return reader.root
