"""A file that is not a plan that its noise can pay for is refused, whoever wrote it."""

import json
import math
import tracemalloc
import zipfile
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dense
import residualplanner as rp
from residualplanner import Attribute, Custom, Domain, Hierarchy, Plan, Workload, load_plan, select, zcdp
from residualplanner.method.plan.files import plan_from_archive, plan_to_archive
from saved_plans import DOMAIN, changes, forge, placed, read, removed, require_equal, small_plan, write
from strategies import noise_of

REFUSALS = (rp.errors.FileFormatError, rp.errors.BudgetError, rp.errors.DomainError, rp.errors.WorkloadError)
SIZES = (3, 2, 4)
OTHERS = [None, True, False, 0, 1, -1, 2, 10**30, 1e308, 0.5, "", "text", "1/1", [], [0], [[]], {}, {"a": 1}, ["a"]]


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
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    require_equal(load_plan(forge(tmp_path / "plan", plan, header, arrays)), plan)


def test_every_value_of_the_content_may_be_changed_in_type_without_harm(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    places = [path for path, _ in changes(header) if path]
    assert len(places) > 40
    refused = total = 0
    for path in places:
        for other in OTHERS:
            changed = placed(header, path, other)
            refused += require_harmless_or_refused(lambda changed=changed: plan_from_archive(changed, arrays))
            total += 1
    assert refused > 0.8 * total


def test_every_field_taken_away_or_added_is_refused():
    header, arrays = plan_to_archive(small_plan())
    for path, _ in changes(header):
        if path and not (path[0] == "domain" and isinstance(path[-1], int)):
            with pytest.raises(REFUSALS):
                plan_from_archive(removed(header, path), arrays)
    for path, value in changes(header):
        if isinstance(value, dict):
            with pytest.raises(REFUSALS):
                plan_from_archive(placed(header, path, {**value, "more": 1}), arrays)


@pytest.mark.parametrize("field", ["format", "version", "package_version", "content", "arrays"])
def test_every_field_of_the_container_is_needed(tmp_path, field):
    small_plan().save(tmp_path / "plan")
    whole, members = read(tmp_path / "plan")
    with pytest.raises(rp.errors.FileFormatError):
        load_plan(write(tmp_path / "less", {key: value for key, value in whole.items() if key != field}, members))
    with pytest.raises(rp.errors.FileFormatError):
        load_plan(write(tmp_path / "more", {**whole, f"{field}_too": 1}, members))
    for other in OTHERS:
        if field == "package_version" or (field == "version" and other is not True and other == 5):
            continue
        with pytest.raises(rp.errors.FileFormatError):
            load_plan(write(tmp_path / "other", {**whole, field: other}, members))


@pytest.mark.parametrize("version", [7, 17, 10**9])
def test_a_newer_version_says_so(tmp_path, version):
    small_plan().save(tmp_path / "plan")
    whole, members = read(tmp_path / "plan")
    with pytest.raises(
        rp.errors.FileFormatError, match=f"written by a newer version \\(format {version}, this reads 6\\); upgrade"
    ):
        load_plan(write(tmp_path / "newer", {**whole, "version": version}, members))


@pytest.mark.parametrize("version", [1, 2, 3, 4, 5])
def test_versions_before_bases_targets_bases_by_set_written_orders_and_losses_are_no_longer_read(tmp_path, version):
    small_plan().save(tmp_path / "plan")
    whole, members = read(tmp_path / "plan")
    with pytest.raises(rp.errors.FileFormatError, match=f"format {version} is no longer read; write the file again"):
        load_plan(write(tmp_path / "older", {**whole, "version": version}, members))


@pytest.mark.parametrize(
    "axes", [[[0, 1]], [[1, 1]], [[0, 2]], [[-1, 0]], [[2, 1]], [[1, 0], [1, 0]], [[1]], [1, 0], [[1.0, 0.0]]]
)
def test_the_orders_in_which_queries_are_written_are_checked(tmp_path, axes):
    plan = select(Workload(DOMAIN, [("region", "age")]), budget=zcdp("0.5"))
    header, arrays = plan_to_archive(plan)
    assert arrays["queries/axes_2"].tolist() == [[1, 0]]
    other = arrays | {"queries/axes_2": np.array(axes, dtype="<i4" if axes != [[1.0, 0.0]] else "<f8")}
    with pytest.raises(rp.errors.FileFormatError, match=r"axes|queries of order 2"):
        load_plan(forge(tmp_path / "forged", plan, header, other))
    with pytest.raises(rp.errors.FileFormatError, match="and no other arrays"):
        load_plan(forge(tmp_path / "forged", plan, header, arrays | {"queries/axes_1": np.zeros((0, 1), "<i4")}))


def test_a_field_twice_is_refused(tmp_path):
    small_plan().save(tmp_path / "plan")
    whole, members = read(tmp_path / "plan")
    fields = ["format", "version", "content", "arrays", *whole["content"]]
    for field in fields:
        text = json.dumps(whole)
        assert f'"{field}": ' in text
        doubled = text.replace(f'"{field}": ', f'"{field}": 1, "{field}": ', 1)
        with zipfile.ZipFile(tmp_path / "twice", "w") as archive:
            archive.writestr("header.json", doubled)
            for name, content in members.items():
                archive.writestr(name, content)
        with pytest.raises(rp.errors.FileFormatError, match=f"the name '{field}' occurs twice"):
            load_plan(tmp_path / "twice")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e400"])
def test_numbers_that_are_not_finite_are_refused(tmp_path, word):
    small_plan().save(tmp_path / "plan")
    whole, members = read(tmp_path / "plan")
    text = json.dumps(placed(whole, ("content", "loss_value"), "HERE")).replace('"HERE"', word)
    with zipfile.ZipFile(tmp_path / "forged", "w") as archive:
        archive.writestr("header.json", text)
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(rp.errors.FileFormatError, match="is not a finite number"):
        load_plan(tmp_path / "forged")


def test_noise_scaled_down_overspends_and_is_refused_even_where_the_header_agrees(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    for factor in (0.5, 0.999, 1 - 1e-9):
        less = {**arrays, "noise_variance": arrays["noise_variance"] * factor}
        for stated in (plan.pcost, plan.pcost / factor, 1.0):
            path = forge(tmp_path / "forged", plan, {**header, "pcost": stated}, less)
            with pytest.raises(rp.errors.BudgetError, match=r"the noise costs pcost .*, more than the budget of 1.0"):
                load_plan(path)


@settings(max_examples=60)
@given(data=st.data())
def test_noise_changed_anywhere_never_costs_more_than_stated(data):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    noise = arrays["noise_variance"].copy()
    place = data.draw(st.integers(0, len(noise) - 1))
    noise[place] *= data.draw(st.floats(1e-6, 1e6))
    stated = data.draw(
        st.sampled_from([plan.pcost, float(dense.exact_cost(SIZES, dict(zip(plan.closure, noise, strict=True))))])
    )
    forged = {**arrays, "noise_variance": noise}
    require_harmless_or_refused(lambda: plan_from_archive({**header, "pcost": stated}, forged))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0])
