"""Tables from residual answers by one CUDA kernel, which makes slabs of them in shared memory, eq. (13).

What a launch needs follows from the maps of the tables' axes alone, and is worked out without a device.
"""
