"""From kinds of query as users write them to kinds that have a matrix for an attribute, and back.

Reads: kinds, an attribute.  Gives: kinds.
"""

from typing import Protocol, runtime_checkable

from residualplanner.ground.errors import WorkloadError
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.queries.kind import Kind
from residualplanner.more.amounts.amounts import ByBin, Sum
from residualplanner.more.amounts.statistics import Statistic


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
    """
    if attribute.numeric is not None:
        kind = _on_amounts(kind, attribute)
    elif isinstance(kind, LabeledKind):
        kind = kind.on(attribute)
    kind.require_fit(attribute)
    return kind


def written_kind(kind: Kind) -> Kind:
    """The kind as users write it: of one that was tied to bins, the sum or statistic, or the kind on the bins.

    Example:
        >>> from residualplanner.more.amounts.numeric import Numeric
        >>> from residualplanner.method.queries.identity import Identity
        >>> tied = tied_kind(Identity(), Attribute("salary", numeric=Numeric(0, 30, bins=[10])))
        >>> tied.matrix(4).astype(int).tolist(), written_kind(tied)
        ([[1, 1, 0, 0], [0, 0, 1, 1]], Identity())
    """
    if isinstance(kind, Statistic):
        return kind.written
    if isinstance(kind, Sum):
        return Sum(kind.by)
    return kind.of_bins if isinstance(kind, ByBin) else kind


def _on_amounts(kind: Kind, attribute: Attribute) -> Kind:
    """A kind tied to the cells of an attribute whose values are amounts; WorkloadError for that of a threshold."""
    if isinstance(kind, Sum | Statistic):
        return kind.on(attribute)
    if isinstance(kind, ByBin):
        return kind
    if isinstance(of := getattr(kind, "of", None), Sum | Statistic):
        raise WorkloadError(
            f"the {of.name} of {attribute.name!r} cannot be about some of its own bins only; Sum('bin') has the sum of "
            "each bin"
        )
    if kind.at_least:
        raise WorkloadError(f"a threshold cannot match {attribute.name!r}, whose values are amounts; leave it out")
    return ByBin(tied_kind(kind, attribute.by_bin), attribute.by_bin.size - len(attribute.own_labels))
