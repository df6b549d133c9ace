"""A fixed point in fewer steps: each next point is combined from the steps before it.

Reads: points and the steps that a map makes from them.  Gives: the next point.
Source: Walker and Ni, Anderson acceleration for fixed-point iterations (SIAM Journal on Numerical Analysis 49, 2011).
"""

from dataclasses import dataclass, field

import numpy as np

from residualplanner._checks import FloatArray

#: How many steps are remembered; directions in which they hardly differ count for nothing; how far a point may move.
_MEMORY, _SAME, _LONGEST = 5, 1e-6, 3.0
#: After so many steps in a row that were of no use, the memory is emptied.
_PATIENCE = 3


@dataclass(slots=True, eq=False)
class Acceleration:
    """The last points of an iteration x -> x + f(x), and their steps f(x)."""

    _points: list[FloatArray] = field(default_factory=list)
    _steps: list[FloatArray] = field(default_factory=list)
    _useless: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether the last point followed from the step before it alone."""
        return len(self._points) < 2

    def judge(self, *, was_useful: bool) -> None:
        """Take note of whether the last step was of use; begin anew where several were not, as they led astray."""
        self._useless = 0 if was_useful else self._useless + 1
        if self._useless == _PATIENCE:
            self._points, self._steps, self._useless = [], [], 0

    def next(self, point: FloatArray, step: FloatArray, weight: FloatArray) -> FloatArray:
        """The next point (n,): where the steps (n,) combined would be shortest, in squares by ``weight`` (n,).

        Example:
            >>> x, shrinking = np.array([8.0, 1.0]), Acceleration()
            >>> for _ in range(6):
            ...     x = shrinking.next(x, np.array([-0.5, -0.25]) * x, np.ones(2))
            >>> bool(np.abs(x).max() < 1e-9)
            True
        """
        self._points, self._steps = [*self._points, point][-_MEMORY - 1 :], [*self._steps, step][-_MEMORY - 1 :]
        if self.is_plain:
            return point + step
        of_points, of_steps = (np.diff(np.array(part), axis=0).T for part in (self._points, self._steps))
        roots = np.sqrt(weight)
        parts = np.linalg.lstsq(of_steps * roots[:, None], step * roots, rcond=_SAME)[0]
        return point + np.clip(step - (of_points + of_steps) @ parts, -_LONGEST, _LONGEST)
