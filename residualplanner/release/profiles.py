"""The columns beside the labels in published tables: one profile for each sort of reader."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from residualplanner.ground.checks import FloatArray, entry_named
from residualplanner.ground.errors import WorkloadError
from residualplanner.ground.margins import margin_factor, require_level
from residualplanner.ground.words import COUNTS, ProfileName, names_text
from residualplanner.release.product import UNBIASED, Origin, Product
from residualplanner.release.quality import UNRELIABLE, Quality

#: The column that says in words which cell a row is about.
QUERY = "query"

#: Each quantity in words; ``{level}`` is the confidence level.
_MEANINGS = {
    "estimate": "unbiased estimate of the {what}; it can be negative and need not be an integer",
    "std_err": "standard error of the estimate, exact: the root of its variance",
    "moe": "margin of error: the estimate is within it of the truth with probability {level}",
    "conf_level": "confidence level of margins and intervals",
    "ci_low": "low end of the confidence interval of level {level}",
    "ci_high": "high end of the confidence interval of level {level}",
}
#: The same of numbers that were made from unbiased estimates: their own errors are not known from the plan.
_MADE = _MEANINGS | {
    "estimate": "{mark}",
    "std_err": "standard error of the unbiased estimate that this number was made from, exact; not that of this number",
    "moe": "margin of error of the unbiased estimate that this number was made from: that estimate is within it of the "
    "truth with probability {level}",
    "unbiased": "unbiased estimate that the number was made from; it can be negative and need not be an integer",
    "ci_low": "low end of the confidence interval of level {level} for the true {what}: that of the unbiased estimate, "
    "cut at the counts that are possible",
    "ci_high": "high end of that interval",
}
#: What the names of columns end with where numbers were made from unbiased estimates.
_ENDINGS = dict.fromkeys(("std_err", "moe", "unbiased", "ci_low", "ci_high"), "_unbiased")
_INTERVAL = frozenset(("ci_low", "ci_high"))
#: The columns on the quality of estimates, of any product; and what is left out of estimates that are suppressed.
_GRADES = (("cv", "cv"), ("quality", "quality"))
_SUPPRESSED = frozenset(("estimate", "unbiased", "ci_low", "ci_high", "cv"))
_CV = "coefficient of variation: the standard error{of} divided by the absolute value of the estimate; empty for 0"
_WITHOUT_UNIT = ("conf_level", "cv", "quality")


@dataclass(frozen=True, slots=True)
class Profile:
    """The columns of a published table beside its labels."""

    name: ProfileName
    level: float  # of confidence, unless another is given
    columns: tuple[tuple[str, str], ...]  # the name of each column of numbers, and the quantity that it holds
    is_described: bool = False  # whether a column `QUERY` says in words which cell a row is about
    has_noise: bool = False  # whether the noise of every set stands beside the tables; covariances follow from it
    product: Product = UNBIASED
    with_unbiased: bool = False  # whether unbiased estimates stand beside numbers that were made from them
    quality: Quality | None = None  # which estimates are reliable, if that is to be said

    def of(self, product: Product, *, with_unbiased: bool = False, with_intervals: bool = True) -> "Profile":
        """The profile of another product: names say what the numbers are, as "E_nonneg" and "E_unbiased"."""
        if product.is_unbiased:
            return self
        endings = _ENDINGS | {"estimate": product.ending}
        columns = []
        for column, quantity in self.columns:
            beside = [(column, "unbiased")] if with_unbiased and quantity == "estimate" else []
            every = [(column, quantity), *beside] if with_intervals or quantity not in _INTERVAL else []
            columns += [(name + endings.get(each, ""), each) for name, each in every]
        return replace(self, columns=tuple(columns), product=product, with_unbiased=with_unbiased)

    def graded(self, quality: Quality | None) -> "Profile":
        """The profile with columns on the quality of each estimate, unless ``quality`` is None."""
        return self if quality is None else replace(self, columns=self.columns + _GRADES, quality=quality)

    @property
    def optional_names(self) -> frozenset[str]:
        """The names of columns that may be empty in a row."""
        if self.quality is None:
            return frozenset()
        gone = _SUPPRESSED if self.quality.suppress else frozenset(("cv",))
        return frozenset(name for name, quantity in self.columns if quantity in gone)

    @property
    def estimate_name(self) -> str:
        """The name of the column of estimates, which every profile has."""
        return next(name for name, quantity in self.columns if quantity == "estimate")

    @property
    def has_integers(self) -> bool:
        """Whether the column of estimates holds integers: floating-point numbers where some are left out."""
        return self.product.is_rounded and self.estimate_name not in self.optional_names

    def numbers(self, estimate: FloatArray, std_err: FloatArray, level: float, *, origin: Origin) -> dict[str, Any]:
        """The columns of numbers by name, and of words for their quality; rounded estimates are integers.

        They are of cells, whose unbiased estimates, with their standard errors, are the origin's; nan is left out.
        Source: docs/mathematics.md section 7.
        """
        moe = margin_factor(level) * std_err
        shown: Any = estimate.astype(np.int64) if self.has_integers else estimate
        found = {"estimate": shown, "std_err": std_err, "moe": moe, "conf_level": np.full(estimate.shape, level)}
        found |= {"unbiased": origin.estimate} | dict(zip(("ci_low", "ci_high"), origin.interval(moe), strict=True))
        if self.quality is not None:
            variation = self.quality.variation(estimate, std_err)
            grades = self.quality.grades(variation)
            found |= {"cv": variation, "quality": grades}
            if self.quality.suppress:
                found |= {name: np.where(grades == UNRELIABLE, np.nan, found[name]) for name in _SUPPRESSED}
        return {name: found[quantity] for name, quantity in self.columns}

    def meanings(self, level: float, unit: str = COUNTS) -> list[tuple[str, str, str]]:
        """Name, unit and meaning of every column but the labels'; the unit is empty where there is none."""
        query = [(QUERY, "", "the cell in words: each attribute and its label")] if self.is_described else []
        meanings = _MEANINGS if self.product.is_unbiased else _MADE
        of = "" if self.product.is_unbiased else " of the unbiased estimate"
        meanings = meanings | {"cv": _CV.format(of=of), "quality": self.quality.meaning if self.quality else ""}
        words = {"level": level, "mark": self.product.mark, "what": "count" if unit == COUNTS else "sum"}
        return query + [
            (name, "" if quantity in _WITHOUT_UNIT else unit, meanings[quantity].format(**words))
            for name, quantity in self.columns
        ]


