"""Messages, tables and progress bars: what a command tells the person who typed it.

Reads: texts and numbers.  Gives: lines on standard output; progress bars on standard error, on a terminal only.
rich's home.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

#: Called with the number of steps done and their total.
Progress = Callable[[int, int], None]

#: How long a step may take before a progress bar appears, in seconds.
PATIENCE = 1.0
_WIDTH_OF_FILES = 110


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command's messages go.

    Attributes:
        quiet: say nothing; errors are told all the same.
    """

    quiet: bool = False

    def say(self, text: str = "", *, style: str | None = None) -> None:
        """Print a line, or several, as they are."""
        if not self.quiet:
            from rich.console import Console

            with _open_end():
                Console(soft_wrap=True).print(text, style=style, highlight=False, markup=False)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> None:
        """Print rows under headings: the first ``texts`` columns to the left, the rest, numbers, to the right."""
        if self.quiet:
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

    @contextmanager
    def progress(self, label: str) -> Iterator[Progress]:
        """Show a bar on a terminal if the block takes longer than a second; the block reports its steps."""
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        if self.quiet or not console.is_terminal:
            yield _ignored
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
    """Go on where nobody reads what is printed any more, as in ``| head``: the files are what matters."""
    with suppress(SystemExit):  # rich's answer to a closed pipe, after it has sent all further output nowhere
        yield


def _ignored(_done: int, _total: int) -> None:
    """Take a report of progress that nobody sees."""


def number_text(number: float) -> str:
    """A number for people: thousands apart, four digits that count.

    Example:
        >>> [number_text(value) for value in (1234567.0, 12.3456, 0.00012345, 3, 10**30)]
        ['1,234,567', '12.35', '0.0001234', '3', '1e+30']
    """
    if abs(number) >= 1e15:
        return f"{float(number):.4g}"
    if number == int(number) or abs(number) >= 1000:
        return f"{number:,.0f}"
    return f"{number:.4g}"
