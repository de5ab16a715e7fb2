// helpers that synchronize for themselves: a block-wide sum, extremes and a count over one scratch array, checked reads in a loop
#include "../support/kernel.h"
#ifdef HOST
#define __trap std::abort
#endif

// Lanes exchange partial results through their warp's part of the scratch array, which is free again afterwards.
static __device__ __forceinline__ int warpSum(int v, volatile int *scratch) {
  int lane = threadIdx.x % 32;
  volatile int *mine = scratch + threadIdx.x - lane;
  mine[lane] = v;
  __syncwarp();
  for (int s = 16; s > 0; s >>= 1) {
    int other = mine[lane ^ s];
    __syncwarp();
    v += other;
    mine[lane] = v;
    __syncwarp();
  }
  return v;
}

// The sum over the block; all threads get it. The scratch array may be used at once before and after.
static __device__ __forceinline__ int blockSum(int v, int *scratch) {
  v = warpSum(v, scratch);
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  int sum = 0;
  for (unsigned w = 0; w < blockDim.x / 32; w++) sum += scratch[w];
  __syncthreads();
  return sum;
}

// The least and the greatest value of the block; the scratch array may be in use before.
static __device__ __forceinline__ int2 blockExtremes(int v, int *scratch) {
  __syncthreads();
  scratch[threadIdx.x] = v;
  __syncthreads();
  int2 e = make_int2(v, v);
  for (unsigned t = 0; t < blockDim.x; t++) {
    e.x = min(e.x, scratch[t]);
    e.y = max(e.y, scratch[t]);
  }
  __syncthreads();
  return e;
}

extern "C" __global__ void rowStatistics(const int *in, int4 *out, int n) {
  __shared__ int scratch[64];
  const int *row = in + blockIdx.x * n;
  int sum = 0, v = row[threadIdx.x];
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += row[i];
  sum = blockSum(sum, scratch);
  int2 e = blockExtremes(v, scratch);
  int mean = sum / n;
  int above = blockSum(v > mean, scratch);
  if (threadIdx.x == 0) out[blockIdx.x] = make_int4(mean, e.x, e.y, above);
}

// Lists as an array of links; a link outside of it, or a ring, is told to the host and ends the kernel.
extern "C" __global__ void followLinks(const unsigned *next, unsigned *length, unsigned *fault, unsigned n) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
  while (at != 0) {
    if (at >= n || steps > n) {
      fault[0] = at;
      fault[1] = steps;
      __threadfence_system();
      __trap();
    }
    at = next[at];
    steps++;
  }
  length[blockIdx.x * blockDim.x + threadIdx.x] = steps;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(3 * 100, -1000, 1000);
  std::vector<int4> out(3);
  host.launch("", "rowStatistics", rowStatistics, 3, 64, 0, input("in", in), output("out", out), value(100));
  for (int r = 0; r < 3; r++) {
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += in[100 * r + i];
    host.check(out[r].x == sum / 100, "the mean of a row");
  }
  std::vector<unsigned> next(128), length(128), fault(2);
  auto pick = host.random<unsigned>(128, 0, 1 << 30);
  for (unsigned i = 1; i < 128; i++) next[i] = pick[i] % i;
  host.launch("links", "followLinks", followLinks, 2, 64, 0, input("next", next), output("length", length), output("fault", fault), value(128u));
}
#endif
