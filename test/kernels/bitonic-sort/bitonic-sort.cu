// bitonic sort of keys with values in shared memory; an odd-even network in registers
#include "../support/kernel.h"

extern "C" __global__ void bitonic(unsigned *keys, unsigned short *values, int n) {
  __shared__ unsigned k[256];
  __shared__ unsigned short v[256];
  int t = threadIdx.x;
  for (int i = t; i < 256; i += blockDim.x) { k[i] = i < n ? keys[i] : ~0u; v[i] = i < n ? values[i] : 0; }
  for (int size = 2; size <= 256; size <<= 1)
    for (int stride = size >> 1; stride > 0; stride >>= 1) {
      __syncthreads();
      int i = 2 * t - (t & (stride - 1)), j = i + stride;
      bool up = (i & size) == 0;
      if ((k[i] > k[j]) == up) {
        unsigned a = k[i]; k[i] = k[j]; k[j] = a;
        unsigned short b = v[i]; v[i] = v[j]; v[j] = b;
      }
    }
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) { keys[i] = k[i]; values[i] = v[i]; }
}

extern "C" __global__ void network(float *data) {
  float r[8];
  float4 *p = (float4 *)data + 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  float4 a = p[0], b = p[1];
  r[0] = a.x; r[1] = a.y; r[2] = a.z; r[3] = a.w; r[4] = b.x; r[5] = b.y; r[6] = b.z; r[7] = b.w;
#pragma unroll
  for (int s = 0; s < 8; s++)
#pragma unroll
    for (int i = s & 1; i + 1 < 8; i += 2) {
      float lo = fminf(r[i], r[i + 1]), hi = fmaxf(r[i], r[i + 1]);
      r[i] = lo;
      r[i + 1] = hi;
    }
  p[0] = make_float4(r[0], r[1], r[2], r[3]);
  p[1] = make_float4(r[4], r[5], r[6], r[7]);
}

#ifdef HOST
void launches(Host &host) {
  auto keys = host.bits<unsigned>(250);
  std::vector<unsigned short> values(250);
  for (int i = 0; i < 250; i++) values[i] = (unsigned short)i;
  host.launch("", "bitonic", bitonic, 1, 128, 0, inout("keys", keys), inout("values", values), value(250));
  for (int i = 1; i < 250; i++) host.check(keys[i - 1] <= keys[i], "sorted");
  auto f = host.random<float>(8 * 64, -9, 9);
  host.launch("network", "network", network, 2, 32, 0, inout("data", f));
}
#endif
