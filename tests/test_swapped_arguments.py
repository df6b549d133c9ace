"""Arguments in each other's place get an error of ours, which says what to write and shows nobody's record."""

import traceback

import numpy as np
import pandas as pd
import pytest

import residualplanner as rp

SECRET = 918273645
DOMAIN = rp.Domain({"age": 2, "sex": 3, "home": 4})
WORKLOAD = rp.marginals(DOMAIN, up_to=2)
BUDGET = rp.zcdp(1)
PLAN = rp.select(WORKLOAD, budget=BUDGET)
RECORDS = pd.DataFrame({"age": [0, 1], "sex": [2, 1], "home": [SECRET, 3]})
COUNTS = {("age", "sex", "home"): np.ones((2, 3, 4), dtype=int)}
MEASUREMENT = rp.measure(PLAN, COUNTS)
RELEASE = rp.reconstruct(MEASUREMENT)
TABLE = RELEASE["age", "sex"]


OBJECTS = [DOMAIN, WORKLOAD, BUDGET, PLAN, MEASUREMENT, RELEASE, TABLE, RECORDS, RECORDS["home"], RECORDS.to_numpy()]
OBJECTS += ["a path", 7, None, [("age",)], {"age": 2}, rp.Plan, rp.Prefix(), RECORDS.to_numpy().tolist()]


def names_of(value):
    return "the class Plan" if value is rp.Plan else type(value).__name__


def made(path):
    return rp.Ledger.create(path, budget=BUDGET, data_set="people")


