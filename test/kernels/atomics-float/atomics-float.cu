// floating-point atomics: add in f32 and f64, maximum by compare-and-swap, with sums that are exact in any order
#include "../support/kernel.h"

extern "C" __global__ void floatAtomics(const float *in, float *sum, double *wide, float *largest, float *bins) {
  __shared__ float local;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) local = 0;
  __syncthreads();
  float v = in[i];
  atomicAdd(&local, v);
  atomicAdd(wide, (double)v * 0.125);
  atomicAdd(&bins[int(fabsf(v)) & 7], 0.5f);
  int old = __float_as_int(*(volatile float *)largest);
  while (__int_as_float(old) < v) {
    int seen = atomicCAS((int *)largest, old, __float_as_int(v));
    if (seen == old) break;
    old = seen;
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(sum, local);
}

#ifdef HOST
void launches(Host &host) {
  // Quarters below 1000: every partial sum is exact.
  std::vector<float> in(192), sum = {10}, largest = {-5000}, bins(8);
  for (auto &v : in) v = float(int(host.next() % 8000) - 4000) * 0.25f;
  std::vector<double> wide = {0.5};
  host.launch("", "floatAtomics", floatAtomics, 3, 64, 0, input("in", in), inout("sum", sum), inout("wide", wide), inout("largest", largest), output("bins", bins));
  float total = 10;
  for (float v : in) total += v;
  host.check(sum[0] == total, "the sum is exact");
}
#endif
