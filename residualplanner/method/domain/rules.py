"""The rules for entries that are none of the values: what users may write for them."""

import difflib
import reprlib

from residualplanner.ground.checks import is_unicode
from residualplanner.method.domain.families import UNKNOWN, Codes, Values
from residualplanner.method.domain.labels import Into, Label, Rule, attribute_error, label_text, plain_label

#: The similarity of a label and a value, by difflib, from which on the label counts as a misspelled value; of how many
#: values, and of how many letters, at most they are compared.
_SIMILAR, _COMPARED, _LETTERS = 0.85, 1_000, 100


def checked_rule(name: str, values: Values, word: str, rule: Rule | Label) -> Rule:
    """The rule of an attribute for unknown or missing entries.

    Args:
        name: of the attribute.
        values: of the attribute.
        word: "unknown" or "missing".
        rule: "error", "drop", a label, or Into(label), which may look like a misspelled value.

    Raises:
        DomainError: it is none of these, or a label that cannot be told from a value as tables show it; or, unless it
            is written as Into(label), one that looks like a misspelled value.
    """
    if isinstance(rule, str) and rule in ("error", "drop"):
        return "error" if rule == "error" else "drop"
    label = rule.label if isinstance(rule, Into) else rule
    plain = plain_label(label)
    code = values.code_of_label(label if plain is None else plain)
    if code is not None:
        return Into(code if isinstance(values, Codes) else values.labels[code])
    is_misspelled_word = isinstance(rule, str) and rule.casefold() in ("error", "drop")
    if not isinstance(plain, str) or not plain.strip() or not is_unicode(plain) or is_misspelled_word:
        raise attribute_error(
            name,
            f"has {word}={reprlib.repr(label)}; write 'error', 'drop' or one of its values {list_text(values)}, or "
            "another string as a label of its own",
        )
    meant = _shown_as(values, plain) or (None if isinstance(rule, Into) else _misspelled(values, plain))
    if meant is not None:
        raise attribute_error(
            name,
            f"has {word}={reprlib.repr(label)}, which is hard to tell from its value {meant!r}; write the value "
            "as it was declared, or another label, or where this one is meant Into(label), in a spec { into = label }",
        )
    return Into(plain)


def list_text(values: Values) -> str:
    """The values, at most six of them."""
    return f"0 .. {len(values) - 1}" if isinstance(values, Codes) else reprlib.repr(list(values.labels))


def _shown_as(values: Values, label: str) -> str | None:
    """The label, if tables would show a value under the same."""
    if isinstance(values, Codes):  # of which there may be too many to list
        return label if values.code_of(label) != UNKNOWN else None
    return label if label in map(label_text, values.labels) else None


def _misspelled(values: Values, label: str) -> str | None:
    """The value that a label may be a misspelling of, if there is one."""
    if len(values) > _COMPARED or len(label) > _LETTERS:
        return None
    texts = [text for text in map(label_text, values.labels) if len(text) <= _LETTERS]
    folded = {text.casefold().strip(): text for text in texts}
    close = difflib.get_close_matches(label.casefold().strip(), folded, n=1, cutoff=_SIMILAR)
    return folded[close[0]] if close else None
