"""A file that is not a plan that its noise can pay for is refused, whoever wrote it."""

import math
import tracemalloc
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from random_plans import basis_of
from residualplanner import Attribute, Custom, Domain, Hierarchy, Plan, Workload, load_plan, marginals, select, zcdp
from saved_plans import (
    DOMAIN,
    changes,
    forge,
    placed,
    plan_from_archive,
    plan_to_archive,
    removed,
    require_equal,
    small_plan,
)
from strategies import noise_of

Archive = tuple[dict[str, Any], dict[str, np.ndarray]]
FORMAT, BUDGET = rp.errors.FileFormatError, rp.errors.BudgetError
REFUSALS = (FORMAT, BUDGET, rp.errors.DomainError, rp.errors.WorkloadError)
SIZES = (3, 2, 4)
OTHERS = [None, True, False, 0, 1, -1, 2, 10**30, 1e308, 0.5, "", "text", "1/1", [], [0], [[]], {}, {"a": 1}, ["a"]]
ONE_WAY, ONE = marginals(DOMAIN, order=1), {"budget": rp.pcost(1)}
WITH_BASES = Domain({"a": 3, "b": 3, "c": 2, "d": 3})
GIVEN = {
    "a": replace(basis_of(3, [[1, 0, 0], [1, 1, 0]]), family="optimal"),
    "b": basis_of(3, [[2, -1, 0], [1, 1, -3]]),
    "d": replace(basis_of(3, [[1, 0, 0], [1, 1, 0]]), family="optimal"),
}
PLANS: dict[str, Callable[[], Plan]] = {
    "small": small_plan,
    "written": lambda: select(Workload(DOMAIN, [("region", "age")]), budget=zcdp("0.5")),
    "weights": lambda: select(ONE_WAY, **ONE, loss=rp.losses.MaxVariance([1, 2, 3])),
    "targets": lambda: select(marginals(DOMAIN, up_to=2), loss=rp.losses.Targets({("age",): 3})),
    "bases": lambda: select(marginals(WITH_BASES, up_to=2), **ONE, bases=GIVEN),
    "one answer": lambda: select(
        Workload(Domain({"a": 3}), [{"a": Custom([[1, 1, 0], [0, 0, 1]])}]),
        **ONE,
        bases={"a": basis_of(3, [[1, 1, -2]])},
    ),
}


@cache
def archive_of(name: str) -> Archive:
    return plan_to_archive(PLANS[name]())


