"""Whatever is asked for, each fit works for it, or refuses it in words, before a budget is spent if it spends."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp
from slowness import slow

RANDOM = np.random.default_rng(0)
RECORDS = pd.DataFrame({"sex": RANDOM.choice(["F", "M"], 200), "pay": 10 * RANDOM.integers(0, 11, 200)})
for _name, _values in {"job": 3, "age": 4, "hours": 60, "id": 80}.items():
    RECORDS[_name] = RANDOM.integers(0, _values, 200)
PLAIN = {"sex": ["F", "M"], "job": 3, "age": 4}
PAID = {"sex": ["F", "M"], "job": 3, "pay": rp.Numeric(0, 100, unit=10, bins=[0, 50, 100], outside="clip")}
HOURS = rp.Weight("hours", maximum=60)
BY_PAY = [("sex", "job"), {"sex": rp.Identity(), "pay": rp.Sum()}]
BY_AGE = [("sex", "age"), ("job",)]
BY_MATCHES = [rp.Threshold(("sex", "job", "age"), 2), ("sex",)]
#: A domain, queries, and how many records of each person count; all if 0.
REQUESTS = {
    "counts": (rp.Domain(PLAIN), BY_AGE, 0),
    "sums": (rp.Domain(PAID), BY_PAY, 0),
    "means": (rp.Domain(PAID), [{"sex": rp.Identity(), "pay": rp.Mean()}], 0),
    "quantiles": (rp.Domain(PAID), [{"sex": rp.Identity(), "pay": rp.Quantiles()}], 0),
    "weights": (rp.Domain(PLAIN, weight=HOURS), BY_AGE, 0),
    "weighted sums": (rp.Domain(PAID, weight=HOURS), BY_PAY, 0),
    "people": (rp.Domain(PLAIN), BY_AGE, 2),
    "sums of people": (rp.Domain(PAID), BY_PAY, 2),
    "universes": (rp.Domain(PLAIN), [("sex", "age"), rp.Among(("sex",), where={"age": [0, 1]})], 0),
    "thresholds": (rp.Domain(PLAIN), BY_MATCHES, 0),
    "weighted thresholds": (rp.Domain(PLAIN, weight=HOURS), BY_MATCHES, 0),
}
COMBINED = ("means", "weighted sums", "sums of people", "weighted thresholds")
AMOUNTS = ("sums", "means", "quantiles", "weighted sums", "sums of people")
WEIGHTS = ("weights", "weighted thresholds")
NO_AMOUNTS = (rp.errors.DomainError, "are amounts")
NO_WEIGHTS = (rp.errors.DomainError, "for records that count once each")
COUNTED = dict.fromkeys(AMOUNTS, NO_AMOUNTS) | dict.fromkeys(WEIGHTS, NO_WEIGHTS)
OTHER_BASES = (rp.errors.WorkloadError, "subtraction bases only")
#: What each feature refuses; it works for all else.
REFUSED = {
    "stages of records": COUNTED,
    "synthetic records": COUNTED,
    "projection": COUNTED | {"universes": (rp.errors.WorkloadError, "RAP measures marginals and thresholds")},
    "projection of a public number": COUNTED
    | dict.fromkeys(WEIGHTS, (rp.errors.BudgetError, "the total changes, so it is not public"))
    | {
        "universes": (rp.errors.WorkloadError, "RAP measures"),
        "people": (rp.errors.BudgetError, "are replaced their number is public"),
    },
    "microdata": dict.fromkeys((*AMOUNTS, "universes"), OTHER_BASES),
}


def records_of(request):
    keep = REQUESTS[request][2]
    return rp.LimitedRecords(RECORDS, person="id", keep=keep) if keep else RECORDS


@cache
def released(request):
    domain, queries, keep = REQUESTS[request]
    plan = rp.select(rp.Workload(domain, queries), budget=rp.zcdp(5), records_per_person=keep or 1)
    ledger = rp.Ledger.unlimited("made-up records", records_per_person=keep or 1)
    return rp.reconstruct(rp.measure(plan, records_of(request), ledger=ledger))


def projected(request, neighbors):
    """A run of RAP; where it is refused nothing was charged."""
    domain, queries, keep = REQUESTS[request]
    ledger = rp.Ledger(rp.zcdp(9), neighbors=neighbors, records_per_person=keep or 1)
    options = {"neighbors": neighbors, "rounds": 1, "choices": 2, "records_per_person": keep or 1}
    try:
        plan = rp.fits.rap.RapPlan(rp.Workload(domain, queries), budget=rp.zcdp(5), **options)
        result = rp.fits.rap.rap(plan, records_of(request), ledger=ledger)
    except rp.errors.ResidualPlannerError:
        assert not ledger.entries
        raise
    assert ("Of each person" in result.noise.sentence) == (keep > 0)
    return [np.asarray(table) for table in map(result.table, plan.workload)]


def fitted(request):
    release = released(request)
    groups = rp.fits.microdata.groups_of_release(release)
    exact = rp.fits.microdata.least_squares(groups)
    assert all(np.allclose(exact.table(names), release[names].estimate) for names in [(), ("sex",)])
    return [rp.fits.microdata.nonnegative_least_squares(groups).estimate]


FEATURES = {
    "stages of records": lambda request: [
        np.ones(len(rp.fits.StagedPlan(REQUESTS[request][0], budget=rp.zcdp(1)).pairs))
    ],
    "synthetic records": lambda request: [
        rp.synthesize(released(request), 50, method="independent", ensemble=rp.fits.Ensemble(1, 4)).codes
    ],
    "projection": lambda request: projected(request, "add-remove"),
    "projection of a public number": lambda request: projected(request, "replace"),
    "microdata": fitted,
}


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("request_", [slow(name) if name in COMBINED else name for name in REQUESTS])
def test_each_feature_works_for_each_request_or_refuses_it(request_, feature):
    refusal = REFUSED[feature].get(request_)
    if refusal is not None:
        with pytest.raises(refusal[0], match=refusal[1]):
            FEATURES[feature](request_)
        return
    tables = FEATURES[feature](request_)
    assert len(tables)
    assert all(np.isfinite(table).all() for table in tables)
    if request_ != "quantiles":  # which are counts less a part of larger counts
        assert all((table >= -1e-6).all() for table in tables)
