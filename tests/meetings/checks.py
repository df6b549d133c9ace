"""What is compared of a case that has run: cost and numbers with the oracle, files and pages with one another."""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import residualplanner as rp
from meetings import oracle
from meetings.build import SEXES, SIZE, Built, Line
from meetings.factors import Product
from meetings.oracle import Question
from meetings.roads import FEW, frames, number, numbers, page_data

#: Noise is within so many standard errors: the chance that one of a million numbers is not is 1e-9.
FAR = 8
LEVELS = {"default": 0.95, "acs": 0.90, "gls": 0.95}
STEP = 1e-9


def check_cost(built: Built, measurement: rp.Measurement) -> None:
    """The stated costs are at least the true ones, and at most the budget."""
    plan = measurement.plan
    terms = {
        "replace": built.case["neighbors"] == "replace",
        "records": built.people.most,
        "largest_weight": Fraction(built.weights.maximum) if built.weights else Fraction(1),
    }
    budget = Fraction(built.budget)
    true = oracle.cost(built.measured(plan, lambda variance: 1 / Fraction(variance)), **terms)
    assert true <= Fraction(plan.pcost) <= budget, (float(true), plan.pcost)
    if built.case["noise"] == "gaussian":
        assert measurement.noise.pcost is None
        return
    assert measurement.noise.pcost is not None
    assert measurement.noise.pcost <= budget
    if built.case["bases"] == "optimal_by_set" or built.case["road"] == "two measurements":
        assert float(measurement.noise.pcost) >= float(true) * (1 - STEP)
    else:  # as the rule of precision in the file says
        drawn = oracle.cost(built.measured(plan, lambda variance: math.nextafter(1 / variance, 0)), **terms)
        assert drawn <= measurement.noise.pcost


def check_told(built: Built, measurement: rp.Measurement) -> None:
    """What is said of the noise is true, and of the records that are left out."""
    noise = measurement.noise
    assert noise.has_guarantee == (built.case["noise"] == "discrete")
    assert noise.kind == ("gaussian" if built.case["noise"] == "gaussian" else "discrete")
    has_drop = "drop" in (built.rules.unknown, built.rules.missing)
    assert ("left out" in noise.omission) == has_drop
    if built.case["noise"] != "bits":
        assert ("who" in noise.omission) == (built.people.limited or built.is_linked_and_limited)


class Tables:
    """The true tables of a case, and the standard errors of unbiased estimates, by arithmetic."""

    def __init__(self, built: Built, plan: rp.Plan, lines: Sequence[Line]) -> None:
        records = built.counted(lines)
        self.built, self.records = built, records
        self.truth = [np.array(oracle.truth(question, records), dtype=np.float64) for question in built.questions]
        self.std_err = built.std_errs(plan)

    @property
    def total(self) -> float:
        """How many records there are, or what they add up to."""
        return float(sum(weight for weight, _ in self.records))

    def check(self, columns: Sequence[Mapping[str, Any]]) -> None:
        """The columns of each file against these."""
        for question, truth, std_err, found in zip(
            self.built.questions, self.truth, self.std_err, columns, strict=True
        ):
            try:
                self._check_numbers(question, truth, std_err, found)
                self._check_errors(std_err, found)
                self._check_labels(question, found)
            except AssertionError as error:
                raise AssertionError(f"{question.query}: {error}") from error

    def _check_numbers(
        self, question: Question, truth: np.ndarray, std_err: np.ndarray, found: Mapping[str, Any]
    ) -> None:
        product: Product = self.built.case["product"]
        got, noise = numbers(found, estimate_column(found), truth.shape), FAR * std_err + 1e-6
        is_large = self.built.amounts is not None and self.built.amounts.scale > 1
        if self.built.case["neighbors"] == "add-remove" and not is_large:
            assert float(noise.max()) < self.step / 2, f"noise of {std_err.max()} hides errors"
        # of rounded numbers cells are less than 1 apart, and sums of cells may be further
        room = product.base * (2 if product.base > 1 else 1 if self.step < 1 else 0.5)
        room *= 1 if product.base == 1 and self.step == 1 else question.cells_of_answers
        hidden = np.isnan(got) & self._may_hide(np.abs(truth) <= room + noise + self.step / 2)
        got = np.where(hidden, truth, got)
        if product.base:
            assert (got[~hidden] % product.base == 0).all(), got
        off = np.abs(got - truth)
        assert (off <= room + (3 if product.nonnegative else 1) * noise).all(), (got, truth, std_err)
        if product.nonnegative and not self.built.amounts:
            assert (got >= 0).all()
        for name in filter(_is_unbiased, found):
            unbiased = numbers(found, name, truth.shape)
            unbiased = np.where(np.isnan(unbiased) & hidden, truth, unbiased)
            assert (np.abs(unbiased - truth) <= noise).all(), (unbiased, truth)

    def _may_hide(self, is_near_zero: np.ndarray) -> np.ndarray:
        """Which cells files may leave out."""
        return is_near_zero & bool(self.built.case["quality"])

    @property
    def step(self) -> float:
        """What all answers are multiples of, at most 1."""
        return 1.0 if self.built.weights is None else float(Fraction(self.built.weights.unit))

    def _check_errors(self, std_err: np.ndarray, found: Mapping[str, Any]) -> None:
        case = self.built.case
        level = case["level"] or LEVELS[case["profile"]]
        factor = NormalDist().inv_cdf((1 + level) / 2)
        for start, wanted in (("std_err", 1.0), ("std_dev", 1.0), ("moe", factor), ("M", factor)):
            for name in [name for name in found if name == start or name.startswith(f"{start}_unb")]:
                errors = numbers(found, name, std_err.shape)
                assert np.allclose(errors, wanted * std_err, rtol=1e-5, atol=1e-12), (name, errors, std_err)
        if "ci_low" in found and not case["quality"]:
            middle = (numbers(found, "ci_low", std_err.shape) + numbers(found, "ci_high", std_err.shape)) / 2
            unbiased = not (case["product"].nonnegative or case["product"].base)
            if unbiased:
                assert np.allclose(middle, numbers(found, estimate_column(found), std_err.shape), atol=1e-9)

    def _check_labels(self, question: Question, found: Mapping[str, Any]) -> None:
        """Labels of attributes in single values, in the order of the cells."""
        if question.where or "estimate" not in found or self.built.case["format"] == "parts":
            return
        is_marginal = isinstance(question.query, tuple)
        own = [*self.built.column.declared.get("labels", ()), *self.built.own] if is_marginal else ()
        for axis, name in enumerate(question.axes):
            labels = list(map(str, {"a": own, "b": SEXES, "d": range(SIZE)}.get(name, ())))
            if name in found and len(labels) == question.shape[axis]:
                codes = np.indices(question.shape)[axis].ravel()
                read, written = ([label.lower() for label in map(str, each)] for each in (found[name], labels))
                assert read == [written[code] for code in codes], (name, found[name])  # CSV has true for True