#: For each function what it takes, and what is said to anything else.
TAKERS = {
    "measure": (lambda x: rp.measure(x, RECORDS), rp.Plan, r"plan must be a Plan, got .*measure\(plan, rec"),
    "reconstruct": (rp.reconstruct, rp.Measurement, r"measurement must .*load_measurement\(path\)"),
    "nonnegative": (rp.nonnegative, rp.Release, r"release must be a Release, got .*nonnegative\(reconst"),
    "rounded": (rp.rounded, rp.Release, "release must be a Release, got "),
    "select": (lambda x: rp.select(x, budget=BUDGET), rp.Workload, r"workload must be .*marginals\(domain, up"),
    "resource_estimate": (rp.questions.resource_estimate, rp.Workload, "workload must be a Workload, got "),
    "sweep": (lambda x: rp.questions.sweep(x, [BUDGET]), rp.Workload, "workload must be a Workload, got "),
    "marginals": (lambda x: rp.marginals(x, up_to=2), rp.Domain, r"domain must be a Domain, .*Domain\({"),
    "Workload": (lambda x: rp.Workload(x, [("age",)]), rp.Domain, "domain must be a Domain, got "),
    "cost_of_more": (lambda x: rp.questions.cost_of_more(x, [("age",)]), rp.Plan, "plan must be a Plan, got "),
    "load_plan": (rp.load_plan, str, r'path must be a str or a PathLike, got .*load_plan\("people.plan"\)'),
    "load_measurement": (rp.load_measurement, str, "path must be "),
    "load_tables": (rp.load_tables, str, r'path must be .*write load_tables\("release"\)'),
    "plan.save": (PLAN.save, str, r'path must be .*plan.save\("people.plan"\)'),
    "measurement.save": (MEASUREMENT.save, str, "path must be "),
    "release.save": (RELEASE.save, str, "path must be "),
    "write_report": (lambda x: rp.publish.write_report("a", x), str, r'path must be .*t\(plan, "plan.html"\)'),
    "write_sdmx": (lambda x: rp.publish.write_sdmx("a", x), str, r"path must be .*write_sdmx\(release, "),
    "Ledger.open": (rp.Ledger.open, str, r'path must be .*Ledger.open\("people.ledger"\)'),
    "Ledger.create": (made, str, "path must be "),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_what_a_function_does_not_take_is_named_and_what_it_takes_as_well(taker):
    call, accepted, words = TAKERS[taker]
    for value in OBJECTS:
        if isinstance(value, accepted):
            continue
        with pytest.raises(rp.errors.ArgumentError, match=words) as caught:
            call(value)
        assert taker == "sweep" or str(caught.value).startswith(f"{taker}: ")
        assert isinstance(caught.value, TypeError)
        assert isinstance(caught.value, rp.errors.ResidualPlannerError)
        assert str(SECRET) not in str(caught.value)
        said = repr(value) if value is None or isinstance(value, str | int) else names_of(value)
        assert said in str(caught.value)


#: Functions that take more than one kind of argument; whatever else they get is refused in their own words.
OTHERS = {
    "query": PLAN.variance,
    "release": lambda x: RELEASE[x],
    "kind": lambda x: RELEASE[{"age": x}],
    "kinds": lambda x: rp.marginals(DOMAIN, up_to=1, kinds=x),
    "queries": lambda x: rp.Workload(DOMAIN, x),
    "budget": lambda x: rp.select(WORKLOAD, budget=x),
    "at_most": lambda x: rp.select(WORKLOAD, at_most=x),
    "loss": lambda x: rp.select(WORKLOAD, budget=BUDGET, loss=x),
    "weights of a loss": lambda x: rp.select(WORKLOAD, budget=BUDGET, loss=rp.losses.SumOfVariances(x)),
    "bases": lambda x: rp.select(WORKLOAD, budget=BUDGET, bases=x),
    "neighbors": lambda x: rp.select(WORKLOAD, budget=BUDGET, neighbors=x),
    "targets": lambda x: rp.select(WORKLOAD, loss=rp.losses.Targets({("age",): x})),
    "rho": rp.zcdp,
    "epsilon": lambda x: rp.approx_dp(x, 1e-9),
    "level": PLAN.errors,
    "noise": lambda x: rp.measure(PLAN, COUNTS, noise=x),
    "seed": lambda x: rp.measure(PLAN, COUNTS, noise="gaussian", seed=x),
    "ledger": lambda x: rp.measure(PLAN, COUNTS, ledger=x),
    "plans": rp.questions.compare,
    "one plan": lambda x: rp.questions.compare([x]),
    "data": lambda x: rp.measure(PLAN, x),
    "combine": TABLE.combine,
    "combination": lambda x: PLAN.combination_variance(("age", "sex"), x),
    "format": lambda x: None if x is None else RELEASE.save("not-made", x),
    "profile": lambda x: TABLE.to_frame(profile=x),
    "domain": rp.Domain,
    "values": lambda x: rp.Domain({"age": x}),
    "size": lambda x: rp.Attribute("age", x),
    "bins": rp.Bins,
    "levels": rp.Hierarchy,
    "strategy": rp.strategies.orthogonal_residuals,
}


@pytest.mark.parametrize("taker", OTHERS)
def test_no_other_argument_leads_to_a_foreign_error_nor_to_a_record_in_a_message(taker, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in OBJECTS:
        said = ""
        try:
            OTHERS[taker](value)
        except rp.errors.ResidualPlannerError as error:
            said = str(error)
        assert str(SECRET) not in said, value
    assert list(tmp_path.iterdir()) == []


def test_records_given_first_are_in_no_frame_of_the_traceback():
    with pytest.raises(rp.errors.ArgumentError) as caught:
        rp.measure(RECORDS, PLAN)
    frames = [frame for frame, _ in traceback.walk_tb(caught.value.__traceback__)][1:]
    assert frames
    assert not any(value is RECORDS for frame in frames for value in frame.f_locals.values())


def test_other_objects_of_this_library_hold_no_records():
    for value in (PLAN, MEASUREMENT, RELEASE, TABLE, WORKLOAD, DOMAIN):
        words = f"a {type(value).__name__} of this library holds no records; give a pa"
        with pytest.raises(rp.errors.DataError, match=words):
            rp.measure(PLAN, value)


#: What is nearly a word, and what is suggested.
MEANT = [
    (lambda: RELEASE["ag", "sex"], "'age'"),
    (lambda: rp.Workload(DOMAIN, [("age", "hom")]), "'home'"),
    (lambda: OTHERS["kinds"]({"agee": rp.Prefix()}), "'age'"),
    (lambda: OTHERS["bases"]("orthognal"), "'orthogonal'"),
    (lambda: OTHERS["neighbors"]("replaced"), "'replace'"),
    (lambda: OTHERS["weights of a loss"]("equals"), "'equal'"),
    (lambda: OTHERS["noise"]("discret"), "'discrete'"),
    (lambda: RELEASE.save("never", "parqet"), "'parquet'"),
    (lambda: OTHERS["profile"]("defualt"), "'default'"),
]


@pytest.mark.parametrize(("call", "meant"), MEANT, ids=[meant for _, meant in MEANT])
def test_what_was_meant_is_said(call, meant):
    with pytest.raises(rp.errors.ResidualPlannerError) as caught:
        call()
    assert f"did you mean {meant}?" in str(caught.value)


def test_files_of_another_kind_are_named(tmp_path):
    PLAN.save(tmp_path / "p")
    MEASUREMENT.save(tmp_path / "m")
    RELEASE.save(tmp_path / "tables", "csv")
    made(tmp_path / "a.ledger")
    cases = [
        (rp.load_plan, "m", "this file holds a 'measurement', not a 'plan'; name the plan file instead, or"),
        (rp.load_measurement, "p", "this file holds a 'plan', not a 'measurement'; name the measurement file instead"),
        (rp.load_plan, "tables", "this is the folder of a release, which load_tables reads; name the file of a plan"),
        (rp.load_measurement, ".", "this is a folder; name the file of a measurement"),
        (rp.load_plan, "a.ledger", "this is a ledger, which Ledger.open reads; name the file of a plan"),
        (rp.load_plan, "tables/index.csv", "this is a CSV file; name the file of a plan"),
    ]
    for load, name, words in cases:
        with pytest.raises(rp.errors.FileFormatError) as caught:
            load(tmp_path / name)
        assert str(caught.value).startswith(f"{tmp_path / name}: {words}")