@pytest.mark.parametrize("place", [0, 3, -1])
def test_noise_that_is_not_positive_and_finite_is_refused(tmp_path, bad, place):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    noise = arrays["noise_variance"].copy()
    noise[place] = bad
    path = forge(tmp_path / "forged", plan, header, {**arrays, "noise_variance": noise})
    with pytest.raises(rp.errors.BudgetError, match="noise variances must be positive and finite"):
        load_plan(path)


@pytest.mark.parametrize("tiny", [5e-324, 1e-320, 1e-308, 1e-307])
def test_noise_so_small_that_its_cost_overflows_is_refused(tmp_path, tiny):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    for noise in (np.full(len(plan.closure), tiny), np.where(np.arange(len(plan.closure)) == 2, tiny, 1.0)):
        path = forge(tmp_path / "forged", plan, header, {**arrays, "noise_variance": noise})
        with pytest.raises(rp.errors.BudgetError, match=r"more than the budget of 1.0"):
            load_plan(path)


def test_a_budget_raised_or_lowered_by_hand_is_refused_or_kept(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    honest = header["budget"]
    for budget in (
        {**honest, "pcost": "2/1"},
        {**honest, "pcost": "1/2"},
        {**honest, "given": ["5"]},
        {**honest, "given": ["0.1"]},
        {**honest, "pcost": "1/5", "given": ["0.1"]},
    ):
        with pytest.raises((rp.errors.FileFormatError, rp.errors.BudgetError)):
            load_plan(forge(tmp_path / "forged", plan, {**header, "budget": budget}, arrays))
    raised = {**honest, "pcost": "10/1", "given": ["5"]}
    kept = load_plan(forge(tmp_path / "forged", plan, {**header, "budget": raised}, arrays))
    assert kept.budget == zcdp("5")
    assert kept.pcost == plan.pcost <= 1


@pytest.mark.parametrize("stated", [0.5, 1.1, -1.0, "1.0", None, [1.0]])
def test_a_cost_that_is_not_the_recomputed_one_is_refused(tmp_path, stated):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    with pytest.raises(rp.errors.BudgetError, match=r"the plan states pcost .*, but its noise costs .*; plan again"):
        load_plan(forge(tmp_path / "forged", plan, {**header, "pcost": stated}, arrays))


def test_arrays_swapped_shortened_lengthened_reshaped_or_retyped_are_refused(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    for name, array in arrays.items():
        for other in (
            array[:-1],
            np.concatenate([array, array[-1:]]),
            array[..., None],
            array.ravel()[:0],
            array.astype(np.float32),
            array.astype(np.int64),
            array.astype(np.uint8),
            array.astype(np.bool_),
        ):
            with pytest.raises(REFUSALS):
                load_plan(forge(tmp_path / "forged", plan, header, {**arrays, name: other}))
        for partner, theirs in arrays.items():
            if theirs.dtype != array.dtype or theirs.shape != array.shape:
                with pytest.raises(REFUSALS):
                    load_plan(forge(tmp_path / "forged", plan, header, {**arrays, name: theirs, partner: array}))
        with pytest.raises(rp.errors.FileFormatError):
            load_plan(forge(tmp_path / "forged", plan, header, {key: arrays[key] for key in arrays if key != name}))
    with pytest.raises(rp.errors.FileFormatError, match="and no other arrays"):
        load_plan(forge(tmp_path / "forged", plan, header, {**arrays, "more": arrays["noise_variance"]}))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("queries/attributes_2", lambda rows: rows[::-1]),
        ("queries/attributes_2", lambda rows: rows[:, ::-1]),
        ("queries/attributes_2", lambda rows: rows[[0, 0, 2]]),
        ("queries/attributes_2", lambda rows: rows + 1),
        ("queries/attributes_2", lambda rows: rows - 1),
        ("queries/attributes_1", lambda rows: rows + 2**30),
        ("queries/attributes_1", lambda rows: rows[::-1]),
        ("queries/kinds_2", lambda rows: rows + 1),
        ("queries/kinds_1", lambda rows: rows - 1),
        ("queries/weights_1", lambda weights: weights * math.nan),
        ("queries/weights_1", lambda weights: -weights),
        ("queries/weights_1", lambda weights: weights / 0.0),
    ],
)
def test_queries_that_are_none_are_refused(tmp_path, name, change):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    with np.errstate(all="ignore"):
        changed = change(arrays[name])
    with pytest.raises(rp.errors.FileFormatError, match=r"queries of order|weights of order"):
        load_plan(forge(tmp_path / "forged", plan, header, {**arrays, name: changed}))


