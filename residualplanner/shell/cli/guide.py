"""A first use, step by step: from what describes the columns to a spec, a plan and its page; each choice in a line."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import typer

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import ArgumentError, DomainError, FileFormatError, ResidualPlannerError
from residualplanner.ground.file_kinds import CSV, kind_of_name
from residualplanner.ground.words import listed, rounded_up
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.privacy import Budget, zcdp
from residualplanner.shell.cli.options import GuideOptions, budget_of_text
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.planning import run_plan, run_report
from residualplanner.shell.cli.spec import declared
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.starting import starting_spec, with_ledger
from residualplanner.shell.cli.spec.tables import UNDECLARED

T = TypeVar("T")

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
#: At which delta a budget is explained.
_DELTA = "1e-6"
#: The budget of the ledger in the template, and the names of the numbers of a budget that has two.
_LEDGER, _OF_TWO = zcdp(1), ("epsilon", "delta")


def values_of_text(name: str, text: str) -> Attribute | None:
    """The attribute whose values were typed: how many codes, labels, or edges of bins; None where nothing was typed.

    Example:
        >>> values_of_text("age", "85"), values_of_text("sex", "F, M"), values_of_text("x", " ")
        (Attribute('age', size=85), Attribute('sex', labels=['F', 'M']), None)
        >>> values_of_text("age", "0 < 18 < 65 < 120").bins.labels
        ('[0, 18)', '[18, 65)', '[65, 120]')
    """
    words = [word.strip() for word in re.split("<" if "<" in text else ",", text)]
    if words == [""]:
        return None
    if "<" in text:
        if not all(_NUMBER.fullmatch(word) for word in words):
            raise DomainError(f"edges of bins are numbers, as in 0 < 18 < 65; got {text!r}")
        return Attribute(name, bins=Bins([float(word) if "." in word else int(word) for word in words]))
    if len(words) == 1 and words[0].isdecimal():
        return Attribute(name, int(words[0]))
    are_integers = all(re.fullmatch("0|-?[1-9][0-9]*", word) for word in words)
    return Attribute(name, labels=[int(word) for word in words] if are_integers else words)


@dataclass(frozen=True, slots=True)
class _Questions:
    """The questions to somebody at a terminal; a program, or a user of --quiet, gets the defaults."""

    output: Output

    @property
    def is_silent(self) -> bool:
        """Whether there is nobody to answer."""
        return self.output.quiet or self.output.as_json

    def answer(
        self, given: T | None, explanation: str, question: str, default: str | None, read: Callable[[str], T]
    ) -> T:
        """What was given; or the answer, once it can be read; or the default where there is nobody to answer."""
        if given is not None:
            return given
        if self.is_silent and default is not None:
            return read(default)
        self.output.say(f"\n{explanation}")
        while True:
            reply = typer.prompt(question, default=default, show_default=default not in (None, ""))
            try:
                return read(str(reply))
            except ResidualPlannerError as error:
                self.output.say(str(error))


def run_start(
    source: Path, path: Path, given: GuideOptions, output: Output, *, is_dictionary: bool, has_header: bool
) -> None:
    """Write a spec, its plan, and a page on this, from answers or options."""
    questions = _Questions(output)
    if kind_of_name(source) == CSV and not (is_dictionary or has_header or questions.is_silent):
        is_dictionary, has_header = _what_csv_is(questions)
    start = starting_spec(source, is_dictionary=is_dictionary, has_header=has_header)
    typed = _typed_values(given.values or [], start.undeclared)
    values = {name: typed[name] if name in typed else _values(questions, name) for name in start.undeclared}
    text = _with_values(with_ledger(start.text, f"{path.stem}.ledger"), values)
    text = _with_choices(text, *_choices(given, questions), given.format)
    with write_atomically(path) as file:
        file.write(text.encode("utf-8"))
    output.wrote(path, ": a spec with a comment for each choice; change it, and plan again, as often as you like.")
    plan, page = path.with_suffix(".plan"), path.with_suffix(".html")
    run_plan(read_spec(path), plan, plan.parent / f"{plan.name}.errors.csv", output)
    run_report(plan, page, None, output)
    output.next((command_text("release", path, "DATA", "-o", path.stem), "reads the records and spends the budget"))


def _what_csv_is(questions: _Questions) -> tuple[bool, bool]:
    words = {"d": (True, False), "h": (False, True)}

    def read(answer: str) -> tuple[bool, bool]:
        found = words.get(answer.strip().lower()[:1])
        if found is None:
            raise FileFormatError("write d for a data dictionary, or h for records below a header")
        return found

    explanation = (
        "A CSV file may describe columns (a data dictionary, of which all is read), or hold records below a header,\n"
        "of which nothing but the names is read: values are declared from public knowledge, never from records."
    )
    return questions.answer(None, explanation, "Which is it: (d)ictionary, or records below a (h)eader", None, read)


def _typed_values(texts: Sequence[str], undeclared: Sequence[str]) -> dict[str, Attribute | None]:
    """By name what --values declares; ArgumentError where a name is not to be declared."""
    found = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or name not in undeclared:
            columns = listed(undeclared, 20) or "none"
            raise ArgumentError(
                f"--values is NAME=VALUES, for a column without declared values ({columns}); got {text!r}"
            )
        found[name] = values_of_text(name, values)
    return found


def _values(questions: _Questions, name: str) -> Attribute | None:
    explanation = (
        f"{name}: which values can it take?  Codes 0, 1, ..: how many, as 85.  Labels: F, M.  Numbers: the edges of "
        "bins,\nas 0 < 18 < 65 < 120.  Nothing leaves the column out."
    )
    if questions.is_silent:  # a column is left out by somebody, not by default
        raise ArgumentError(f"{name!r} has no declared values, and there is nobody to ask; add --values {name}=VALUES")
    return questions.answer(None, explanation, f"Values of {name}", "", lambda text: values_of_text(name, text))


def _with_values(text: str, values: Mapping[str, Attribute | None]) -> str:
    """The spec with the values of columns in place of "?", or without the column."""
    for name, attribute in values.items():
        line = f'{declared.key_text(name)} = "{UNDECLARED}"\n'
        found = "" if attribute is None else f"{declared.key_text(name)} = {declared.attribute_text(attribute)}\n"
        text = text.replace(f"\n{line}", f"\n{found}", 1)
    return text


def _choices(given: GuideOptions, questions: _Questions) -> tuple[int, int, Budget, bool]:
    """The order of the largest tables, the records of a person, the budget, whether integers without a negative one."""
    return (
        questions.answer(
            given.up_to,
            "Tables: all that cross up to so many columns, and the total.  The more tables, the more noise in each.",
            "Columns of a table",
            "2",
            _positive,
        ),
        questions.answer(
            given.records_per_person,
            "What is protected: a person with up to so many records.  1 where each record is of another person.",
            "Records of a person",
            "1",
            _positive,
        ),
        questions.answer(
            None if given.budget is None else budget_of_text(given.budget),
            "The privacy budget: the smaller, the less a release can reveal about anyone, and the more noise.\n"
            f"zcdp=0.5 is epsilon {_epsilon('zcdp=0.5')} at delta {_DELTA}, zcdp=0.1 is {_epsilon('zcdp=0.1')}; or as "
            "epsilon=1,delta=1e-9.  Each release spends it once more.",
            "Budget",
            "zcdp=0.5",
            budget_of_text,
        ),
        questions.answer(
            given.nonnegative,
            "Estimates are unbiased, so that some are negative.  Readers may want integers without a negative one.",
            "Integers without a negative one (y/n)",
            "n",
            _yes,
        ),
    )


def _with_choices(
    text: str, order: int, records: int, budget: Budget, has_integers: bool, file_format: str | None
) -> str:
    """The spec with what was chosen in place of the defaults of its template."""
    given: Any = budget.given[0] if len(budget.given) == 1 else dict(zip(_OF_TWO, budget.given, strict=True))
    stated = declared.toml_text({budget.notion: given})
    replaced = {
        'budget = { zcdp = "0.5" }\n': f"budget = {stated}\n",
        "\nup_to = 2\n": f"\nup_to = {order}\n",
        'neighbors = "add-remove"\n': f'neighbors = "add-remove"\nrecords_per_person = {records}\n',
    }
    if budget.pcost > _LEDGER.pcost:
        replaced['budget = { zcdp = "1" } }'] = f"budget = {stated} }}"  # the first release fits into the ledger
    if has_integers:
        replaced["# nonnegative = true\n# round_to = 1\n"] = "nonnegative = true\nround_to = 1\n"
    if file_format is not None:
        replaced['# format = "csv" '] = f'format = "{file_format}" '
    for before, after in replaced.items():
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ArgumentError(f"an integer of 1 or more is expected, got {text!r}")
    return int(text)


def _yes(text: str) -> bool:
    if text.strip().lower() not in ("y", "yes", "n", "no"):
        raise ArgumentError(f"y or n is expected, got {text!r}")
    return text.strip().lower().startswith("y")


def _epsilon(text: str) -> str:
    return rounded_up(budget_of_text(text).epsilon(_DELTA))
