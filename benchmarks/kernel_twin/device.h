// What the kernel's source needs of CUDA, for an ordinary C++ compiler: the threads of a block are threads.

#pragma once

struct Index { unsigned x; };

extern thread_local Index threadIdx, blockIdx;
extern Index blockDim;

void wait_for_all_threads();

#define __device__
#define __global__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(threads)
#define __restrict__
#define __syncthreads() wait_for_all_threads()
#define __ldg(address) (*(address))
