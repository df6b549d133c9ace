"""A statistical classification: levels of items from coarse to fine, such as states and their counties."""

from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, cast

from residualplanner.ground.checks import has_shape, is_unicode
from residualplanner.ground.errors import WorkloadError

#: The level of the row for all values.
TOTAL_LEVEL = "(total)"
#: In JSON: names of levels, the code, name and parent of each item of each level, and files.
_SHAPE = {
    "levels": [str],
    "items": [[lambda item: has_shape(item, [str]) and len(item) == 3]],
    "files": [{"file": str, "sha256": str}],
}


@dataclass(frozen=True, slots=True)
class TableOrigin:
    """Where a public table is from.

    Attributes:
        file: the name of the file, without its folder.
        sha256: of its bytes, in hexadecimal digits.
    """

    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a level.

    Attributes:
        code: unique in its level.
        name: what it is called; the code where it has no name.
        parent: the code of the item of the level above that it lies in; empty on the first level.
    """

    code: str
    name: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class RowItem:
    """What a row of a hierarchy is about, for the columns of a table."""

    level: str
    code: str
    name: str
    parent: str
    full_names: tuple[str, ...]


@dataclass(frozen=True)
class Classification:
    """Levels of items, each item inside one item of the level above; the items of the last level are the leaves.

    Attributes:
        levels: the names of the levels, from coarse to fine, (k,).
        items: of each level, in their order, (k,).
        origins: the files that it was read from; they change no number.

    Raises:
        WorkloadError: a name or code is no text or there twice, a parent is missing, or an item has no children.

    Example:
        >>> states = [Item("01", "Alabama"), Item("02", "Alaska")]
        >>> counties = [Item("01001", "Autauga County", "01"), Item("02013", "Aleutians East Borough", "02")]
        >>> found = Classification(("state", "county"), (tuple(states), tuple(counties)))
        >>> found.labels
        (('01', '02'), ('01001', '02013'))
        >>> found.groups()
        [{'01': ('01001',), '02': ('02013',)}]
    """

    levels: tuple[str, ...]
    items: tuple[tuple[Item, ...], ...]
    origins: tuple[TableOrigin, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.levels or len(self.items) != len(self.levels) or len(set(self.levels)) < len(self.levels):
            raise WorkloadError("a classification must have levels of different names, each with its items")
        texts = [*self.levels, *(text for each in self.items for item in each for text in (item.code, item.name))]
        if not all(isinstance(text, str) and text and is_unicode(text) for text in texts):
            raise WorkloadError("names of levels, codes and names of items must be strings that are not empty")
        for level, items in zip(self.levels, self.items, strict=True):
            if not items or len({item.code for item in items}) < len(items):
                raise WorkloadError(f"the level {level!r} must have items, each with a code of its own")
        if any(item.parent for item in self.items[0]):
            raise WorkloadError("the items of the first level must have no parent; add the level above")
        for (level, coarser), (finer, items) in pairwise(zip(self.levels, self.items, strict=True)):
            codes, parents = {item.code for item in coarser}, {item.parent for item in items}
            for item in items:
                if item.parent not in codes:
                    raise WorkloadError(
                        f"{finer} {item.code!r} has the parent {item.parent!r}, which is no {level}; add it"
                    )
            if codes - parents:
                raise WorkloadError(f"{level} {min(codes - parents)!r} has no items of the level {finer!r}; add one")

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The labels of the rows of each level: codes; with the level's name where a finer level shares some."""
        labels: list[tuple[str, ...]] = []
        used: set[str] = set()
        for level, items in reversed(list(zip(self.levels, self.items, strict=True))):
            codes = tuple(item.code for item in items)
            own = codes if used.isdisjoint(codes) else tuple(f"{level} {code}" for code in codes)
            if not used.isdisjoint(own):
                raise WorkloadError(f"the level {level!r} has codes that cannot be told from those of other levels")
            used.update(own)
            labels.insert(0, own)
        return tuple(labels)

    def groups(self) -> list[dict[str, tuple[str, ...]]]:
        """The levels of a hierarchy: for each but the last one the labels of its items and of their children."""
        found = []
        for level, items in enumerate(self.items[:-1]):
            members: dict[str, list[str]] = {item.code: [] for item in items}
            for label, item in zip(self.labels[level + 1], self.items[level + 1], strict=True):
                members[item.parent].append(label)
            pairs = zip(self.labels[level], members.values(), strict=True)
            found.append({label: tuple(children) for label, children in pairs})
        return found

    def leaves_within(self, level: str) -> dict[str, str]:
        """For the code of each leaf that of the item of a coarser level that it lies in."""
        if level not in self.levels[:-1]:
            raise WorkloadError(f"there is no level {level!r} above the leaves; the levels are {list(self.levels)}")
        found = {item.code: item.code for item in self.items[-1]}
        for items in reversed(self.items[self.levels.index(level) + 1 :]):
            parents = {item.code: item.parent for item in items}
            found = {leaf: parents[code] for leaf, code in found.items()}
        return found

    def row_items(self, total: str | None) -> dict[str, RowItem]:
        """What the rows of a hierarchy are about, by their labels; ``total`` is that of the row for all, if any."""
        found = {} if total is None else {total: RowItem(TOTAL_LEVEL, "", total, "", (total,))}
        above: dict[str, str] = {}
        for level, labels, items in zip(self.levels, self.labels, self.items, strict=True):
            for label, item in zip(labels, items, strict=True):
                parent = above.get(item.parent, total or "")
                within = found[parent].full_names if item.parent else ()
                longer = tuple(f"{item.name}, {name}" for name in within)
                found[label] = RowItem(level, item.code, item.name, parent, (item.name, *longer))
            above = {item.code: label for label, item in zip(labels, items, strict=True)}
        return found

    def to_json(self) -> dict[str, Any]:
        """The classification as lists, mappings and strings; `from_json` is the inverse."""
        items = [[[item.code, item.name, item.parent] for item in each] for each in self.items]
        return {"levels": list(self.levels), "items": items, "files": [asdict(origin) for origin in self.origins]}

    @classmethod
    def from_json(cls, value: object) -> "Classification":
        """Undo `to_json`; WorkloadError where the value is not one of its results."""
        if not has_shape(value, _SHAPE):
            raise WorkloadError("a classification must have levels, items as code, name and parent, and files")
        fields = cast("dict[str, Any]", value)
        items, origins = fields["items"], tuple(TableOrigin(**each) for each in fields["files"])
        return cls(tuple(fields["levels"]), tuple(tuple(Item(*item) for item in each) for each in items), origins)
