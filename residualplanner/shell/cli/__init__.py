"""The command line: each command reads files, calls one function of the library, and writes files.

Whatever can be refused is refused before records are read and before anything is spent.
"""

import signal
import sys
import warnings

__all__ = ["main"]


def main() -> None:
    """Run the command that the process was started with, and exit with its status."""
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C, so that unfinished output is removed
        warnings.simplefilter("ignore")  # a warning of a library that reads records may quote one
        from residualplanner.shell.cli.app import app

        app(prog_name="residualplanner")
    except KeyboardInterrupt:  # before or after the command itself, which reports its own
        sys.exit(1)
