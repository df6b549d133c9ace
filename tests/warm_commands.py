"""Commands that start at once: each is a fork of one process that has imported the command line.

A program ``residualplanner`` in a folder of its own hands its arguments, environment, folder and streams to that
process, and ends with the status of the fork: a shell that finds it first on its path cannot tell the difference.
"""

import contextlib
import gc
import importlib
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_IMPORTED = (
    "pandas",
    "pyarrow.csv",
    "pyarrow.parquet",
    "scipy.optimize",
    "jinja2",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "narwhals",
    "residualplanner.more.bounds.max_abs_error",
    "residualplanner.publish.saving",
    "residualplanner.shell.cli.app",
    "residualplanner.shell.cli.releasing",
    "residualplanner.shell.cli.planning",
    "residualplanner.shell.cli.spec.wanted",
    "residualplanner.publish.report",
    "residualplanner.fits.synthesis",
)


@contextlib.contextmanager
def warm_commands(environment: Mapping[str, str]) -> Iterator[str]:
    """The folder of a ``residualplanner`` that starts at once, to be put in front of a path."""
    with tempfile.TemporaryDirectory() as folder:
        address, program = str(Path(folder, "socket")), Path(folder, "bin", "residualplanner")
        program.parent.mkdir()
        client = [sys.executable, "-IS", __file__, "ask", address]
        program.write_text(f'#!/bin/sh\nexec {shlex.join(client)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        server = [sys.executable, __file__, "serve", address]
        with subprocess.Popen(server, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            try:
                yield str(program.parent)
            finally:
                process.kill()


def _serve(address: str) -> None:
    """Fork for every command that arrives, one after the other."""
    from residualplanner.shell.cli import main

    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # so that no fork copies what it only looks through
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        print("ready", flush=True)
        while True:
            connection, _ = listener.accept()
            child = os.fork()
            if child == 0:
                _become(connection)
                os._exit(_status_of(main))  # where an interpreter ends, all that it has imported is taken apart
            _, ended = os.waitpid(child, 0)
            connection.sendall(bytes([os.waitstatus_to_exitcode(ended) & 255]))
            connection.close()


def _status_of(main: Callable[[], object]) -> int:
    """With what status a process ends that does this; what it has written is out then."""
    status: object = 0
    try:
        main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
        status = 1
    if not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status & 255


def _become(connection: socket.socket) -> None:
    """Take over the arguments, the environment, the folder and the streams of who asks."""
    length, streams, *_ = socket.recv_fds(connection, 8, 3)
    asked = json.loads(connection.recv(int.from_bytes(length, "big"), socket.MSG_WAITALL))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["residualplanner", *asked["arguments"]]


def _ask(address: str, arguments: list[str]) -> int:
    """Have a command run, and return its status."""
    asked = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [len(asked).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(asked)
        return connection.recv(1)[0]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(sys.argv[2])
    else:
        sys.exit(_ask(sys.argv[2], sys.argv[3:]))
