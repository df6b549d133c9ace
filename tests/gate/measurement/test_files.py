"""A measurement read from a file is the one that was written, tells nothing about the records, and fits its plan."""

import itertools
import math
import platform
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy

import residualplanner as rp
from inner_parts import archive, array_hashes
from inner_parts import precision as precision_part
from random_plans import plan_by_set, sample_workload
from replayed_measuring import measured_with
from residualplanner import Domain, load_measurement, marginals, measure, select, zcdp
from saved_plans import changes, placed, plan_hash, plan_to_archive, read, write

DOMAIN = Domain({"a": 3, "one": 1, "b": 2, "c": ["x", "y", "z", "w"]})
PLAN = select(marginals(DOMAIN, up_to=2), budget=zcdp(0.5))
CODES = np.random.default_rng(5).integers(0, DOMAIN.sizes, (40, 4))
KIND = {"kind": "measurement"}


BY_SET = plan_by_set(sample_workload(), 6)
HUGE = replace(PLAN, noise_variances=np.where(PLAN.closure.orders == 2, 1e60, PLAN.noise_variances))


@pytest.fixture
def path(tmp_path):
    measure(PLAN, CODES).save(tmp_path / "measurement")
    return tmp_path / "measurement"


@pytest.fixture
def continuous(tmp_path):
    measure(PLAN, CODES, noise="gaussian").save(tmp_path / "measurement")
    return tmp_path / "measurement"


@pytest.fixture
def huge(tmp_path):
    """A measurement with noise that int64 cannot hold."""
    measure(HUGE, CODES).save(tmp_path / "measurement")
    return tmp_path / "measurement"


def seeded(codes, seed):
    return measure(PLAN, codes, noise="gaussian", seed=seed)


CONTINUOUS = [lambda seed=seed: seeded(CODES, seed) for seed in (None, 0, 2**70)]
BY_SET_CODES = np.random.default_rng(5).integers(0, BY_SET.domain.sizes, (40, 4))
EXACT = [
    lambda plan=plan, codes=codes, make=make: make(plan, codes)
    for plan, codes in ((PLAN, CODES), (HUGE, CODES), (BY_SET, BY_SET_CODES))
    for make in (measure, lambda plan, codes: measured_with(plan, codes, 1))
]


@pytest.mark.parametrize("make", [*CONTINUOUS, *EXACT])
def test_a_measurement_comes_back_as_it_was(tmp_path, make):
    saved = make()
    saved.save(tmp_path / "file")
    loaded = load_measurement(tmp_path / "file")
    assert loaded.noise == saved.noise
    assert plan_hash(loaded.plan) == plan_hash(saved.plan)
    mine, theirs = loaded.residuals, saved.residuals
    assert mine.values.tobytes() == theirs.values.tobytes()
    assert [len(bases) for bases in mine.groups.bases] == [len(bases) for bases in theirs.groups.bases]
    stored = [mine.stored(group) for group in range(len(mine.groups.shapes))]
    assert all((stored[group] == theirs.stored(group)).all() for group in range(len(stored)))
    assert not any(numbers.flags.writeable for numbers in stored)
    assert mine.wide.keys() == theirs.wide.keys()
    assert bool(theirs.wide) == (saved.plan is HUGE)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "file").read_bytes()


