// softmax and layer normalisation: row reductions by shuffles, exponentials, within a tolerance
#include "../support/kernel.h"

extern "C" __global__ void softmax(const float *in, float *out, int n) {
  const float *row = in + blockIdx.x * n;
  float top = -INFINITY, sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) top = fmaxf(top, row[i]);
  for (int d = 16; d > 0; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  for (int i = threadIdx.x; i < n; i += 32) sum += expf(row[i] - top);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  for (int i = threadIdx.x; i < n; i += 32) out[blockIdx.x * n + i] = expf(row[i] - top) / sum;
}

extern "C" __global__ void layerNorm(const float *in, const float *gain, float *out, int n) {
  __shared__ float sums[2][4];
  const float *row = in + blockIdx.x * n;
  int t = threadIdx.x, warp = t >> 5;
  float s = 0, q = 0;
  for (int i = t; i < n; i += blockDim.x) { s += row[i]; q = fmaf(row[i], row[i], q); }
  for (int d = 16; d > 0; d >>= 1) { s += __shfl_xor_sync(~0u, s, d); q += __shfl_xor_sync(~0u, q, d); }
  if ((t & 31) == 0) { sums[0][warp] = s; sums[1][warp] = q; }
  __syncthreads();
  s = sums[0][0] + sums[0][1] + sums[0][2] + sums[0][3];
  q = sums[1][0] + sums[1][1] + sums[1][2] + sums[1][3];
  float mean = s / n, var = fmaf(-mean, mean, q / n), scale = 1.0f / sqrtf(var + 1e-5f);
  for (int i = t; i < n; i += blockDim.x) out[blockIdx.x * n + i] = (row[i] - mean) * scale * gain[i];
}

#ifdef HOST
void launches(Host &host) {
  auto in = host.random<float>(4 * 90, -4, 4), gain = host.random<float>(150, 0.5, 1.5), rows = host.random<float>(450, -3, 3);
  std::vector<float> out(360), normal(450);
  host.launch("", "softmax", softmax, 4, 32, 0, input("in", in), output("out", out, 1e-5), value(90));
  host.launch("norm", "layerNorm", layerNorm, 3, 128, 0, input("in", rows), input("gain", gain), output("out", normal), value(150));
}
#endif
