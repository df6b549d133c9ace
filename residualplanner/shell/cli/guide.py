"""A first use, step by step: from what describes the columns to a spec, a plan and its page; each choice in a line."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import typer

from residualplanner.ground.atomic import write_atomically
from residualplanner.ground.errors import ArgumentError, BudgetError, DomainError, FileFormatError, ResidualPlannerError
from residualplanner.ground.file_kinds import CSV, kind_of_name
from residualplanner.ground.words import count_text, listed, names_text, rounded_up, suggestion
from residualplanner.method.domain.attribute import Attribute
from residualplanner.method.domain.bins import Bins
from residualplanner.method.privacy import Budget, zcdp
from residualplanner.shell.cli.budgets import budget_of_text, table_text, typed_text
from residualplanner.shell.cli.options import GuideOptions
from residualplanner.shell.cli.output import Output, command_text
from residualplanner.shell.cli.planning import run_plan, run_report
from residualplanner.shell.cli.spec import declared
from residualplanner.shell.cli.spec.file import read_spec
from residualplanner.shell.cli.spec.starting import TO_FILL_IN, starting_spec, where_text, with_ledger
from residualplanner.shell.cli.spec.tables import UNDECLARED

T = TypeVar("T")

_HOW_TO_DECLARE = """\
Which values can each column take?  Labels: F, M, or with what they mean: F=Women, M=Men; "b, c" where one has a
comma.  Codes 0, 1, ..: how many, as 85.  Numbers: the edges of bins, as 0 < 18 < 65 < inf.
Press Enter to leave the column out."""
_QUOTES = 'a label with a comma is put in double quotes, as in a, "b, c"'
_FORMS = (
    "write labels with commas between them, as F, M; numbers as the edges of bins, 0 < 18 < 65; codes 0, 1, .. as how "
    "many, 85; amounts to be summed in the spec alone, as { numeric = { low = 0, high = 100000 } }"
)
_MISSING = """\
Entries may be missing.  A record without one is refused, and the release with it, unless the spec says under which
label it is counted, as edu=Not stated, income=drop (left out of all tables).{}  Press Enter for none."""
_TABLES = "Tables: all that cross up to so many columns, and the total.  The more tables, the more noise in each."
_PERSONS = "What is protected: a person with up to so many records.  1 where each record is of another person."
_DELTA = "1e-6"
_BUDGETS = f"""\
The privacy budget: the smaller, the less a release can reveal about anyone, and the more noise.
zcdp=0.5 is epsilon {{}} at delta {_DELTA}, zcdp=0.1 is {{}}; or as epsilon=1,delta=1e-9.  Each release spends it once \
more."""
_LEDGERS = """\
The ledger adds up what all releases from these records cost, and refuses what is beyond its own budget, for good.
That of this release allows one; twice as much allows two."""
_INTEGERS = "Estimates are unbiased, so that some are negative.  Readers may want integers without a negative one."


def values_of_text(name: str, text: str) -> Attribute | None:
    """The attribute whose values were typed: number of codes, labels, edges of bins; None where nothing was typed."""
    if "<" in text and '"' not in text:  # labels with this sign are in quotes
        edges = [edge.strip() for edge in text.split("<")]
        for edge in edges:
            if not re.fullmatch(r"-?([0-9]+(\.[0-9]+)?|inf)", edge):
                raise DomainError(
                    f"edges of bins are numbers, as in 0 < 18 < 65 < inf; {edge!r} is none (labels with < are put in "
                    "double quotes)"
                )
        return Attribute(name, bins=Bins(list(map(float, edges))))
    words = _entries(text)
    if len(words) == 1 and words[0].isdecimal() and int(words[0]) != 1:
        return Attribute(name, int(words[0]))
    if len(words) == 1:
        raise DomainError(f"{words[0]!r} is a single value, and a column of one tells nothing; {_FORMS}")
    return _labels(name, words) if words else None


def _entries(text: str) -> list[str]:
    """What stands between commas, those in double quotes aside."""
    try:
        read = csv.reader([" ".join(text.strip().splitlines())], skipinitialspace=True, strict=True)
        return [entry.strip() for row in read for entry in row]
    except csv.Error:
        raise DomainError(f"the quotes in {text!r} do not match; {_QUOTES}") from None


def _labels(name: str, words: Sequence[str]) -> Attribute:
    """The attribute with labels, or with pairs of labels and their meanings."""
    pairs = [tuple(part.strip() for part in word.split("=", 1)) for word in words]
    with_one = [word for word in words if "=" in word]
    if 0 < len(with_one) < len(words):
        other = next(word for word in words if "=" not in word)
        raise DomainError(
            f"{with_one[0]!r} has a meaning after =, and {other!r} has none; write F=Women, M=Men, or = nowhere; a "
            'meaning with a comma is put in double quotes with its label, as in "F=Women, girls", M=Men'
        )
    if "" in (pair[0] for pair in pairs):
        raise DomainError(f"a label of {name!r} is empty: remove the extra comma, or write a label before =")
    are_integers = all(re.fullmatch("0|-?[1-9][0-9]*", pair[0]) for pair in pairs)
    labels: list[Any] = [int(pair[0]) if are_integers else pair[0] for pair in pairs]
    label, times = Counter(labels).most_common(1)[0]
    if times > 1:
        raise DomainError(f"{name!r} has the label {label!r} twice; {_QUOTES}")
    return Attribute(name, labels=dict(zip(labels, (p[1] for p in pairs), strict=True)) if with_one else labels)


def _understood(name: str, attribute: Attribute | None) -> str:
    """What was understood of an answer, in a line."""
    if attribute is None:
        return f"{name}: left out of the spec and of all tables."
    if attribute.labels is None and attribute.bins is None:
        return f"{name}: {attribute.size} codes, 0 to {attribute.size - 1}."
    in_words = zip(attribute.value_labels, attribute.value_meanings, strict=True)
    shown = [f"{label} ({words})" if words != str(label) else str(label) for label, words in in_words]
    if attribute.bins is not None:
        return f"{name}: {count_text(len(shown), 'bin')}: {listed(shown, 8)}."
    are_numbers = isinstance((attribute.labels or ("",))[0], int)
    numbers = "  (For bins of numbers, write their edges with <.)" if are_numbers else ""
    shown = [f'"{each}"' if "," in each else each for each in shown]
    return f"{name}: {count_text(len(shown), 'label')}: {listed(shown, 8)}.{numbers}"


def _is_silent(output: Output) -> bool:
    """Whether there is nobody to answer: a program, or a user of --quiet, gets the defaults."""
    return output.quiet or output.as_json


def _answer(
    output: Output, given: T | None, explanation: str, question: str, default: str | None, read: Callable[[str], T]
) -> T:
    """What was given; or the answer, once it can be read; or the default where there is nobody to answer."""
    if given is not None:
        return given
    if _is_silent(output) and default is not None:
        return read(default)
    if explanation:
        output.say(f"\n{explanation}")
    while True:
        reply = typer.prompt(question, default=default, show_default=default not in (None, ""))
        try:
            return read(str(reply))
        except ResidualPlannerError as error:
            output.say(str(error))


def run_start(
    source: Path, path: Path, given: GuideOptions, output: Output, *, is_dictionary: bool, has_header: bool
) -> None:
    """Write a spec, its plan, and a page on this, from answers or options."""
    if kind_of_name(source) == CSV and not (is_dictionary or has_header or _is_silent(output)):
        is_dictionary, has_header = _what_csv_is(output)
    start = starting_spec(source, is_dictionary=is_dictionary, has_header=has_header)
    typed = _typed_values(given.values or [], start.undeclared)
    values = _all_values(output, typed, start.undeclared)
    text = _with_values(with_ledger(start.text, f"{path.stem}.ledger"), values)
    known = dict(start.declared) | {name: each for name, each in values.items() if each is not None}
    text = _with_missing(text, known, given.missing, output)
    text = _with_choices(text, given, output)
    with write_atomically(path) as file:
        file.write(text.encode("utf-8"))
    again = command_text("plan", path, "--force")
    comments = f"a spec with a comment for each choice; change it, and plan again, as often as you like, with  {again}"
    output.wrote(path, f"{where_text(path, source)}: {comments}")
    plan, page = path.with_suffix(".plan"), path.with_suffix(".html")
    run_plan(read_spec(path), plan, plan.parent / f"{plan.name}.errors.csv", output)
    run_report(plan, page, None, output)
    output.next((command_text("release", path, "DATA", "-o", path.stem), "reads the records and spends the budget"))


def _what_csv_is(output: Output) -> tuple[bool, bool]:
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
    return _answer(output, None, explanation, "Which is it: (d)ictionary, or records below a (h)eader", None, read)


def _typed_values(texts: Sequence[str], undeclared: Sequence[str]) -> dict[str, Attribute | None]:
    """By name what --values declares; ArgumentError where a name is not to be declared."""
    found = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals:
            raise ArgumentError(f"--values is NAME=VALUES, as --values 'sex=F, M'; got {text!r}")
        if name not in undeclared:
            columns = listed(undeclared, 20) or "there is none"
            meant = suggestion(name, undeclared)
            raise ArgumentError(f"--values: no column {name!r} is without declared values ({columns}){meant}")
        found[name] = values_of_text(name, values)
    return found


def _all_values(
    output: Output, typed: Mapping[str, Attribute | None], names: Sequence[str]
) -> dict[str, Attribute | None]:
    """The values of columns, as typed or answered; what was understood is said, and how to answer once."""
    unknown = [name for name in names if name not in typed]
    if unknown and _is_silent(output):  # a column is left out by somebody, not by default
        columns = names_text("column", unknown, "has", "have")
        each = f"--values {unknown[0]}=VALUES, or --values {unknown[0]}= to leave it out"
        raise ArgumentError(f"{columns} no declared values, and there is nobody to ask; add for each {each}")
    found: dict[str, Attribute | None] = {}
    explanation = _HOW_TO_DECLARE
    for name in names:
        if name in typed:
            found[name] = typed[name]
        else:
            read = partial(values_of_text, name)
            found[name] = _answer(output, None, explanation, f"Values of {name}", "", read)
            explanation = ""
        output.say(_understood(name, found[name]))
    return found


def _with_values(text: str, values: Mapping[str, Attribute | None]) -> str:
    """The spec with the values of columns in place of "?", or without the column."""
    for name, attribute in values.items():
        line = f'{declared.key_text(name)} = "{UNDECLARED}"\n'
        found = "" if attribute is None else f"{declared.key_text(name)} = {declared.attribute_text(attribute)}\n"
        text = text.replace(f"\n# {declared.NO_VALUE}\n{line}", f"\n{line}", 1).replace(f"\n{line}", f"\n{found}", 1)
    return text.replace(TO_FILL_IN, "")


def _with_missing(text: str, known: Mapping[str, Attribute], given: Sequence[str] | None, output: Output) -> str:
    """The spec with labels under which missing entries of columns are counted, or "drop"."""

    def read(*texts: str) -> dict[str, str]:
        pairs = [each.partition("=") for each in texts if each.strip()]
        found = {name.strip(): label.strip() or "Not stated" for name, _, label in pairs}
        for name, label in found.items():
            if name not in known:
                columns = listed(known, 20)
                raise ArgumentError(f"no column {name!r} has values ({columns}){suggestion(name, list(known))}")
            declared.with_missing(known[name], label)  # refuses what cannot be a label
        return found

    if given is not None:
        rules = read(*given)
    else:
        stated = [name for name, attribute in known.items() if attribute.missing != "error"]
        said = f"  {listed(stated, 8)}: declared already." if stated else ""
        prompt = "Columns with missing entries"
        rules = _answer(output, None, _MISSING.format(said), prompt, "", lambda text: read(*_entries(text)))
        for name, label in rules.items():
            words = "left out of all tables" if label == "drop" else f"counted under {label!r}"
            output.say(f"{name}: records without an entry are {words}.")
    for name, label in rules.items():
        key, before, after = declared.key_text(name), known[name], declared.with_missing(known[name], label)
        line = f"\n{key} = {declared.attribute_text(before)}\n"
        assert line in text, name
        text = text.replace(line, f"\n{key} = {declared.attribute_text(after)}\n", 1)
    return text


def _with_choices(text: str, given: GuideOptions, output: Output) -> str:
    """The spec with what is chosen of tables, protection and budgets in place of the defaults of its template."""
    order = _answer(output, given.up_to, _TABLES, "Columns of a table", "2", _positive)
    records = _answer(output, given.records_per_person, _PERSONS, "Records of a person", "1", _positive)
    typed = None if given.budget is None else budget_of_text(given.budget)
    epsilons = [rounded_up(zcdp(rho).epsilon(_DELTA)) for rho in ("0.5", "0.1")]
    budget = _answer(output, typed, _BUDGETS.format(*epsilons), "Budget", "zcdp=0.5", budget_of_text)
    ledger = _ledger(given.ledger_budget, output, budget)
    has_integers = _answer(output, given.nonnegative, _INTEGERS, "Integers without a negative one (y/n)", "n", _yes)
    replaced = {
        'budget = { zcdp = "0.5" }\n': f"budget = {table_text(budget)}\n",
        'budget = { zcdp = "1" } }': f"budget = {table_text(ledger)} }}",
        "\nup_to = 2\n": f"\nup_to = {order}\n",
        'neighbors = "add-remove"\n': f'neighbors = "add-remove"\nrecords_per_person = {records}\n',
    }
    if has_integers:
        replaced["# nonnegative = true\n# round_to = 1\n"] = "nonnegative = true\nround_to = 1\n"
    if given.format is not None:
        replaced['# format = "csv" '] = f'format = "{given.format}" '
    for before, after in replaced.items():
        assert before in text, before
        text = text.replace(before, after, 1)
    return text


def _ledger(typed: str | None, output: Output, budget: Budget) -> Budget:
    """The budget of the ledger, for all releases from the same records; what it allows is said."""

    def read(text: str) -> Budget:
        found = budget_of_text(text)
        if found.pcost_exact < budget.pcost_exact:
            raise BudgetError(f"a ledger with {text} has no room for a release of {typed_text(budget)}; write more")
        return found

    given = None if typed is None else read(typed)
    found = _answer(output, given, _LEDGERS, "Budget of the ledger", typed_text(budget), read)
    releases = count_text(found.pcost_exact // budget.pcost_exact, "release")
    output.say(f"Ledger: {typed_text(found)} in all allows {releases} of {typed_text(budget)}.")
    return found


def _positive(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise ArgumentError(f"an integer of 1 or more is expected, got {text!r}")
    return int(text)


def _yes(text: str) -> bool:
    if text.strip().lower() not in ("y", "yes", "n", "no"):
        raise ArgumentError(f"y or n is expected, got {text!r}")
    return text.strip().lower().startswith("y")