_ALL = tuple((quantity, quantity) for quantity in _MEANINGS)

#: The profiles by name: for everyone, for readers of the American Community Survey, for generalized least squares.
PROFILES: dict[str, Profile] = {
    "default": Profile("default", 0.95, _ALL),
    "acs": Profile("acs", 0.90, (("E", "estimate"), ("M", "moe"))),
    "gls": Profile("gls", 0.95, (("estimate", "estimate"), ("std_dev", "std_err")), is_described=True, has_noise=True),
}


def profile_named(name: object) -> Profile:
    """The profile of this name; WorkloadError where there is none."""
    return entry_named("profile", name, PROFILES)


def level_of(profile: str, level: float | None) -> float:
    """The confidence level of a profile's margins: ``level`` where it is given, else the profile's own."""
    return require_level(profile_named(profile).level if level is None else level)


def clash_text(names: Iterable[str]) -> str:
    """The beginning of a message about attributes that have names of columns."""
    return names_text("attribute", names, "has the name of a column", "have the names of columns")


def require_free_names(names: Iterable[str], profile: Profile) -> None:
    """Raise WorkloadError if one of ``names`` is there twice, or also the name of another column of the profile."""
    every = list(names)
    twice = sorted({name for name in every if every.count(name) > 1})
    if twice:
        raise WorkloadError(
            f"{clash_text(twice)} for the meanings, or the codes and names, of another attribute's values; "
            "rename them in the domain"
        )
    used = [QUERY] * profile.is_described + [name for name, _ in profile.columns]
    clashes = sorted(set(every).intersection(used))
    if clashes:
        raise WorkloadError(f"{clash_text(clashes)} of estimates; rename them in the domain, or choose another profile")