def altered(name: str, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> Archive:
    """The archive of a plan with other fields and arrays, these as they are or functions of what was there."""
    whole, held = archive_of(name)
    return {**whole, **header}, held | {
        key: change(held[key]) if callable(change) else change for key, change in arrays.items()
    }


def require_harmless_or_refused(load: Callable[[], Plan]) -> bool:
    """The file is refused as one of ours, or its plan costs no more than it states; whether it was refused."""
    try:
        plan = load()
    except REFUSALS:
        return True
    sizes = plan.domain.sizes
    assert dense.exact_cost(sizes, noise_of(plan)) <= Fraction(plan.pcost) <= plan.budget.pcost_exact
    if math.prod(sizes) <= 256:
        cost = dense.privacy_cost(*dense.mechanism(sizes, noise_of(plan)))
        assert cost <= float(plan.budget.pcost_exact) * (1 + 1e-9)
    return False


def test_forging_without_a_change_gives_the_plan(tmp_path):
    for name, plan in PLANS.items():
        require_equal(load_plan(forge(tmp_path / "plan", small_plan(), *archive_of(name))), plan())


@pytest.mark.parametrize("name", ["small", "weights", "targets", "bases"])
def test_every_value_of_the_content_may_be_changed_in_type_without_harm(name):
    header, arrays = archive_of(name)
    places = [path for path, _ in changes(header) if path]
    assert len(places) > 30
    forged = [placed(header, path, other) for path in places for other in OTHERS]
    refused = sum(require_harmless_or_refused(lambda each=each: plan_from_archive(each, arrays)) for each in forged)
    assert refused > 0.8 * len(forged)


@pytest.mark.parametrize("name", ["small", "weights", "targets", "bases"])
def test_every_field_taken_away_or_added_is_refused(name):
    header, arrays = archive_of(name)
    every = [(path, value) for path, value in changes(header) if path != ("suboptimality",)]  # need not be known
    less = [removed(header, path) for path, _ in every if path and not (path[0] == "domain" and type(path[-1]) is int)]
    more = [placed(header, path, {**value, "more": 1}) for path, value in every if isinstance(value, dict)]
    for each in [*less, *more]:
        with pytest.raises(REFUSALS):
            plan_from_archive(each, arrays)


def axes(rows: Any, kind: str = "<i4") -> dict[str, np.ndarray]:
    return {"queries/axes_2": np.array(rows, dtype=kind)}


MORE = "the noise costs pcost .*, more than the budget of 1.0"
NOISE, HONEST = "noise_variance", archive_of("small")[0]
COUNT = len(archive_of("small")[1][NOISE])
ONE_OF_ALL = np.arange(COUNT)
INDEPENDENT, FORM = "independent", "form in which it is written"
WRONG = f"{FORM}|independent|must name one|states pcost|is for"
MATRIX, INDEX = "bases/matrix_0", "bases/of_attribute"
SHAPE = "invalid bases/matrix_0: a basis must be integers of shape"
FAMILIES = [
    *(["optimal"], ["optimal", "given", "given"]),
    *(["optimal", word] for word in ("subtraction", "", "Given", "a b", "x" * 41, "é\n")),
]
LOSSES = [
    {"kind": "sum", "weights": "odd"},
    *({"kind": "max", "weights": []}, {"kind": "max", "weights": "cells", "level": 1}, {"kind": ["sum"]}),
    *({"kind": "described", "words": 3}, {"kind": "described", "words": "x" * 1001}),
]
#: Of a plan other fields and arrays, and what is said of them.
FORGED: list[tuple[str, Mapping[str, Any], Mapping[str, Any], Any, str]] = [
    *(
        (
            "small",
            {"pcost": stated},
            {NOISE: lambda noise, by=factor: noise * by},
            BUDGET,
            "more than the budget of 1.0",
        )
        for factor in (0.5, 0.999, 1 - 1e-9)
        for stated in (HONEST["pcost"], HONEST["pcost"] / factor, 1.0)
    ),
    *(
        ("small", {}, {NOISE: lambda noise, i=i, bad=bad: np.where(i % COUNT == ONE_OF_ALL, bad, noise)}, BUDGET, words)
        for bad in (math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0)
        for i in (0, 3, -1)
        for words in ["noise variances must be positive and finite"]
    ),
    *(
        ("small", {}, {NOISE: np.where(ONE_OF_ALL == 2, tiny, rest)}, BUDGET, MORE)
        for tiny in (5e-324, 1e-320, 1e-308, 1e-307)
        for rest in (tiny, 1.0)
    ),
    *(
        ("small", {"pcost": stated}, {}, BUDGET, r"the plan states pcost .*, but its noise costs .*; plan again")
        for stated in (0.5, 1.1, -1.0, "1.0", None, [1.0])
    ),
    *(
        ("small", {"budget": {**HONEST["budget"], **change}}, {}, (FORMAT, BUDGET), ".")
        for change in (
            *({"pcost": "2/1"}, {"pcost": "1/2"}, {"given": ["5"]}, {"given": ["0.1"]}),
            {"pcost": "1/5", "given": ["0.1"]},
        )
    ),
    *(
        ("small", {}, {f"queries/{name}": change}, FORMAT, r"queries of order|weights of order")
        for name, change in [
            ("attributes_2", lambda rows: rows[::-1]),
            ("attributes_2", lambda rows: rows[:, ::-1]),
            ("attributes_2", lambda rows: rows[[0, 0, 2]]),
            ("attributes_2", lambda rows: rows + 1),
            ("attributes_2", lambda rows: rows - 1),
            ("attributes_1", lambda rows: rows + 2**30),
            ("attributes_1", lambda rows: rows[::-1]),
            ("kinds_2", lambda rows: rows + 1),
            ("kinds_1", lambda rows: rows - 1),
            ("weights_1", lambda weights: weights * math.nan),
            ("weights_1", lambda weights: -weights),
            ("weights_1", lambda weights: weights * math.inf),
        ]
    ),
    *(("small", {"orders": orders}, {}, FORMAT, ".") for orders in ([0, 1], [2, 1, 0], [0, 0, 1, 2], [0.0, 1, 2])),
    ("small", {}, {"more": np.ones(3)}, FORMAT, FORM),
    ("small", {"kinds": [{"kind": "identity"}] * 2}, {}, FORMAT, "must list each of its kinds of query once"),
    ("small", {"kinds": [Custom([[1, 1], [0, 1]]).to_json()]}, {}, FORMAT, "in a plan: the matrix for"),
    ("small", {"kinds": [Hierarchy([2]).on(Attribute("a", 9)).to_json()]}, {}, FORMAT, "in a plan: the hierarchy on"),
    (
        *("small", {"kinds": [{"kind": "custom", "size": 3, "rows": [], "labels": None}]}, {}),
        *(FORMAT, "a kind 'custom' must have rows"),
    ),
    *(
        ("small", {"kinds": [{**kind.to_json(), **told}]}, {}, FORMAT, "and groups in place of widths of bands")
        for kind in [Hierarchy([{"low": [0, 1], "high": [2, 3]}]).on(Attribute("values", 4))]
        for told in (*({"values": None}, {"levels": [2]}), {"levels": [[["low", [0, 1]], ["high", [2, 3]]], 1]})
    ),
    *(
        ("small", {field: 10**400}, {}, FORMAT, f"a plan has an invalid field '{field}'")
        for field in ("loss_value", "gap", "suboptimality")
    ),
    *(
        ("written", {}, axes(rows, kind), FORMAT, f"axes|queries of order 2|{FORM}")
        for kind, *every in [
            ("<i4", [[0, 1]], [[1, 1]], [[0, 2]], [[-1, 0]], [[2, 1]], [[1, 0], [1, 0]], [[1]], [1, 0]),
            ("<f8", [[1, 0]]),
        ]
        for rows in every
    ),
    ("written", {}, {"queries/axes_1": np.zeros((0, 1), "<i4")}, FORMAT, FORM),
    *(("small", {"loss": loss}, {}, FORMAT, f"a plan's loss must be one of the kinds|{FORM}") for loss in LOSSES),
    *(
        ("weights", {}, {"loss/weights": change}, FORMAT, "a plan's weights must be")
        for change in (*(lambda w: -w, lambda w: w * 0, lambda w: w * math.inf, lambda w: w * math.nan),)
    ),
    ("weights", {"loss": {"kind": "max", "weights": "cells"}}, {}, FORMAT, FORM),
    *(
        ("targets", {}, {"loss/margins": change}, FORMAT, "a plan's margins must be")
        for change in (*(lambda m: -m, lambda m: m * 0, lambda m: np.where(m > 0, math.inf, 0)),)
    ),
    ("targets", {"loss": {"kind": "max", "weights": None}}, {}, FORMAT, FORM),
    *(
        ("bases", {}, {name: change}, (FORMAT, BUDGET), message)
        for name, change, message in [
            (MATRIX, lambda B: B[0], "invalid bases/matrix_0: .* nested basis"),
            (MATRIX, lambda B: np.eye(3, dtype=np.int64), SHAPE),
            (MATRIX, lambda B: B * 0, INDEPENDENT),
            (MATRIX, lambda B: B[[0, 0]], INDEPENDENT),
            (MATRIX, lambda B: B[:1], "from which identity does not follow"),
            (MATRIX, lambda B: B * 2**51, "at most 2"),
            (MATRIX, lambda B: B + np.array([[0, 0, -(2**63)], [0, 0, 0]]), "at most 2"),
            (MATRIX, lambda B: np.hstack([B, [[0], [1]]]), "for 4 values, but it has 3|of shape"),
            ("bases/matrix_1", lambda _: GIVEN["a"].matrix, "more than the budget|states pcost"),
            ("bases/matrix_1", lambda B: B * 2, "more than the budget"),
            (INDEX, lambda index: index + 1, WRONG),
            (INDEX, lambda index: 1 - index, WRONG),
            (INDEX, lambda index: np.where(index < 0, -2, index), FORM),
            (INDEX, lambda index: np.full_like(index, -1), WRONG),
            (INDEX, lambda index: np.array([0, 1, 1, 0], dtype=np.int32), "for 3 values, but it has 2"),
            (INDEX, lambda index: np.array([-1, 0, -1, 1], dtype=np.int32), "states pcost|than the budget"),
        ]
    ),
    *(
        ("bases", {"bases": families}, {}, FORMAT, f"an invalid field 'bases'|got none|{WRONG}")
        for families in FAMILIES
    ),
    *(("bases", {}, {f"{name}_more": np.eye(2, 3)}, FORMAT, FORM) for name in (MATRIX, INDEX)),
    (
        *("bases", {"bases": ["optimal", "given", "optimal"]}),
        {"bases/matrix_2": GIVEN["a"].matrix, INDEX: np.array([0, 1, -1, 2], dtype=np.int32)},
        *(FORMAT, FORM),
    ),
    ("one answer", {"kinds": [{"kind": "prefix"}]}, {}, FORMAT, "'a' has 1 answers, from which prefix does not follow"),
]


@pytest.mark.parametrize(("name", "header", "arrays", "error", "message"), FORGED)
def test_what_cannot_be_is_refused(name, header, arrays, error, message):
    forged = altered(name, header, arrays)
    with pytest.raises(error, match=message):
        plan_from_archive(*forged)


@pytest.mark.parametrize("name", ["small", "weights", "targets", "bases"])
def test_arrays_taken_away_swapped_shortened_lengthened_reshaped_or_retyped_are_refused(name):
    header, arrays = archive_of(name)
    for key, array in arrays.items():
        # files from before dual weights were kept lack these
        forged = [{other: found for other, found in arrays.items() if other != key}][key == "proof/weights" :]
        kinds = [kind for kind in (np.float32, np.int64, np.uint8, np.bool_) if kind != array.dtype]
        reshaped = [array[:-1], np.concatenate([array, array[-1:]]), array[..., None], array.ravel()[:0]]
        forged += [arrays | {key: other} for other in [*reshaped, *map(array.astype, kinds)]]
        forged += [
            {**arrays, key: theirs, partner: array}
            for partner, theirs in arrays.items()
            if theirs.dtype != array.dtype or theirs.shape != array.shape
        ]
        for each in forged:
            with pytest.raises(REFUSALS):
                plan_from_archive(header, each)


@settings(max_examples=60)
@given(data=st.data())
def test_noise_changed_anywhere_never_costs_more_than_stated(data):
    header, arrays = archive_of("small")
    noise = arrays[NOISE].copy()
    noise[data.draw(st.integers(0, len(noise) - 1))] *= data.draw(st.floats(1e-6, 1e6))
    exact = dense.exact_cost(SIZES, dict(zip(small_plan().closure, noise, strict=True)))
    stated = data.draw(st.sampled_from([header["pcost"], float(exact)]))
    require_harmless_or_refused(lambda: plan_from_archive({**header, "pcost": stated}, {**arrays, NOISE: noise}))


def test_a_larger_budget_stated_in_full_is_kept():
    raised = {**HONEST["budget"], "pcost": "10/1", "given": ["5"]}
    kept = plan_from_archive(*altered("small", {"budget": raised}, {}))
    assert kept.budget == zcdp("5")
    assert kept.pcost == small_plan().pcost <= 1


def test_a_basis_of_smaller_entries_is_another_plan_and_refused():
    larger = {**GIVEN, "b": basis_of(3, GIVEN["b"].matrix * 2)}
    header, arrays = plan_to_archive(select(marginals(WITH_BASES, up_to=2), **ONE, bases=larger))
    with pytest.raises(BUDGET, match="the plan states pcost"):
        plan_from_archive(header, {**arrays, "bases/matrix_1": GIVEN["b"].matrix})


def asking(tmp_path, sizes, queries, kind, noise):
    """A forged plan of these queries, as positions of attributes of these sizes, with subtraction bases."""
    order = len(queries[0])
    domain = Domain({f"x{number}": size for number, size in enumerate(sizes)})
    header = {**HONEST, "domain": domain.to_json(), "orders": [order], "kinds": [{"kind": kind}]}
    arrays = {
        NOISE: np.full(noise, 1e6),
        INDEX: np.full(len(sizes), -1, dtype=np.int32),
        f"queries/attributes_{order}": np.array(queries, dtype=np.int32),
        f"queries/kinds_{order}": np.zeros((len(queries), order), dtype=np.int16),
        f"queries/weights_{order}": np.ones(len(queries)),
    }
    return forge(tmp_path / "forged", small_plan(), header, arrays)


@pytest.mark.parametrize(
    ("sizes", "queries", "kind", "noise", "error", "message"),
    [
        *(
            (sizes, queries, "identity", noise, FORMAT, f"has {noise:,} entries, fewer than the queries have subsets")
            for sizes, queries, noise in [
                ([2] * 24, [list(range(24))], 5),
                ([2] * 24, [list(range(24))], 2**16),
                ([2] * 60, [list(range(60))], 1),
                ([2] * 200, [list(range(start, start + 10)) for start in range(190)], 2**11),
            ]
        ),
        *(([10_000, 9_999], [[0], [1]], kind, 3, BUDGET, "the plan states pcost") for kind in ("prefix", "range")),
    ],
)
def test_too_many_subsets_and_a_wrong_cost_are_seen_without_large_arrays(
    tmp_path, sizes, queries, kind, noise, error, message
):
    path = asking(tmp_path, sizes, queries, kind, noise)
    small_plan().save(tmp_path / "plan")
    load_plan(tmp_path / "plan")  # what is imported on first use is no memory that the queries take
    tracemalloc.start()
    with pytest.raises(error, match=message):
        load_plan(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24
