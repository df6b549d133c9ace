"""The levels of a hierarchy: groups of values, each inside one group of the level above."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from residualplanner.ground.checks import value_text
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.words import names_text
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.labels import Label, label_text, plain_label
from residualplanner.method.queries.rows import ENTRY_LIMIT, is_text
from residualplanner.method.queries.runs import span_texts

#: A level as users write it: names of groups and their members, or the number of values in a band.
GivenLevel = Mapping[str, Iterable[Label]] | int
#: The same, immutable: pairs of a name and members.
NamedLevel = tuple[tuple[str, tuple[Label, ...]], ...]
Level = NamedLevel | int
_Codes = NDArray[np.int32]
#: One row of a hierarchy: its label, and the codes of the values that are summed, ascending, (m,).
HierarchyRow = tuple[str, _Codes]


def checked_levels(levels: Sequence[GivenLevel]) -> tuple[Level, ...]:
    """The levels as immutable values, checked as far as that goes without an attribute."""
    if isinstance(levels, str | Mapping) or not isinstance(levels, Sequence):
        raise WorkloadError(f"levels must be a list from coarse to fine, as in [level], got {value_text(levels)}")
    return tuple(_checked_level(f"level {number} of the hierarchy", level) for number, level in enumerate(levels, 1))


def named_levels(levels: Sequence[Level], attribute: Attribute) -> tuple[NamedLevel, ...]:
    """The levels with bands written out as groups of the attribute's values."""
    if (len(levels) + 2) * attribute.size > ENTRY_LIMIT:
        raise WorkloadError(f"too large: {len(levels)} levels of {attribute.size:,} values; at most {ENTRY_LIMIT:,}")
    # Where a label of its own makes all labels strings, members are such, too.
    shown = label_text if attribute.own_labels else lambda label: label
    return tuple(
        _bands(level, attribute)
        if isinstance(level, int)
        else tuple((name, tuple(map(shown, members))) for name, members in level)
        for level in levels
    )


def rows_of_levels(
    levels: Sequence[Level], values: Sequence[Label], *, total: str | None, leaves: bool
) -> tuple[HierarchyRow, ...]:
    """The rows of a hierarchy: the total, where it has a label, the groups from coarse to fine, the values (n,)."""
    grouped: list[list[HierarchyRow]] = []
    code_of = {_key(value): code for code, value in enumerate(values)}
    for number, level in reversed(list(enumerate(levels, 1))):
        assert not isinstance(level, int)
        finer = grouped[0] if grouped else []
        grouped.insert(0, _groups(level, finer, code_of, values, where=f"level {number}"))
        _require_nested(grouped[0], finer, len(values))
    everything = np.arange(len(values), dtype=np.int32)
    first = [] if total is None else [(total, everything)]
    last = [(str(value), everything[code : code + 1]) for code, value in enumerate(values)] if leaves else []
    found: dict[str, _Codes] = {}
    for label, codes in [*first, *(row for level in grouped for row in level), *last]:  # each row once
        if not np.array_equal(found.setdefault(label, codes), codes):
            raise WorkloadError(f"two different rows are called {label!r}; give the group another name")
    return tuple(found.items())


def _checked_level(where: str, level: GivenLevel) -> Level:
    if not isinstance(level, Mapping):
        width = plain_label(level)
        if isinstance(width, str | bool | None) or width < 1:
            raise WorkloadError(
                f"{where} must be a mapping from names to members or an integer, got {value_text(level)}"
            )
        return width
    if not level:
        raise WorkloadError(f"{where} has no groups; leave it out")
    groups = []
    for name, members in level.items():
        is_list = isinstance(members, Iterable) and not isinstance(members, str | bytes | Mapping)
        plain = tuple(map(plain_label, members if is_list else ()))
        if not is_text(name) or not plain or None in plain:
            raise WorkloadError(f"{where}: {reprlib.repr(name)} needs a list of members, got {reprlib.repr(members)}")
        groups.append((str(name), tuple(label for label in plain if label is not None)))
    return tuple(groups)


def _bands(width: int, attribute: Attribute) -> NamedLevel:
    """Bands of ``width`` consecutive values, with the labels of ranges; a label that no value has is a band itself."""
    values, count = attribute.value_labels, len(attribute.values)
    spans = [(first, min(first + width, count) - 1) for first in range(0, count, width)]
    spans += [(own, own) for own in range(count, attribute.size)]
    names = span_texts(attribute, spans)
    return tuple((name, values[first : last + 1]) for name, (first, last) in zip(names, spans, strict=True))


def _groups(
    level: NamedLevel,
    finer: Sequence[HierarchyRow],
    code_of: Mapping[tuple[bool, Label], int],
    values: Sequence[Label],
    *,
    where: str,
) -> list[HierarchyRow]:
    group_codes = dict(finer)
    group_of = np.full(len(values), -1)
    rows: list[HierarchyRow] = []
    for number, (name, members) in enumerate(level):
        codes = np.concatenate([_codes_of(member, group_codes, code_of, name) for member in members])
        again = codes[(group_of[codes] >= 0) | (np.bincount(codes)[codes] > 1)]
        if len(again):
            other = group_of[again[0]]
            where_twice = f"twice in {name!r}" if other < 0 else f"in {level[other][0]!r} and again in {name!r}"
            raise WorkloadError(f"{where}: the value {values[again[0]]!r} is {where_twice}; write it once")
        group_of[codes] = number
        rows.append((name, np.sort(codes)))
    absent = [values[code] for code in np.flatnonzero(group_of < 0).tolist()]
    if absent:
        raise WorkloadError(f"{where}: the {names_text('value', absent, 'is', 'are')} in no group; add each to one")
    return rows


def _codes_of(
    member: Label, group_codes: Mapping[str, _Codes], code_of: Mapping[tuple[bool, Label], int], name: str
) -> _Codes:
    if isinstance(member, str) and member in group_codes:
        return group_codes[member]
    if _key(member) not in code_of:
        also = " nor a group of the next level" if group_codes else ""
        raise WorkloadError(f"{member!r}, a member of {name!r}, is not a value of the attribute{also}")
    return np.array([code_of[_key(member)]], dtype=np.int32)


def _key(value: Label) -> tuple[bool, Label]:
    """A value to look up; True is not 1."""
    return isinstance(value, bool), value


def _require_nested(coarser: Sequence[HierarchyRow], finer: Sequence[HierarchyRow], size: int) -> None:
    above = np.empty(size, dtype=np.int64)
    for number, (_, codes) in enumerate(coarser):
        above[codes] = number
    for label, codes in finer:
        around = above[codes]
        if (around != around[0]).any():
            first, second = (coarser[number][0] for number in np.unique(around)[:2])
            raise WorkloadError(
                f"the group {label!r} lies partly in {first!r} and partly in {second!r}; divide it, or ask for the "
                "levels in two hierarchies"
            )
