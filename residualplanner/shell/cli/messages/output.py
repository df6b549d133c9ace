"""Messages, tables and progress bars, for the person or the program that called a command.

Reads: strings, numbers.  Gives: lines on standard output, for people or as JSON; progress bars on standard error, on a
terminal only.  rich's home.
"""

import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from os import PathLike
from typing import Any

from residualplanner.shell.cli.messages.events import Progress, counted_events, event_line, timed_events, write_line

#: How long a step may take before a progress bar appears, in seconds.
PATIENCE = 1.0
_WIDTH_OF_FILES = 110


@dataclass(frozen=True, slots=True)
class Output:
    """Where the messages of a command go.

    Every message has an event and facts, which programs get as a line of JSON, and a text, which people get.

    Attributes:
        quiet: print nothing but errors.
        as_json: print messages for programs.
    """

    quiet: bool = False
    as_json: bool = False

    def say(self, text: str = "", *, style: str | None = None, event: str = "message", **facts: Any) -> None:
        """Print a line, or several, unchanged."""
        if self.quiet:
            return
        if self.as_json:
            write_line(event_line(event, text, facts))
            return
        from rich.console import Console

        with _open_end():
            Console(soft_wrap=True).print(text, style=style, highlight=False, markup=False, emoji=False)

    def fact(self, label: str, *lines: str, event: str | None = None, **facts: Any) -> None:
        """Print lines with a label before the first; the event has the name of the label."""
        if self.as_json:
            text = "; ".join(line.rstrip(";") for line in lines)
        else:
            text = f"{label:<11} " + f"\n{'':<11} ".join(lines)
        self.say(text, event=event or label.lower(), **facts)

    def wrote(self, path: PathLike[str], text: str, *, also: Sequence[PathLike[str]] = ()) -> None:
        """Say that a file or folder, and others with it, has been written."""
        self.say(f"Wrote {path}{text}", event="wrote", path=path, also=list(also))

    def next(self, *commands: tuple[str, str]) -> None:
        """Say what to type next: commands, each with a few words on its purpose."""
        width = max(len(command) for command, _ in commands)
        for number, (command, purpose) in enumerate(commands):
            if self.as_json:
                self.say(purpose, event="next", command=command)
            else:
                start, end = "Next: " if number == 0 else "      ", f"   ({purpose})" if purpose else ""
                self.say(start + (f"{command:<{width}}{end}" if end else command))

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        texts: int = 1,
        event: str = "row",
        facts: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Print rows under headings: the first ``texts`` columns flush left, the rest, numbers, flush right.

        For programs each row is an event, with ``facts`` in place of the strings where they are given.
        """
        if self.quiet:
            return
        if self.as_json:
            for row_facts in facts or [dict(zip(columns, row, strict=True)) for row in rows]:
                self.say(event=event, **row_facts)
            return
        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        console = Console()
        if not console.is_terminal:
            console = Console(width=_WIDTH_OF_FILES)
        table = Table(box=box.SIMPLE, pad_edge=False)
        for number, column in enumerate(columns):
            table.add_column(Text(column), justify="left" if number < texts else "right", no_wrap=number >= texts)
        for row in rows:
            table.add_row(*map(Text, row))
        with _open_end():
            console.print(table)

    def progress(self, label: str, *, is_private: bool = False) -> AbstractContextManager[Progress]:
        """Show a bar on a terminal if the block takes longer than a second; the block reports its steps.

        Args:
            label: what is being done.
            is_private: whether records are read: then programs learn nothing of how long it takes.
        """
        if self.as_json and not self.quiet:
            return counted_events(label) if is_private else timed_events(label)
        return self._bar(label)

    @contextmanager
    def _bar(self, label: str) -> Iterator[Progress]:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield lambda _done, _total: None
            return
        bar = Bar(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), console=console, transient=True)
        task = bar.add_task(label, total=None)
        timer = threading.Timer(PATIENCE, bar.start)
        timer.daemon = True
        timer.start()
        try:
            yield lambda done, total: bar.update(task, completed=done, total=total)
        finally:
            timer.cancel()
            timer.join()
            bar.stop()


@contextmanager
def _open_end() -> Iterator[None]:
    """Go on where nobody reads what is printed any more, as in ``| head``: the files are what counts."""
    with suppress(SystemExit):  # rich's answer to a closed pipe, after it has sent all further output nowhere
        yield


def command_text(*words: object) -> str:
    """A command of this package as one types it, with quotes where a shell needs them.

    Example:
        >>> command_text("reconstruct", "my file", "-o", "out")
        "residualplanner reconstruct 'my file' -o out"
    """
    return shlex.join(["residualplanner", *map(str, words)])
