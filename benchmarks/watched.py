"""What a block of a program takes: seconds of the processor and of the clock, and memory that is no file's."""

import os
import threading
import time

from benchmarks.processes import anonymous_bytes, own_children


class Watched:
    """The seconds of a block on the processor, of its children too, and on the clock, and the most memory of a process.

    Memory is the most at once of this process or of a child, in bytes, without what is mapped from files.
    """

    def __enter__(self) -> "Watched":
        self._peak, self._is_over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        self._start = (_seconds(), time.monotonic())
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu, self.clock = _seconds() - self._start[0], time.monotonic() - self._start[1]
        self._is_over.set()
        self._thread.join()
        self.memory = self._peak

    def _watch(self) -> None:
        while not self._is_over.wait(0.02):
            self._peak = max(self._peak, *map(anonymous_bytes, [os.getpid(), *own_children()]))

    @property
    def row(self) -> dict[str, float]:
        return {"cpu": self.cpu, "clock": self.clock, "memory": self.memory}


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