def test_a_file_states_the_exact_cost_and_everything_else_about_the_noise(path):
    noise = archive.read_archive(path, **KIND)[0]["noise"]
    exact = sum(
        Fraction(math.nextafter(1 / variance, 0))
        * math.prod(Fraction(DOMAIN[n].size - 1, DOMAIN[n].size) for n in names)
        for names, variance in PLAN.noise_variance_of.items()
    )
    assert noise["pcost"] == f"{exact.numerator}/{exact.denominator}"
    assert noise["guarantee"] == (
        f"This release satisfies rho-zCDP with rho = {exact / 2} (<= 0.5) under adding or removing one record, with "
        "exact discrete Gaussian noise from the operating system's random bits."
    )
    assert (noise["kind"], noise["source"], noise["randomness"]) == ("discrete", "os.urandom", "operating system")
    assert noise["seed"] is None
    assert noise["package_versions"] == {
        "residualplanner": rp.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


@pytest.mark.parametrize(("seed", "origin"), [(None, "os.urandom"), (3, "the caller")])
def test_a_file_names_the_generator_of_continuous_noise_and_where_its_seed_came_from(tmp_path, seed, origin):
    measure(PLAN, CODES, noise="gaussian", seed=seed).save(tmp_path / "file")
    assert archive.read_archive(tmp_path / "file", **KIND)[0]["noise"]["source"] == (
        f"numpy.random.SFC64 with a seed from {origin}"
    )
    assert load_measurement(tmp_path / "file").noise.seed == seed


def rewrite(path, edit, *, plan_too=False):
    """Change the header and arrays of a file, all its checksums made to fit, perhaps that of the plan too."""
    header, arrays = archive.read_archive(path, **KIND)
    arrays = {name: array.copy() for name, array in arrays.items()}
    edit(header, arrays)
    if plan_too:
        plan_arrays = {name.removeprefix("plan/"): array for name, array in arrays.items() if name.startswith("plan/")}
        header["plan_sha256"] = array_hashes.content_hash(header["plan"], plan_arrays)
    archive.write_archive(path, **KIND, header=header, arrays=arrays)


def other_plan(plan):
    def edit(header, arrays):
        header["plan"], theirs = plan_to_archive(plan)
        for name in [name for name in arrays if name.startswith("plan/")]:
            del arrays[name]
        arrays.update({f"plan/{name}": array for name, array in theirs.items()})

    return edit


def scaled(name, factor):
    def edit(_header, arrays):
        arrays[name] = (arrays[name] * factor).astype(arrays[name].dtype)

    return edit


def spoil(value):
    def edit(_header, arrays):
        arrays["residuals"][3] = value

    return edit


def edit_noise(**told):
    return lambda header, _arrays: header["noise"].update(told)


ANY_KIND = [
    (other_plan(select(marginals(DOMAIN, order=1), budget=zcdp(0.5))), "not the one that was measured"),
    (lambda h, a: h["plan"].update(gap=0.5), "not the one that was measured"),
    (lambda h, a: a["plan/noise_variance"].__setitem__(0, 1e9), "not the one that was measured"),
    (lambda h, a: h.update(plan_sha256="0" * 64), "not the one that was measured"),
    (lambda h, a: h.update(more=1), "must have the fields"),
    (lambda h, a: h.pop("noise"), "must have the fields"),
    (lambda h, a: a.update(more=np.zeros(1)), "must have its answers and the arrays of its plan, and no others"),
    (lambda h, a: h["noise"].pop("guarantee"), "must say which kind of noise it has"),
    (edit_noise(more=1), "must say which kind of noise it has"),
    (edit_noise(seed=-1), "a seed must be an integer"),
    *(
        (edit_noise(**told), "contradicts itself")
        for told in (
            *(
                {"seed": 5},
                {"kind": "laplace"},
                {"kind": ["discrete"]},
                {"source": None},
                {"precision": "as one likes"},
            ),
            {"source": "numpy.random.SFC64 with a seed from the caller"},
            {"source": "InsecureTestBits: not private"},
            {"guarantee": "pure differential privacy"},
            {"randomness": "seeded, not private"},
            {"neighbors": "replacing one record"},
        )
    ),
    (edit_noise(package_versions={}), "must give the versions"),
    (edit_noise(unlimited_because="two\nlines"), "must be a short printable string"),
    (lambda h, a: h["noise"]["package_versions"].update(numpy="1.0\nsafe"), "must give the versions"),
]


WORDS, FIT = "wide integers must be groups and words", "the plan needs 18 residual answers, one axis of int64"
OTHERS = "must have its answers and the arrays of its plan, and no others"
CONTINUOUS_ANSWERS = [
    (lambda h, a: a.pop("residuals"), OTHERS),
    (lambda h, a: a.update(residuals=a["residuals"].reshape(2, -1)), "the plan needs 18 residual answers"),
    (lambda h, a: a.update(residuals=a["residuals"].astype("<f4")), "the plan needs 18 residual answers"),
    (spoil(np.nan), "must be finite"),
    (spoil(-np.inf), "must be finite"),
    (edit_noise(pcost="1/1"), "contradicts itself"),
]

HUGE_ANSWERS = [
    (edit_noise(unlimited_because="none of your business"), "contradicts itself"),
    *((lambda h, a, name=name: a.pop(name), OTHERS) for name in ("integers", "wide_groups", "wide_integers")),
    (lambda h, a: a.update(integers=a["integers"][:-1]), FIT),
    (lambda h, a: a.update(integers=np.append(a["integers"], 0)), FIT),
    (lambda h, a: a.update(integers=a["integers"].astype("<i4")), FIT),
    (lambda h, a: a["integers"].__setitem__(-1, 1), "exactly where int64 cannot hold them"),
    (lambda h, a: a["wide_integers"].__setitem__(slice(None), 0), "not have more words than they need"),
    (lambda h, a: a.update(wide_integers=a["wide_integers"][:-1]), "more or fewer wide integers"),
    (lambda h, a: a.update(wide_integers=a["wide_integers"].ravel()), WORDS),
    (lambda h, a: a.update(wide_groups=a["wide_groups"].astype("<f8")), WORDS),
    (lambda h, a: a.update(wide_groups=a["wide_groups"][::-1]), "must be ascending, and groups of the plan"),
]
EDITS = [
    *((kind, *edit) for kind in ("path", "continuous") for edit in ANY_KIND),
    *(("continuous", *edit) for edit in CONTINUOUS_ANSWERS),
    *(("huge", *edit) for edit in HUGE_ANSWERS),
]


@pytest.mark.parametrize(("kind", "edit", "reason"), EDITS)
def test_an_edited_measurement_is_refused(request, kind, edit, reason):
    path = request.getfixturevalue(kind)
    rewrite(path, edit)
    with pytest.raises(rp.errors.FileFormatError, match=reason):
        load_measurement(path)


@pytest.mark.parametrize("cost", ["0/1", "1/1", "1/2", 1, None, "9" * 5000, {}])
def test_another_cost_than_that_of_the_plan_is_refused(path, cost):
    rewrite(path, edit_noise(pcost=cost))
    with pytest.raises(rp.errors.BudgetError, match=r"states the exact cost .*, but .* noise costs .*; get the file"):
        load_measurement(path)


#: With one basis for each attribute in place of those that were measured.
ONE_BASIS = replace(
    BY_SET,
    strategy=rp.strategies.constant_strategy(BY_SET.closure, BY_SET.strategy.of_attributes),
    noise_variances=BY_SET.noise_variances * 99,
)


@pytest.mark.parametrize(
    ("edit", "error", "reason"),
    [
        (edit_noise(pcost="1/1"), rp.errors.BudgetError, "states the exact cost"),
        (edit_noise(precision="w = 1 / noise_variance"), rp.errors.FileFormatError, "contradicts itself"),
        (scaled("plan/bases/messages", 0), rp.errors.BudgetError, r"states pcost|more than the budget"),
        (scaled("plan/bases/matrix_2", 2), rp.errors.BudgetError, "more than the budget"),
        (scaled("plan/noise_variance", 4), rp.errors.BudgetError, "states pcost"),
        (other_plan(ONE_BASIS), rp.errors.BudgetError, "states the exact cost"),
    ],
)
def test_an_edited_measurement_with_bases_by_set_is_refused(tmp_path, edit, error, reason):
    measure(BY_SET, BY_SET_CODES).save(tmp_path / "file")
    rewrite(tmp_path / "file", edit, plan_too=True)
    with pytest.raises(error, match=reason):
        load_measurement(tmp_path / "file")


def test_the_cost_can_be_computed_from_the_file_by_the_rule_that_it_states(tmp_path):
    """As somebody would who has the file and the rule, and nothing of this library."""
    measure(BY_SET, BY_SET_CODES).save(tmp_path / "file")
    (header, arrays), sizes = archive.read_archive(tmp_path / "file", **KIND), BY_SET.domain.sizes
    assert header["noise"]["precision"] == precision_part.PRECISION_RULE_VARYING
    w = [Fraction(math.nextafter(1 / variance, 0)) for variance in arrays["plan/noise_variance"].tolist()]
    sets = [members for k in range(4) for members in itertools.combinations(range(3), k) if members in BY_SET.closure]
    of_attribute, varying = (arrays[f"plan/bases/{name}"].tolist() for name in ("of_attribute", "varying"))
    of_factor, messages = (iter(arrays[f"plan/bases/{name}"].tolist()) for name in ("of_factor", "messages"))
    bound, values = Fraction(0), {}
    for precision, members in zip(w, sets, strict=True):
        squares, told = [], []
        for i in members:
            number, n = next(of_factor) if i in varying else of_attribute[i], sizes[i]
            B = arrays[f"plan/bases/matrix_{number}"].tolist() if number >= 0 else None
            squares.append([Fraction(n - 1, n) if B is None else sum(row[j] ** 2 for row in B) for j in range(n)])
            told.append([Fraction(next(messages)) for _ in range(n)] if B and len(members) > 1 else [Fraction(0)] * n)
        if len(members) == 1:
            values[members[0]] = [precision * square for square in squares[0]]
            continue
        cells = itertools.product(*(range(sizes[i]) for i in members))
        bound += max(
            precision * math.prod(axis[j] for axis, j in zip(squares, cell, strict=True))
            - sum(axis[j] for axis, j in zip(told, cell, strict=True))
            for cell in cells
        )
        for i, axis in zip(members, told, strict=True):
            values[i] = [value + message for value, message in zip(values[i], axis, strict=True)]
    bound += sum(map(max, values.values()))
    assert header["noise"]["pcost"] == f"{bound.numerator}/{bound.denominator}"


@pytest.mark.slow
def test_any_field_of_the_header_replaced_is_refused_in_our_own_words(path):
    header, members = read(path)
    for place, old in changes(header):
        if place in ((), ("package_version",)):
            continue
        for value in (None, -1, [], {}, "x", 10**30):
            if type(old) is type(value) and old == value:
                continue
            write(path, placed(header, place, value), members)
            with pytest.raises(rp.errors.ResidualPlannerError):
                load_measurement(path)
