"""From kinds of query as users write them to kinds that have a matrix for an attribute."""

from typing import Protocol, runtime_checkable

from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind


@runtime_checkable
class LabeledKind(Protocol):
    """A kind that is written in labels, and has a matrix only once it is tied to an attribute."""

    def on(self, attribute: Attribute) -> Kind:
        """The same kind, tied to the values of one attribute; WorkloadError, naming it, where they do not fit."""
        ...


def tied_kind(kind: Kind, attribute: Attribute) -> Kind:
    """The kind, checked for an attribute, and tied to its values if it is written in labels, or to its bins' ends.

    A workload holds kinds in this form only.

    Raises:
        WorkloadError: it does not fit the attribute.

    Example:
        >>> from residualplanner.method.queries.identity import Identity
        >>> from residualplanner.more.amounts.numeric import Numeric
        >>> tied = tied_kind(Identity(), Attribute("salary", numeric=Numeric(0, 30, bins=[10])))
        >>> tied.matrix(4).astype(int).tolist(), tied.written
        ([[1, 1, 0, 0], [0, 0, 1, 1]], Identity())
    """
    if attribute.numeric is not None:
        from residualplanner.more.amounts.statistics import kind_on_amounts  # a door

        kind = kind_on_amounts(kind, attribute)
    elif isinstance(kind, LabeledKind):
        kind = kind.on(attribute)
    kind.require_fit(attribute)
    return kind
