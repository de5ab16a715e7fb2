// shuffles: up, down, xor, indexed, with sub-warp widths, of 32- and 64-bit values
#include "../support/kernel.h"

extern "C" __global__ void shuffles(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  int v = in[i];
  out[i] = __shfl_sync(~0u, v, (lane * 7 + 3) & 31);
  out[n + i] = __shfl_up_sync(~0u, v, 3);
  out[2 * n + i] = __shfl_down_sync(~0u, v, 5);
  out[3 * n + i] = __shfl_xor_sync(~0u, v, 17);
  out[4 * n + i] = __shfl_sync(~0u, v, 2, 8) + __shfl_up_sync(~0u, v, 1, 4);
  out[5 * n + i] = __shfl_down_sync(~0u, v, 6, 16) - __shfl_xor_sync(~0u, v, 3, 8);
}

extern "C" __global__ void warpSum(const float *in, float *sums, double *wide) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  double w = in[i];
  for (int d = 1; d < 32; d <<= 1) w += __shfl_xor_sync(0xffffffffu, w, d);
  if ((threadIdx.x & 31) == 0) sums[i >> 5] = v;
  wide[i] = w;
}

// Half a warp each, under divergence, with its own mask.
extern "C" __global__ void halves(const int *in, int *out) {
  int t = threadIdx.x, v = in[t];
  if (t & 16) {
    for (int d = 8; d > 0; d >>= 1) v = max(v, __shfl_xor_sync(0xffff0000u, v, d));
  } else {
    for (int d = 1; d < 16; d <<= 1) { int u = __shfl_up_sync(0x0000ffffu, v, d, 16); if ((t & 15) >= d) v += u; }
  }
  out[t] = v;
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<int>(128, -1000000, 1000000);
  std::vector<int> out(128 * 6);
  host.launch("", "shuffles", shuffles, 2, 64, 0, input("in", in), output("out", out), value(128));
  auto f = host.random<float>(128, -8, 8);
  std::vector<float> sums(4);
  std::vector<double> wide(128);
  host.launch("sum", "warpSum", warpSum, 1, 128, 0, input("in", f), output("sums", sums), output("wide", wide));
  std::vector<int> h(64);
  host.launch("halves", "halves", halves, 1, 64, 0, input("in", in), output("out", h));
}
#endif
