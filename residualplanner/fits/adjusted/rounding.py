"""Tables of integers that add up, table by table.

Source: eq. (57).
"""

from residualplanner.fits.adjusted.numbers import Rounded
from residualplanner.fits.nonnegative.components import cell_kinds, determines_counts
from residualplanner.ground.checks import is_integer, require_type, value_text
from residualplanner.ground.errors import ArgumentError, WorkloadError
from residualplanner.method.plan.plan import Plan
from residualplanner.release.reconstruct import reconstruct
from residualplanner.release.release import Release

_REMEDY = "write rounded(nonnegative(release)), or rounded(release)"
#: The largest base.
_LARGEST_BASE = 10**9


def rounded(release: Release, *, base: int = 1) -> Release:
    """The tables of a release as integers that add up, table by table; see `Rounded` for what agrees.

    Args:
        release: from `reconstruct` or `nonnegative`; the integers of the latter are non-negative.  Or the folder of
            unbiased tables, as `load_tables` opens it, whose measurement is used.
        base: the integers are multiples of this, 1 or more: 5 is for numbers that end in 0 or 5.

    Returns:
        The tables, by the same queries.  Prefix sums, ranges and other sums are those of the integers.

    Raises:
        ArgumentError: ``release`` is none of these, or rounded already, or ``base`` no positive integer.
        FileFormatError: the measurement in the folder is missing or was altered.
        WorkloadError: the tables of the folder are not unbiased; or what was measured of an attribute does not
            determine counts, only sums that overlap.

    Guarantees: post-processing; it costs no budget.  The same release gives the same integers, in any order of look-up.
    Cost: for a table of two attributes or more a linear program with a variable for each number that is no integer.
    Source: eq. (57).

    Example:
        >>> import numpy as np
        >>> from residualplanner import Domain, Workload, measure, nonnegative, reconstruct, select, zcdp
        >>> plan = select(Workload(Domain({"a": 2, "b": 3}), [("a", "b")]), budget=zcdp(1))
        >>> tables = rounded(nonnegative(reconstruct(measure(plan, np.zeros((20, 2), dtype=int))), known={(): 20}))
        >>> int(tables["a", "b"].estimate.sum()), tables["a", "b"].product.name
        (20, 'non-negative rounded')
    """
    require_type("rounded", "release", release, Release, _REMEDY)
    if release.numbers.folder is not None:
        if not release.product.is_unbiased:  # others may be meant to be rounded as they are
            raise WorkloadError(
                f"the tables of {release.numbers.folder} are {release.product.name}; write "
                "rounded(nonnegative(tables)) for non-negative integers, or rounded(reconstruct(tables))"
            )
        release = reconstruct(release)
    if release.product.is_rounded:
        raise ArgumentError(f"rounded: release is {release.product.name} already; {_REMEDY}")
    require_base(base)
    require_roundable(release.plan)
    return Release(release.measurement, Rounded(release.numbers, int(base)))


def require_base(base: object) -> None:
    """Raise ArgumentError unless numbers can be rounded to multiples of ``base``."""
    if not is_integer(base, least=1) or base > _LARGEST_BASE:
        raise ArgumentError(
            f"rounded: base must be an integer from 1 to {_LARGEST_BASE:,}, got {value_text(base)}; write "
            "rounded(release, base=5)"
        )


def require_roundable(plan: Plan) -> None:
    """Raise WorkloadError where what is measured of an attribute determines no counts.

    DomainError where the values of an attribute are amounts, which would be rounded to the ends of their bins.
    """
    plan.domain.require_no_amounts("rounded tables are of integers")
    pairs = zip(plan.domain.names, plan.strategy.of_attributes, cell_kinds(plan), strict=True)
    vague = [name for name, basis, kind in pairs if not determines_counts(kind, basis)]
    if vague:
        raise WorkloadError(
            f"what was measured of {vague} determines no counts, only sums that overlap; add a query for its values to "
            "the workload, plan and measure again"
        )