def check_page(built: Built, page: Path, estimates: Sequence[np.ndarray]) -> None:
    """The page shows what the files hold, to the digits shown."""
    if built.case["report"] == 2:
        assert page.stat().st_size
        return
    data, few = page_data(page), built.case["report"] == 3
    queries = list(built.workload)
    of_query = dict(zip(built.positions, estimates, strict=True))
    assert few or len(data["tables"]) == len(queries)
    sizes = [of_query[i].size for i in range(len(queries))]
    chosen = sorted(sorted(range(len(queries)), key=lambda i: sizes[i])[: len(data["tables"])])
    assert not few or sum(sizes[i] for i in chosen) <= FEW
    (column,) = [column for column in data["columns"] if column["key"] == "estimate"]
    for i, table in zip(chosen, data["tables"], strict=True):
        decimals = 0 if column["form"] == "count" else table.get("decimals", column["decimals"])
        held, shown = of_query[i].ravel(), table["values"]["estimate"]
        shown = np.array([number(entry) for entry in (shown if isinstance(shown, list) else [shown] * held.size)])
        far = np.abs(shown - held) > 0.5000001 * 10.0**-decimals + 1e-15 * np.abs(held)
        assert not far.any(), f"{queries[i]}: {shown} for {held}"
        assert (np.isnan(shown) == np.isnan(held)).all(), f"{queries[i]}: {shown} for {held}"


def check_files(built: Built, folder: Path, tables: Tables) -> list[np.ndarray]:
    """Every number of every file, as the reader gives it, and what `load_tables` says of it, which is returned."""
    queries = [question.query for question in built.questions]
    columns = frames(folder, built)
    tables.check(columns)
    saved = rp.load_tables(folder)
    estimates = [np.array(saved[query].estimate) for query in queries]
    for query, found, truth, estimate in zip(queries, columns, tables.truth, estimates, strict=True):
        written = numbers(found, estimate_column(found), truth.shape)
        assert np.array_equal(estimate, written, equal_nan=True), f"{query}: load_tables gives other numbers"
    _check_statistics(built, saved, tables)
    _check_comparisons(saved, tables)
    return estimates


def _check_comparisons(saved: Any, tables: Tables) -> None:
    """Ranks are what noise leaves of the true ones, ratios and coefficients within their errors; if there are any."""
    for name in saved.numbers.described.comparisons:
        word, _, number_of = name.partition("-")
        frame, truth = saved.numbers.comparison(name), tables.truth[int(number_of)].ravel()
        if word == "regression":
            _check_regression(frame, tables)
        elif word == "ranks":
            larger = [sum(truth > value) for value in truth]
            smaller = [sum(truth < value) for value in truth]
            limits = sorted(zip(frame["first"], frame["last"], strict=True))
            possible = sorted(zip((each + 1 for each in larger), (len(truth) - each for each in smaller), strict=True))
            assert all(
                low <= most and least <= high for (low, high), (least, most) in zip(limits, possible, strict=True)
            )
        elif tables.total > 0:
            off = np.abs(frame["estimate"].to_numpy() - truth / tables.total)
            assert (off <= FAR * frame["std_err"].to_numpy() + 1e-6).all(), (name, off)


