// Included by every kernel source. One source has two readings:
//   nvcc       device code only; this header adds nothing but three macros
//   g++ -DHOST the same kernel as a plain C++ function, run thread by thread (host.h), to derive what must come out
#pragma once

#ifdef HOST
#include "host.h"
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

// Dynamic shared memory as an array of T.
#define DYNAMIC_SHARED(T, name) extern __shared__ T name[]
// A point inside a waiting loop; the host's threads are cooperative and must be told to let others run.
#define WAITING()
#endif
