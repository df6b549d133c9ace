"""The source of the fused kernel, and the hash by which figures that were measured with it are known.

Reads: the file that is shipped beside this module.  Gives: text.
"""

import hashlib
from importlib.resources import files

#: The kernel that makes tables or slabs of them, and the one that maps an axis along which tables were cut.
KERNEL = "fused_tables"
AXIS_KERNEL = "map_axis"


def kernel_source() -> str:
    """The source of the kernels, CUDA C++."""
    return files(__package__).joinpath(f"{KERNEL}.cu").read_text(encoding="utf-8")


def kernel_sha256() -> str:
    """The SHA-256 of the source: 64 hexadecimal digits."""
    return hashlib.sha256(kernel_source().encode()).hexdigest()
