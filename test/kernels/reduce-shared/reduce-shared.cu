// shared-memory tree reductions: sum, minimum with its index, and a second stage by the last block to finish
#include "../support/kernel.h"

extern "C" __global__ void reduceSum(const int *in, int *out, int n) {
  __shared__ int part[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
  int v = i < n ? in[i] : 0;
  if (i + 128 < n) v += in[i + 128];
  part[t] = v;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void argMin(const float *in, float *best, int *where, int n) {
  DYNAMIC_SHARED(float, value);
  int *index = (int *)(value + blockDim.x);
  int t = threadIdx.x;
  float v = INFINITY;
  int at = -1;
  for (int i = t; i < n; i += blockDim.x)
    if (in[i] < v) { v = in[i]; at = i; }
  value[t] = v;
  index[t] = at;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s && (value[t + s] < value[t] || (value[t + s] == value[t] && index[t + s] < index[t]))) {
      value[t] = value[t + s];
      index[t] = index[t + s];
    }
    __syncthreads();
  }
  if (t == 0) { *best = value[0]; *where = index[0]; }
}

extern "C" __global__ void lastBlock(const unsigned *in, unsigned *partial, unsigned *ticket, unsigned *total) {
  __shared__ unsigned sums[64];
  __shared__ bool last;
  int t = threadIdx.x;
  sums[t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (t < s) sums[t] += sums[t + s];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    unsigned sum = 0;
    for (unsigned i = t; i < gridDim.x; i += 64) sum += ((volatile unsigned *)partial)[i];
    atomicAdd(total, sum);
  }
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(1000, -100000, 100000);
  std::vector<int> out(4);
  host.launch("", "reduceSum", reduceSum, 4, 128, 0, input("in", in), output("out", out), value(1000));
  int sum = 0;
  for (int v : in) sum += v;
  host.check(sum == out[0] + out[1] + out[2] + out[3], "the blocks' sums add up");
  auto f = host.random<float>(700, -50, 50);
  std::vector<float> best(1);
  std::vector<int> where(1);
  host.launch("argmin", "argMin", argMin, 1, 64, 64 * 8, input("in", f), output("best", best), output("where", where), value(700));
  auto u = host.random<unsigned>(640, 0, 1e6);
  std::vector<unsigned> partial(10), ticket(1), total(1);
  host.launch("last", "lastBlock", lastBlock, 10, 64, 0, input("in", u), output("partial", partial), output("ticket", ticket), output("total", total));
}
#endif
