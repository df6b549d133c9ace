"""Sources of random bits, and the checks that every byte passes."""

import hashlib
import os
from typing import Protocol

import numpy as np

from residualplanner.ground.errors import NoiseError

BLOCK_BYTES = 32


class ByteSource(Protocol):
    """Something that gives random bytes."""

    @property
    def is_secure(self) -> bool:
        """Whether noise from these bytes may protect people."""

    @property
    def mark(self) -> str:
        """The origin of the bytes, which is recorded with the noise."""

    def read(self, count: int) -> bytes:
        """Return ``count`` bytes that were never given before."""


class OperatingSystemBits:
    """The operating system's cryptographic generator.  It keeps no state here: nothing to seed, fork or snapshot."""

    is_secure = True
    mark = "os.urandom"

    def read(self, count: int) -> bytes:
        """Return ``count`` bytes from ``os.urandom``."""
        return os.urandom(count)


class InsecureTestBits:
    """Bytes that anyone can foresee, the same on every platform.  For tests only: noise from them is not private.

    The stream is SHAKE-256 of the seed and a block number, block after block.
    """

    is_secure = False
    mark = "InsecureTestBits: not private"
    _block_bytes = 1 << 16

    def __init__(self, seed: int) -> None:
        self._seed = str(int(seed)).encode()
        self._number = 0
        self._left = b""

    def read(self, count: int) -> bytes:
        """Return the next ``count`` bytes of the stream."""
        parts, have = [self._left], len(self._left)
        while have < count:
            parts.append(hashlib.shake_256(b"%b:%d" % (self._seed, self._number)).digest(self._block_bytes))
            self._number += 1
            have += self._block_bytes
        stream = b"".join(parts)
        self._left = stream[count:]
        return stream[:count]


class CheckedBits:
    """A byte source during one call, with checks of what it gives.

    Every answer must have the requested length, no 32-byte block may equal the one before it, and no answer may begin
    as the last one began or ended.  Random bytes fail with probability 2**-256 a block, stuck or replayed ones at once.
    """

    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._seen = (b"", b"")

    def read(self, count: int) -> memoryview:
        """``count`` fresh bytes; NoiseError where the source failed, gave too many or too few, or repeated itself."""
        wanted = max(-(-count // BLOCK_BYTES), 2) * BLOCK_BYTES  # two at least, so that one can be compared
        try:
            data = self._source.read(wanted)
        except (OSError, NotImplementedError):  # the latter where the system has no source of random bytes
            data = b""  # raised outside this handler, the error carries no context
        if not isinstance(data, bytes) or len(data) != wanted:
            raise NoiseError("the source of random bytes did not give the requested number; nothing may be released")
        blocks = np.frombuffer(data, dtype="<u8").reshape(-1, BLOCK_BYTES // 8)
        suspects = np.flatnonzero(blocks[1:, 0] == blocks[:-1, 0])
        repeats = (blocks[suspects + 1] == blocks[suspects]).all(axis=1).any()
        if data[:BLOCK_BYTES] in self._seen or repeats:
            raise NoiseError("the source of random bytes repeats itself; nothing may be released")
        self._seen = data[:BLOCK_BYTES], data[-BLOCK_BYTES:]
        return memoryview(data)[:count]

    def integer(self, bits: int) -> int:
        """Return ``bits`` fresh random bits as an integer."""
        return int.from_bytes(self.read(-(-bits // 8)), "little") & ((1 << bits) - 1)
