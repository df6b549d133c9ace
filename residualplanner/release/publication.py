"""Who publishes tables, and what is said to readers about them."""

from dataclasses import dataclass

from residualplanner.ground.completion import hides
from residualplanner.method.domain.attribute import require_words, words_of


@hides("to_json")
@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """What is said to readers about all tables of a release together.  It changes no number; what is empty is left out.

    Attributes:
        title: of the publication.
        author: the people or the office that publish it.
        date: of publication, such as "2026-11-22".
        contact: where questions are answered, such as an address of e-mail.
        source: where the records are from.
        note: anything else.

    Raises:
        DomainError: one of them is not a string, not valid Unicode, or has more than 10,000 letters.

    Example:
        >>> Publication(title="Income in 2020", author="Office of Statistics").to_json()
        {'title': 'Income in 2020', 'author': 'Office of Statistics'}
    """

    title: str = ""
    author: str = ""
    date: str = ""
    contact: str = ""
    source: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        require_words(self, "a publication")

    def __bool__(self) -> bool:
        return self != Publication()

    def to_json(self) -> dict[str, str]:
        """What is not empty, by name."""
        return words_of(self)
