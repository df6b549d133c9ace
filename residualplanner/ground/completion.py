"""What completion shows of an object: the names that the manual has, not those that modules of the package share."""

from collections.abc import Callable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)


def hides(*names: str) -> Callable[[_Class], _Class]:
    """A decorator of a class: ``dir`` of its objects, and of those of its subclasses, leaves out these names.

    Each string is a name, or several with spaces between them.

    They can be used as before.  They are for other modules of the package, and stand on no page of the manual.
    """

    def hiding(cls: _Class) -> _Class:
        setattr(cls, "_hidden", frozenset(" ".join(names).split()))  # noqa: B010 - as no type checker knows it
        setattr(cls, "__dir__", _shown)  # noqa: B010
        return cls

    return hiding


def hidden_names(cls: type) -> frozenset[str]:
    """The names that a class and those that it is made from hide."""
    return frozenset[str]().union(*(vars(each).get("_hidden", ()) for each in cls.__mro__))


def _shown(self: Any) -> list[str]:
    return sorted(set(object.__dir__(self)) - hidden_names(type(self)))
