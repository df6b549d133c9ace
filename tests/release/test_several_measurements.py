"""A release of several measurements: the same numbers in every format, and every guarantee checked against its plan."""

import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import residualplanner as rp
from inner_parts import noise_record, precision
from made_releases import any_release
from random_plans import plan_by_hand, plan_by_set
from residualplanner.publish.files.manifest import about_plan
from saved_plans import plan_hash
from workloads_by_set import ODD

DOMAIN = rp.Domain({"sex": ["F", "M"], "age": 5, "region": 3})
CODES = np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(200, 3))
PILOT = rp.select(rp.marginals(DOMAIN, order=1), budget=rp.zcdp("0.5"))
SURVEY = rp.select(rp.marginals(DOMAIN, order=2), budget=rp.zcdp("0.25"), bases=PILOT.bases)
MEASURED = [rp.measure(plan, CODES) for plan in (PILOT, SURVEY)]
FORMATS = ("parquet", "csv", "xlsx", "parts")


def both():
    return rp.reconstruct(MEASURED)


@pytest.fixture(params=FORMATS)
def file_format(request):
    return request.param


@pytest.fixture
def folder(tmp_path, file_format):
    both().save(tmp_path / "both", file_format)
    return tmp_path / "both"


def forged_folder(folder, **plans):
    """Put plans in the place of those in a folder, and let all words about costs and all hashes be true of them."""
    for name, plan in plans.items():
        plan.save(folder / f"{name.replace('_', '-')}.plan")
    released, *measured = (rp.load_plan(folder / f"{name}.plan") for name in ("release", "measured-1", "measured-2"))
    costs = [precision.measured_cost(plan, precision.precision_of(plan.noise_variances)) for plan in measured]
    records = [
        noise_record.NoiseRecord("discrete", pcost=cost, neighbors=plan.neighbors.words)
        for cost, plan in zip(costs, measured, strict=True)
    ]
    noise = noise_record.NoiseRecord.of_several(measured, records)
    metadata = json.loads((folder / "metadata.json").read_text())
    metadata["privacy"] = {"guarantee": noise.guarantee, "protected_change": released.neighbors.words}
    (folder / "metadata.json").write_text(json.dumps(metadata | {"plan_sha256": plan_hash(released)}))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest |= {"plan": about_plan(released), "noise": noise.published(released)}
    for name in manifest["files"]:
        manifest["files"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_the_folder_has_the_plan_of_each_measurement_and_states_its_noise(folder):
    saved, manifest, release = rp.load_tables(folder), json.loads((folder / "manifest.json").read_text()), both()
    for query, table in release.items():
        assert saved[query].estimate.tolist() == table.estimate.tolist()
        assert saved[query].std_err.tolist() == table.std_err.tolist()
    assert saved.noise == release.noise
    assert saved.noise.pcost == MEASURED[0].noise.pcost + MEASURED[1].noise.pcost
    assert saved.numbers.metadata["privacy"]["guarantee"] == release.noise.guarantee
    stated = manifest["noise"]["measurements"]
    for number, (measurement, told) in enumerate(zip(MEASURED, stated, strict=True), 1):
        plan = rp.load_plan(folder / f"measured-{number}.plan")
        assert plan_hash(plan) == plan_hash(measurement.plan) == told["plan_sha256"]
        assert told["guarantee"] == measurement.noise.guarantee
        assert "seed" not in told
        assert saved.noise.measured[number - 1][1] == measurement.noise
    costs = [Fraction(told["pcost"]) for told in stated]
    assert Fraction(manifest["noise"]["pcost"]) == sum(costs)


@pytest.mark.parametrize("file_format", ["parquet", "parts"], indirect=True)
@pytest.mark.parametrize("seeds", [(1, 2), (3, None)])
def test_noise_for_research_is_read_back_as_what_it_is_and_its_seed_is_not_told(tmp_path, file_format, seeds):
    measured = [
        rp.measure(plan, CODES, noise="gaussian", seed=seed) for plan, seed in zip((PILOT, SURVEY), seeds, strict=True)
    ]
    release = rp.reconstruct(measured)
    release.save(tmp_path / "both", file_format)
    saved = rp.load_tables(tmp_path / "both")
    assert saved.noise.guarantee == release.noise.guarantee
    assert saved.noise.guarantee.startswith("none: whoever knows the seed")
    assert saved.noise.pcost is None
    assert '"seed"' not in (tmp_path / "both/manifest.json").read_text()


@pytest.mark.parametrize("file_format", ["parquet", "parts"], indirect=True)
def test_bases_that_vary_by_set_are_read_back(tmp_path, file_format):
    plan = plan_by_set(ODD)
    other = plan_by_hand(plan.workload, plan.strategy, plan.noise_variances * 1.7)
    release = rp.reconstruct([any_release(each, seed).measurement for seed, each in enumerate((plan, other))])
    release.save(tmp_path / "both", file_format)
    saved = rp.load_tables(tmp_path / "both")
    for query, table in release.items():
        assert saved[query].estimate.tolist() == table.estimate.tolist()


CHANGES = {
    "cheaper in all": lambda noise: noise.update(pcost="1/100"),
    "cheaper in one": lambda noise: noise["measurements"][0].update(pcost="1/100"),
    "another sentence of one": lambda noise: noise["measurements"][1].update(guarantee="Perfectly private."),
    "another plan": lambda noise: noise["measurements"][0].update(plan_sha256="ab" * 32),
    "one left out": lambda noise: noise["measurements"].pop(),
    "one alone": lambda noise: noise.update(measurements=noise["measurements"][:1]),
    "in another order": lambda noise: noise["measurements"].reverse(),
    "a seed": lambda noise: noise["measurements"][0].update(seed=1),
    "none": lambda noise: noise.pop("measurements"),
    "empty": lambda noise: noise.update(measurements=[]),
    "no list": lambda noise: noise.update(measurements={"0": 1, "1": 2}),
    "no objects": lambda noise: noise.update(measurements=["a", "b"]),
}


@pytest.mark.parametrize("file_format", ["parquet"], indirect=True)
@pytest.mark.parametrize("change", CHANGES)
def test_a_manifest_with_other_words_about_the_noise_is_refused(folder, change):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    CHANGES[change](manifest["noise"])
    path.write_text(json.dumps(manifest))
    with pytest.raises(rp.errors.FileFormatError, match=r"manifest\.json"):
        rp.load_tables(folder)


@pytest.mark.parametrize("file_format", ["parquet"], indirect=True)
@pytest.mark.parametrize(
    "forged",
    [
        {"measured_1": plan_by_hand(PILOT.workload, PILOT.strategy, PILOT.noise_variances * 2)},
        {"measured_2": plan_by_hand(SURVEY.workload, SURVEY.strategy, np.nextafter(SURVEY.noise_variances, np.inf))},
        {"measured_1": PILOT, "measured_2": PILOT},
        {"measured_1": rp.select(rp.marginals(rp.Domain({"sex": 2}), order=1), budget=rp.zcdp("0.5"))},
        {"measured_1": rp.select(PILOT.workload, budget=rp.zcdp("0.5"), neighbors="replace")},
        {"release": replace(both().plan, noise_variances=np.nextafter(both().plan.noise_variances, np.inf))},
        {"release": replace(both().plan, budget=rp.zcdp("0.8"))},
        {"release": replace(both().plan, loss_value=both().plan.loss_value * 1.01)},
        {"release": replace(both().plan, status="optimal")},
    ],
    ids="-".join,
)
def test_plans_that_are_not_those_of_the_measurements_are_refused_though_hashes_fit(folder, forged):
    forged_folder(folder, **forged)
    with pytest.raises(rp.errors.FileFormatError, match=r"manifest\.json: what it says of the noise is not true"):
        rp.load_tables(folder)


@pytest.mark.parametrize("file_format", ["parts"], indirect=True)
def test_a_plan_that_is_missing_or_altered_is_named(folder):
    path = folder / "measured-2.plan"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(rp.errors.FileFormatError, match=r"measured-2\.plan was altered"):
        rp.load_tables(folder)
    path.unlink()
    with pytest.raises(rp.errors.FileFormatError, match=r"measured-2\.plan is missing"):
        rp.load_tables(folder)


def test_reasons_of_ledgers_without_a_budget_and_what_is_left_out_are_told(tmp_path):
    domain = rp.Domain({"sex": rp.Attribute("sex", labels=["F", "M"], unknown="drop", missing="drop"), "age": 3})
    plan = rp.select(rp.marginals(domain, order=1), budget=rp.zcdp("0.1"))
    records, measured = {("sex",): np.array([3, 4]), ("age",): np.array([1, 2, 4])}, []
    for reason in ("a test", "another test", "a test"):
        ledger = rp.Ledger.create(tmp_path / f"{len(measured)}.ledger", budget=None, data_set="people", reason=reason)
        measured.append(rp.measure(plan, records, ledger=ledger))
    release = rp.reconstruct(measured)
    release.save(tmp_path / "all")
    for noise in (release.noise, rp.load_tables(tmp_path / "all").noise):
        assert noise.sentence.count("Its ledger limits no total: a test.") == 1
        assert "Its ledger limits no total: another test." in noise.sentence
        assert noise.omission
        assert noise.sentence.endswith(noise.omission)
        assert noise.has_guarantee
    assert rp.load_tables(tmp_path / "all").numbers.metadata["tables"]["left_out"] == release.noise.omission


def test_the_budget_of_all_is_the_sum_of_the_budgets_and_no_cost_is_above_it():
    for budgets in ([rp.zcdp("0.1")] * 3, [rp.approx_dp(epsilon, "1e-6") for epsilon in (1, 2)]):
        plans = [rp.select(rp.marginals(DOMAIN, order=order), budget=each) for order, each in enumerate(budgets, 1)]
        plan = rp.reconstruct([rp.measure(each, CODES) for each in plans]).plan
        total = sum(each.pcost_exact for each in budgets)
        assert total <= plan.budget.pcost_exact <= total * (1 + Fraction(1, 10**5))
        assert budgets[0] != rp.zcdp("0.1") or plan.budget == rp.zcdp("0.3")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "measurement"),
        ([PILOT, SURVEY], "measurement"),
        ("a.measurement", "measurement"),
        ([MEASURED[0], "a.measurement"], "measurement"),
        ([MEASURED[0], both().measurement], "must be a Measurement, got a CombinedMeasurement; write"),
        ([MEASURED[0], PILOT], "must be a Measurement, got a Plan; write"),
    ],
)
def test_what_is_no_measurement_is_refused_and_named(given, words):
    with pytest.raises(rp.errors.ArgumentError, match=words):
        rp.reconstruct(given)
