"""1,000 forged or damaged releases, each of which `residualplanner verify` must find.

    python -m benchmarks.forgeries                       1,000 of them; exit 1 if one is missed or an honest one is not
    python -m benchmarks.forgeries --count 100 --seed 7

Releases of several sorts are made.  Each forgery changes a copy of one, in one of the ways of `WAYS`.  Forgers know the
formats: hashes are made to match wherever that helps.  Damage is a byte, or a file, that is changed, cut or missing.
"""

import argparse
import csv
import hashlib
import io
import json
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import residualplanner as rp
from residualplanner.ground.archive import read_archive, write_archive
from residualplanner.ground.array_hashes import content_hash
from residualplanner.shell.verifier import verify

DOMAIN = rp.Domain({"age": rp.Bins([0, 18, 35, 50, 65]), "sex": ["F", "M"], "region": ["a", "b", "c"]})
AMOUNTS = {"low": 0, "high": 100, "unit": 5, "bins": [0, 20, 50, 100], "outside": "clip"}
PAY = rp.Domain({"sex": ["F", "M"], "pay": rp.Numeric(**AMOUNTS)})
SQUARES = rp.Domain({"sex": ["F", "M"], "pay": rp.Numeric(**AMOUNTS, squares=True)})
PLACES = rp.Hierarchy.from_frame(
    pd.DataFrame({"state": ["1", "1", "2"], "county": ["11", "12", "21"], "region": ["a", "b", "c"]}),
    ["state", "county", "region"],
)
LAND = rp.Domain({"region": PLACES, "sex": ["F", "M"], "country": ["one"]})
AGE, SEX, REGION = "age", "sex", "region"
PREFIX, RANGE, ONE = rp.Prefix(), rp.Range(), rp.Identity()
TREE = rp.Hierarchy([{"north": ["a", "b"], "south": ["c"]}], total="all")
ADDED, REPLACED = {"neighbors": "add-remove"}, {"neighbors": "replace"}
PAIRS = rp.Workload(DOMAIN, [(), (AGE,), (SEX,), (AGE, SEX), (REGION, SEX)])

#: Workloads, and how each is planned, by the words that are printed.
SORTS: dict[str, tuple[rp.Workload, dict[str, Any]]] = {
    "marginals": (rp.marginals(DOMAIN, up_to=2), {**ADDED, "loss": "sum"}),
    "largest variance": (PAIRS, {**ADDED, "loss": "max"}),
    "two records a person": (PAIRS, {**ADDED, "records_per_person": 2}),
    "replaced": (PAIRS, REPLACED),
    "prefixes, replaced": (rp.Workload(DOMAIN, [{AGE: PREFIX}, {AGE: PREFIX, SEX: ONE}]), {**REPLACED, "loss": "max"}),
    "ranges": (rp.Workload(DOMAIN, [{AGE: RANGE}, {AGE: RANGE, REGION: ONE}]), ADDED),
    "hierarchy": (rp.Workload(DOMAIN, [{REGION: TREE}, {REGION: TREE, SEX: ONE}]), ADDED),
    "by set": (rp.Workload(DOMAIN, [{AGE: PREFIX, SEX: ONE}, {AGE: ONE, REGION: ONE}, {REGION: TREE}, ()]), ADDED),
    "amounts": (rp.Workload(PAY, [{SEX: ONE, "pay": rp.Sum()}, {"pay": ONE}]), {**ADDED, "loss": "max"}),
    "means": (
        rp.Workload(PAY, [{SEX: ONE, "pay": rp.Mean()}, {"pay": rp.Quantiles(0.5)}, {"pay": rp.Sum("bin")}]),
        ADDED,
    ),
    "squares": (
        rp.Workload(
            SQUARES, [{"pay": kind} for kind in (rp.statistics.StandardDeviation(), rp.statistics.Moments(), PREFIX)]
        ),
        ADDED,
    ),
    "some records": (
        rp.Workload(
            DOMAIN,
            [
                {REGION: rp.Selection(["a", "c"]), SEX: ONE},
                {REGION: rp.Selection(["a", "b"], RANGE)},
                {SEX: rp.Proportions()},
            ],
        ),
        ADDED,
    ),
    "places": (rp.Workload(LAND, [{REGION: PLACES, SEX: ONE, "country": ONE}, ("country",)]), ADDED),
}


