"""What is said about an attribute, for people: its title, unit, source and notes."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from residualplanner.ground.checks import is_unicode, value_text
from residualplanner.ground.completion import hides
from residualplanner.ground.errors import DomainError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

#: The most letters of each.
_LONGEST = 10_000


@hides("to_json")
@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """Words about an attribute for readers of tables.  It changes no number; what is empty is left out.

    Attributes:
        title: what the attribute is called, such as "Household income".
        unit: of its values, such as "US dollars a year".
        source: where the definition is from, such as "American Community Survey 2016".
        note: anything else, such as "before taxes".

    Raises:
        DomainError: one of them is not a string, not valid Unicode, or has more than 10,000 letters.

    Example:
        >>> About(title="Household income", unit="US dollars").to_json()
        {'title': 'Household income', 'unit': 'US dollars'}
    """

    title: str = ""
    unit: str = ""
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        require_words(self, "an attribute")

    def __bool__(self) -> bool:
        return self != About()

    def __repr__(self) -> str:
        return f"About({', '.join(f'{word}={text!r}' for word, text in self.to_json().items())})"

    def to_json(self) -> dict[str, str]:
        """What is not empty, by name."""
        return words_of(self)


def require_words(noun: "DataclassInstance", of: str) -> None:
    """Raise DomainError unless every field of a noun, ``of`` what is described, is a string that may be published."""
    for word in (each.name for each in fields(noun)):
        text = getattr(noun, word)
        if not isinstance(text, str):
            raise DomainError(f"the {word} of {of} must be a string, got {value_text(text)}")
        if not is_unicode(text) or len(text) > _LONGEST:
            raise DomainError(f"the {word} of {of} must be valid Unicode of at most {_LONGEST:,} letters")


def words_of(noun: "DataclassInstance") -> dict[str, str]:
    """The fields of a noun that are not empty, by name."""
    every = {each.name: getattr(noun, each.name) for each in fields(noun)}
    return {word: text for word, text in every.items() if text}
