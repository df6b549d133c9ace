"""The second device of array-api-strict, which stands in for a GPU.

It raises where arrays of two devices meet, and where one is made a NumPy array without a word.  So what runs on it
moves nothing silently, and uses nothing that the standard lacks.
"""

from dataclasses import replace

import array_api_strict as strict
import numpy as np
from numpy.typing import NDArray

from residualplanner.method.kron.arrays import Array
from residualplanner.release.devices import Device


def to_host(array: Array) -> NDArray[np.float64]:
    """An array of the second device, and of no other, as NumPy's."""
    if array.device != strict.Device("device1"):
        raise RuntimeError("the array is not on the device")
    return np.asarray(array.to_device(strict.Device("CPU_DEVICE")))


#: Keeps all answers; keeps a few and is sent the others batch by batch.
KEEPING = Device("strict", strict, strict.Device("device1"), to_host, memory=2**30)
SENDING = replace(KEEPING, memory=256)
DEVICES = {"keeping": KEEPING, "sending": SENDING}