def honest(folder: Path, seed: int) -> Iterator[tuple[str, Path]]:
    """A release of each sort, as `release` makes it."""
    folder.mkdir()
    generator = np.random.default_rng(seed)
    for number, (name, (workload, how)) in enumerate(SORTS.items()):
        plan = rp.select(workload, budget=rp.approx_dp("1", "1e-6") if number == 1 else rp.zcdp("0.5"), time=2, **how)
        columns = {"age": generator.integers(0, 65, 300), "pay": 5.0 * generator.integers(0, 21, 300)}
        columns |= {"sex": generator.choice(["F", "M"], 300), "region": generator.choice(["a", "b", "c"], 300)}
        columns |= {"country": np.full(300, "one")}
        records = pd.DataFrame({each: columns[each] for each in workload.domain.names})
        path = folder / name
        profile = "acs" if name == "replaced" else "default"
        rp.reconstruct(rp.measure(plan, records)).save(path, format="csv", profile=profile)
        yield name, path


class Forged:
    """A copy of a release, open to be changed; `seal` writes it back with hashes that match."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.folder, self.chance = folder, chance
        self.plan, self.arrays = self._read("plan")
        self.measurement, self.answers = self._read("measurement")
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.metadata = json.loads((folder / "metadata.json").read_text())
        with open(folder / "index.csv", newline="") as file:
            self.tables = [row["file"] for row in csv.DictReader(file)]

    def _read(self, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
        content, arrays = read_archive(self.folder / f"release.{kind}", kind=kind)
        return content, {name: array.copy() for name, array in arrays.items()}

    def seal(self) -> None:
        """Write plan, measurement and JSON, the same plan in all, with their hashes."""
        digest = content_hash(self.plan, self.arrays)
        self.measurement |= {"plan": self.plan, "plan_sha256": digest}
        self.answers |= {f"plan/{name}": array for name, array in self.arrays.items()}
        same = {key: value for key, value in self.plan.items() if key in self.manifest["plan"]}
        self.manifest["plan"] |= {key: value for key, value in same.items() if key not in ("loss", "bases")}
        self.manifest["plan"]["sha256"] = self.metadata["plan_sha256"] = digest
        for kind, header, arrays in (
            ("plan", self.plan, self.arrays),
            ("measurement", self.measurement, self.answers),
        ):
            path = self.folder / f"release.{kind}"
            path.unlink()
            write_archive(path, kind=kind, header=header, arrays=arrays)
        (self.folder / "metadata.json").write_text(json.dumps(self.metadata, indent=1) + "\n")
        self.rehash()

    def rehash(self) -> None:
        """The hashes of all files as they are now."""
        path = self.folder / "index.csv"
        with open(path, newline="") as file:
            reader = csv.DictReader(file)
            rows = [{**row, "sha256": _sha256(self.folder / row["file"])} for row in reader]
        self._write(path, rows)
        for name in self.manifest["files"]:
            self.manifest["files"][name] = _sha256(self.folder / name)
        (self.folder / "manifest.json").write_text(json.dumps(self.manifest, indent=2) + "\n")

    def table(self, name: str, change: Callable[[list[dict[str, str]]], None]) -> None:
        """Change the rows of a table, or another CSV file."""
        with open(self.folder / name, newline="") as file:
            rows = [*csv.DictReader(file)]
        change(rows)
        self._write(self.folder / name, rows)

    @staticmethod
    def _write(path: Path, rows: list[dict[str, str]]) -> None:
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, [*rows[0]], quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(file.getvalue())


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class NotThisOne(Exception):  # noqa: N818 - it is no error
    """A way does not go with a release."""


def noise_lowered(forged: Forged) -> None:
    noise = forged.arrays["noise_variance"]
    # where records are replaced the total costs nothing, whatever its noise is: a release may have less
    first = 1 if forged.plan["neighbors"] == "replace" else 0
    noise[forged.chance.randrange(first, len(noise))] *= forged.chance.uniform(0.5, 0.99)
    forged.seal()


def all_noise_lowered(forged: Forged) -> None:
    forged.arrays["noise_variance"] *= forged.chance.uniform(0.3, 0.99)
    forged.seal()


def basis_changed(forged: Forged) -> None:
    names = [name for name in forged.arrays if name.startswith("bases/matrix")]
    if not names:
        raise NotThisOne
    matrix = forged.arrays[forged.chance.choice(names)]
    # Short rows are of directions that no query depends on: with others nothing that is published is different.
    lengths = np.abs(matrix).max(axis=1)
    at = (
        forged.chance.choice(np.flatnonzero(lengths > lengths.max() / 10).tolist()),
        forged.chance.randrange(len(matrix.T)),
    )
    matrix[at] += forged.chance.choice([-1, 1]) * max(1, int(np.abs(matrix).max()) // forged.chance.choice([2, 10, 30]))
    forged.seal()


def cost_understated(forged: Forged) -> None:
    less = Fraction(forged.chance.randrange(500, 999), 1000)
    forged.plan["pcost"] *= float(less)
    for noise in (forged.measurement["noise"], forged.manifest["noise"]):
        cost = Fraction(noise["pcost"]) * less
        for old, new in ((str(Fraction(noise["pcost"]) / 2), str(cost / 2)),):
            noise["guarantee"] = noise["guarantee"].replace(old, new)
        noise["pcost"] = f"{cost.numerator}/{cost.denominator}"
    forged.metadata["privacy"]["guarantee"] = forged.measurement["noise"]["guarantee"]
    forged.seal()


def sentence_changed(forged: Forged) -> None:
    said = forged.measurement["noise"]["guarantee"]
    record = "one record" if "one record" in said else "up to 2 records"
    others = [
        said.replace("(<= 0.", "(<= 0.0"),
        said.replace(record, "up to 9 records"),
        said.replace("rho = ", "rho = 1/"),
    ]
    others += ["none: " + said, said.replace("under ", "under adding, removing or ")]
    other = forged.chance.choice([each for each in others if each != said])
    forged.measurement["noise"]["guarantee"] = forged.manifest["noise"]["guarantee"] = other
    forged.metadata["privacy"]["guarantee"] = other
    forged.seal()


def more_people_protected(forged: Forged) -> None:
    before, after = forged.plan["records_per_person"], forged.plan["records_per_person"] + forged.chance.randint(1, 3)
    forged.plan["records_per_person"] = after
    old = "one record" if before == 1 else f"up to {before} records"
    for noise in (forged.measurement["noise"], forged.manifest["noise"]):
        noise |= {word: noise[word].replace(old, f"up to {after} records") for word in ("neighbors", "guarantee")}
    forged.metadata["privacy"]["guarantee"] = forged.measurement["noise"]["guarantee"]
    forged.seal()


def budget_understated(forged: Forged) -> None:
    given = forged.plan["budget"]["given"]
    given[0] = str(float(given[0]) * forged.chance.uniform(0.1, 0.95))
    forged.seal()


def bound_understated(forged: Forged) -> None:
    kinds = [kind["kind"] for kind in forged.plan["kinds"]]
    if kinds != ["identity"] or forged.plan["neighbors"] == "replace":
        raise NotThisOne  # of these the distance is not checked
    way = forged.chance.choice(["noise", "loss", "weights"])
    if way == "loss":
        forged.plan["loss_value"] *= forged.chance.uniform(0.5, 0.99)
    elif way == "weights" and "proof/weights" in forged.arrays:
        weights = forged.arrays["proof/weights"]
        weights[int(weights.argmax())] *= forged.chance.choice([0.3, 0.9, 1.1, 3.0])
    else:  # noise of the same cost, but not the best
        noise = forged.arrays["noise_variance"]
        precision = 1 / noise
        one, other = forged.chance.sample(range(len(noise)), 2)
        factors = _factors(forged)
        moved = forged.chance.uniform(0.1, 0.5) * precision[one] * factors[one]
        precision[one] -= moved / factors[one]
        precision[other] += moved / factors[other]
        noise[:] = 1 / precision * (1 + 1e-13)
    forged.seal()


def _factors(forged: Forged) -> list[float]:
    """What each set costs at unit noise, of marginals."""
    sizes = [size_of(each) for each in forged.plan["domain"]["attributes"]]
    queries = [row for k in forged.plan["orders"] for row in forged.arrays[f"queries/attributes_{k}"].tolist()]
    workload = rp.Workload(
        rp.Domain({str(i): n for i, n in enumerate(sizes)}), [tuple(map(str, row)) for row in queries]
    )
    return [float(np.prod([(sizes[i] - 1) / sizes[i] for i in own])) for own in workload.closure]


def size_of(attribute: dict[str, Any]) -> int:
    return len(attribute["bins"]["labels"] if "bins" in attribute else attribute["labels"])


def tables_swapped(forged: Forged) -> None:
    if len(forged.tables) < 2:
        raise NotThisOne
    one, other = (forged.folder / name for name in forged.chance.sample(forged.tables, 2))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    forged.rehash()


def estimate_changed(forged: Forged) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        row, more = forged.chance.choice(rows), forged.chance.choice([-1, 1]) * forged.chance.uniform(0.01, 50)
        for name in {"estimate", "E", "ci_low", "ci_high"} & row.keys():
            row[name] = str(float(row[name]) + more)

    forged.table(forged.chance.choice(forged.tables), change)
    forged.rehash()


def margin_shrunk(forged: Forged) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        factor = forged.chance.uniform(0.3, 0.999)
        for row in rows if forged.chance.random() < 0.5 else [forged.chance.choice(rows)]:
            for name in {"std_err", "moe", "M"} & row.keys():
                row[name] = str(float(row[name]) * factor)
            if "moe" in row:
                row |= {
                    name: str(float(row["estimate"]) + sign * float(row["moe"]))
                    for name, sign in (("ci_low", -1), ("ci_high", 1))
                }

    forged.table(forged.chance.choice(forged.tables), change)
    forged.rehash()


def error_table_changed(forged: Forged) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        row, name = forged.chance.choice(rows), forged.chance.choice(["std_err", "max_std_err", "moe"])
        row[name] = str(float(row[name]) * forged.chance.uniform(0.3, 0.999))

    forged.table("errors.csv", change)
    forged.rehash()


def labels_exchanged(forged: Forged) -> None:
    def change(rows: list[dict[str, str]]) -> None:
        names = [name for name in ("sex", "region", "age") if name in rows[0]]
        values = sorted({row[names[0]] for row in rows}) if names else []
        if len(values) < 2:
            raise NotThisOne
        one, other = forged.chance.sample(values, 2)
        for row in rows:
            row[names[0]] = {one: other, other: one}.get(row[names[0]], row[names[0]])

    named = [name for name in forged.tables if "@" not in name]
    if not named:
        raise NotThisOne
    forged.table(forged.chance.choice(named), change)
    forged.rehash()


def answers_changed(forged: Forged) -> None:
    """Some answers, at least half of them: a single one may matter to no table by a millionth of its error."""
    integers = forged.answers["integers"]
    for at in forged.chance.sample(
        range(len(integers)), forged.chance.randint((len(integers) + 1) // 2, len(integers))
    ):
        integers[at] += forged.chance.choice([-1, 1]) * 2 ** forged.chance.randrange(20, 40)
    forged.seal()


def plan_of_another(forged: Forged) -> None:
    """The noise of the plan is doubled, and that of the measurement is not."""
    forged.arrays["noise_variance"] *= 2
    header, arrays = forged.measurement, {**forged.answers}
    forged.seal()
    path = forged.folder / "release.measurement"
    path.unlink()
    write_archive(path, kind="measurement", header=header, arrays=arrays)
    forged.rehash()


def file_lost_or_added(forged: Forged) -> None:
    names = [each for each in forged.folder.rglob("*") if each.is_file()]
    path = forged.chance.choice(names)
    if forged.chance.random() < 0.5:
        path.unlink()
    else:
        path.with_name("more.csv").write_text('"estimate"\n1\n')


def file_cut(forged: Forged) -> None:
    path = forged.chance.choice([each for each in forged.folder.rglob("*") if each.is_file()])
    content = path.read_bytes()
    path.write_bytes(content[: forged.chance.randrange(len(content) - 1)])


def byte_changed(forged: Forged) -> None:
    """Any byte of any file; of the manifest one of what is proved of plan and noise, or of its hashes."""
    path = forged.chance.choice([each for each in forged.folder.rglob("*") if each.is_file()])
    content = bytearray(path.read_bytes())
    spans = [(0, len(content))]
    if path.name == "manifest.json":
        words = (b'"domain": {', b'"protected_change": ', b'"noise": {', b'"tables": {', b'"files": {')
        plan, change, noise, tables, files = map(content.index, words)
        spans = [(plan, change), (noise, tables), (files, len(content) - 1)]
    content[forged.chance.choice([at for first, last in spans for at in range(first, last)])] ^= (
        1 << forged.chance.randrange(8)
    )
    path.write_bytes(bytes(content))


WAYS: tuple[Callable[[Forged], None], ...] = (
    noise_lowered,
    all_noise_lowered,
    basis_changed,
    cost_understated,
    sentence_changed,
    more_people_protected,
    budget_understated,
    bound_understated,
    tables_swapped,
    estimate_changed,
    margin_shrunk,
    error_table_changed,
    labels_exchanged,
    answers_changed,
    plan_of_another,
    file_lost_or_added,
    file_cut,
    byte_changed,
)


def forgeries(count: int, seed: int, folder: Path) -> Iterator[tuple[str, str, Path]]:
    """So many forged releases, one after the other: the way, the sort of the release, and its folder."""
    chance, sources = random.Random(seed), dict(honest(folder / "honest", seed))
    made = 0
    while made < count:
        way, name = WAYS[made % len(WAYS)], chance.choice([*sources])
        copy = folder / "forged"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(sources[name], copy)
        try:
            way(Forged(copy, chance))
        except NotThisOne:
            continue
        made += 1
        yield way.__name__, name, copy


def _kept(rows: list[dict[str, str]]) -> None:
    """The same rows."""
    del rows


def is_accepted(honest: Path, copy: Path) -> bool:
    """Whether a release is verified as it is, and if a forger writes all of it again and changes nothing."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(honest, copy)
    forged = Forged(copy, random.Random(0))
    for name in (*forged.tables, "errors.csv"):
        forged.table(name, _kept)
    forged.seal()
    return not verify(honest, say=lambda _: None) and not verify(copy, say=lambda _: None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    made, found, missed, start = Counter[str](), Counter[str](), [], time.perf_counter()
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        for way, name, path in forgeries(chosen.count, chosen.seed, folder):
            made[way] += 1
            if verify(path, say=lambda _: None):
                found[way] += 1
            else:
                missed.append((way, name))
        wrong = [path.name for path in (folder / "honest").iterdir() if not is_accepted(path, folder / "forged")]
    for way in made:
        print(f"{way.replace('_', ' '):<24}{found[way]:>5} of {made[way]}")
    print(f"{'all':<24}{found.total():>5} of {made.total()}, in {time.perf_counter() - start:.0f} seconds")
    print(f"{len(SORTS) - len(wrong)} of {len(SORTS)} honest releases verified")
    for way, name in missed:
        print(f"missed: {way}, {name}")
    sys.exit(bool(missed or wrong))


if __name__ == "__main__":
    main()