def _check_regression(frame: Any, tables: Tables) -> None:
    """The coefficients are the mean of those without ``b``, and how far that of the others is from it."""
    sums = np.zeros((2, 2))
    for weight, values in tables.records:
        if values["pay"][1] is not None:
            sums[values["b"]] += float(weight) * np.array([1.0, float(values["pay"][1])])
    if sums[:, 0].all():
        first, other = sums[:, 1] / sums[:, 0]
        off = np.abs(frame["estimate"].to_numpy() - [first, other - first])
        assert (off <= FAR * frame["std_err"].to_numpy() + 1e-6).all(), (frame, first, other)


def _check_statistics(built: Built, saved: Any, tables: Tables) -> None:
    """Means of amounts, and proportions, are those of the records."""
    for question in built.questions:
        if question.statistic == "proportions":
            _check_proportions(question, saved.numbers.statistic(question.query).to_dict("records"), tables)
        if question.statistic not in ("mean", "standard deviation"):
            continue
        frame, name = saved.numbers.statistic(question.query), next(iter(question.axes))
        values = sorted({values[name] for _, values in tables.records} | set(range(len(question.axes[name]))))
        for row, value in zip(frame.to_dict("records"), values, strict=True):
            chosen = [
                (weight, values["pay"][1])
                for weight, values in tables.records
                if values[name] == value
                and values["pay"][1] is not None
                and all(values[key] in codes for key, codes in question.where.items())
            ]
            count = sum(weight for weight, _ in chosen)
            if count:
                mean = float(sum(weight * amount for weight, amount in chosen) / count)
                if question.statistic == "standard deviation":
                    squares = float(sum(weight * (float(amount) - mean) ** 2 for weight, amount in chosen) / count)
                    given, low, high = (_of_statistic(row, word) for word in ("std_dev", "low", "high"))
                    off = abs(given - math.sqrt(squares))
                    assert np.isnan(given) or off < 0.5 * built.amounts.scale + 5 * (high - low), (
                        question.query,
                        given,
                    )
                    assert low - 1e-6 <= np.nan_to_num(given, nan=low) <= high + 1e-6, row
                    continue
                given, low, high = (_of_statistic(row, word) for word in ("mean", "low", "high"))
                if np.isnan(given):  # the count of a few records was estimated as 0 or less
                    assert _of_statistic(row, "too_noisy"), row
                    assert low <= high, row
                    continue
                off = abs(given - mean)
                error = max(high - low, _of_statistic(row, "std_err"))  # an interval beyond a limit is that limit alone
                assert off < 0.5 * built.amounts.scale + 5 * error, (question.query, given, mean)
                assert low - 1e-9 <= given <= high + 1e-9


def _check_proportions(question: Question, rows: Sequence[Mapping[str, Any]], tables: Tables) -> None:
    """Each proportion is that of the records, but for noise."""
    own = "pay" if "pay" in question.axes else "a"
    group = next(name for name in question.axes if name != own)
    count, *values = question.axes[own][: (len(question.axes[own]) + 1) // 2]
    kept = [
        (weight, of) for weight, of in tables.records if all(of[key] in codes for key, codes in question.where.items())
    ]
    for row, (of_group, of_value) in zip(rows, itertools.product(question.axes[group], values), strict=True):
        own_group = [(weight * of_group(of[group]), of[own]) for weight, of in kept]
        total = sum(weight * count(value) for weight, value in own_group)
        with_value = sum(weight * of_value(value) for weight, value in own_group)
        if "proportion" not in row:  # of adjusted numbers, of which it is the share
            given, part, whole = (
                next(row[name] for name in row if name.startswith((f"{word}_nonneg", f"{word}_rounded")))
                for word in ("proportion", "count", "total")
            )
            assert np.isnan(given) if whole <= 0 else abs(given - np.clip(part / whole, 0, 1)) < 1e-9, row
            continue
        given, low, high, std_err = (row[word] for word in ("proportion", "low", "high", "std_err"))
        if total and not np.isnan(given):
            error = max(high - low, std_err)  # an interval beyond 0 or 1 is that end alone
            assert abs(given - float(with_value / total)) < 1e-6 + 5 * error, (question.query, row)
            assert low - 1e-9 <= given <= high + 1e-9, row


def _of_statistic(row: Mapping[str, Any], word: str) -> float:
    """A number of a row of statistics, with or without the ending of what is not unbiased."""
    (found,) = [row[name] for name in (word, f"{word}_unbiased") if name in row]
    return found


def estimate_column(found: Mapping[str, Any]) -> str:
    """The name of the column of published numbers."""
    names = [name for name in found if (name == "E" or name.startswith(("estimate", "E_"))) and not _is_unbiased(name)]
    assert len(names) == 1, list(found)
    return names[0]


def _is_unbiased(name: str) -> bool:
    return name in ("estimate_unbiased", "E_unbiased")