@pytest.mark.parametrize(
    "orders",
    [[0, 1], [0, 1, 3], [0, 1, 2, 3], [2, 1, 0], [0, 0, 1, 2], [-1, 0, 1, 2], [0.0, 1, 2], [True, 2], [], "012"],
)
def test_orders_that_do_not_fit_are_refused(tmp_path, orders):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    with pytest.raises(rp.errors.FileFormatError):
        load_plan(forge(tmp_path / "forged", plan, {**header, "orders": orders}, arrays))


def test_another_domain_of_as_many_attributes_costs_what_it_costs(tmp_path):
    plan = small_plan()
    header, arrays = plan_to_archive(plan)
    for sizes in ((2, 2, 2), (5, 5, 5), (1, 3, 4), (2**40, 2, 2)):
        domain = Domain(dict(zip(("age", "sex", "region"), sizes, strict=True))).to_json()
        with pytest.raises(REFUSALS):
            load_plan(forge(tmp_path / "forged", plan, {**header, "domain": domain}, arrays))


def test_a_query_with_a_closure_too_large_is_refused_before_it_is_made(tmp_path):
    plan = small_plan()
    header, _ = plan_to_archive(plan)
    domain = Domain({f"x{i}": 2 for i in range(60)}).to_json()
    arrays = {
        "queries/attributes_60": np.arange(60, dtype=np.int32)[None, :],
        "queries/kinds_60": np.zeros((1, 60), dtype=np.int16),
        "queries/weights_60": np.ones(1),
        "noise_variance": np.ones(1),
    }
    path = forge(tmp_path / "forged", plan, {**header, "domain": domain, "orders": [60]}, arrays)
    with pytest.raises(
        rp.errors.FileFormatError, match="noise_variance has 1 entries, fewer than the queries have subsets"
    ):
        load_plan(path)


def asking(tmp_path, sizes, queries, kinds, noise):
    """A forged plan of these queries, as positions of attributes of these sizes, with subtraction bases."""
    plan = small_plan()
    order = len(queries[0])
    domain = Domain({f"x{number}": size for number, size in enumerate(sizes)})
    header, _ = plan_to_archive(plan)
    header = {**header, "domain": domain.to_json(), "orders": [order], "kinds": kinds}
    arrays = {
        "noise_variance": np.full(noise, 1e6),
        "bases/of_attribute": np.full(len(sizes), -1, dtype=np.int32),
        f"queries/attributes_{order}": np.array(queries, dtype=np.int32),
        f"queries/kinds_{order}": np.zeros((len(queries), order), dtype=np.int16),
        f"queries/weights_{order}": np.ones(len(queries)),
    }
    return forge(tmp_path / "forged", plan, header, arrays)


@pytest.mark.parametrize(
    ("sizes", "queries", "noise"),
    [
        ([2] * 24, [list(range(24))], 5),
        ([2] * 24, [list(range(24))], 2**16),
        ([2] * 200, [list(range(start, start + 10)) for start in range(190)], 2**11),
    ],
)
def test_queries_with_more_subsets_than_there_is_noise_are_refused_before_these_are_made(
    tmp_path, sizes, queries, noise
):
    path = asking(tmp_path, sizes, queries, [{"kind": "identity"}], noise)
    small_plan().save(tmp_path / "plan")
    load_plan(tmp_path / "plan")  # what is imported on first use is no memory that the queries take
    tracemalloc.start()
    with pytest.raises(
        rp.errors.FileFormatError, match=f"noise_variance has {noise:,} entries, fewer than the queries have sub"
    ):
        load_plan(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize("kind", ["prefix", "range"])
def test_the_cost_of_large_attributes_is_checked_without_matrices(tmp_path, kind):
    path = asking(tmp_path, [10_000, 9_999], [[0], [1]], [{"kind": kind}], 3)
    tracemalloc.start()
    with pytest.raises(rp.errors.BudgetError, match="the plan states pcost"):
        load_plan(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**24


@pytest.mark.parametrize(
    "told", [{"values": None}, {"levels": [2]}, {"levels": [[["low", [0, 1]], ["high", [2, 3]]], 1]}]
)
def test_hierarchies_of_a_plan_are_written_out(told):
    kind = Hierarchy([{"low": [0, 1], "high": [2, 3]}]).on(Attribute("values", 4)).to_json()
    header, arrays = plan_to_archive(small_plan())
    with pytest.raises(rp.errors.FileFormatError, match="must have its values, and groups in place of widths of bands"):
        plan_from_archive({**header, "kinds": [{**kind, **told}]}, arrays)


@settings(max_examples=150)
@given(data=st.data())
def test_pieces_cut_out_repeated_or_overwritten_are_refused_or_harmless(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "mangled plan"
    small_plan().save(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        stop = min(len(content), start + data.draw(st.integers(0, 300)))
        piece = data.draw(
            st.sampled_from([b"", bytes(content[start:stop]) * 2, b"\xff" * (stop - start)]) | st.binary(max_size=40)
        )
        content[start:stop] = piece
    path.write_bytes(content)
    require_harmless_or_refused(lambda: load_plan(path))


def test_a_file_of_another_kind_is_named(tmp_path):
    small_plan().save(tmp_path / "plan")
    whole, members = read(tmp_path / "plan")
    other = write(tmp_path / "other", {**whole, "format": "residualplanner/measurement"}, members)
    with pytest.raises(rp.errors.FileFormatError, match="this file holds a 'measurement', not a 'plan'"):
        load_plan(other)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ([{"kind": "identity"}] * 2, "must list each of its kinds of query once"),
        ([Custom([[1, 1], [0, 1]]).to_json()], "invalid workload in a plan: the matrix for"),
        ([Hierarchy([2]).on(Attribute("a", 9)).to_json()], "invalid workload in a plan: the hierarchy on"),
        ([{"kind": "custom", "size": 3, "rows": [], "labels": None}], "a kind 'custom' must have rows"),
    ],
)
def test_kinds_of_query_that_do_not_fit_their_attributes_are_refused(kinds, message):
    header, arrays = plan_to_archive(small_plan())
    with pytest.raises(rp.errors.FileFormatError, match=message):
        plan_from_archive({**header, "kinds": kinds}, arrays)


@pytest.mark.parametrize("field", ["loss_value", "gap"])
def test_a_number_too_large_for_a_float_is_refused(field):
    header, arrays = plan_to_archive(small_plan())
    with pytest.raises(
        rp.errors.FileFormatError, match=f"a plan's {field} must be a number, at least 0 and not too large"
    ):
        plan_from_archive({**header, field: 10**400}, arrays)
