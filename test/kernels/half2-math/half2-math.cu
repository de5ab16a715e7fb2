// half precision: scalar and packed arithmetic, fused multiply-add, comparison, conversion
#include "../support/kernel.h"

#ifdef HOST
// f16 operands: the product and the sum are exact in double for the exponents used here.
static __half fusedHalf(__half a, __half b, __half c) { return __double2half(fma(double(__half2float(a)), double(__half2float(b)), double(__half2float(c)))); }
static __half2 fusedHalf2(__half2 a, __half2 b, __half2 c) {
  return __halves2half2(fusedHalf(__low2half(a), __low2half(b), __low2half(c)), fusedHalf(__high2half(a), __high2half(b), __high2half(c)));
}
#else
#define fusedHalf __hfma
#define fusedHalf2 __hfma2
#endif

extern "C" __global__ void halfScalar(const __half *a, const __half *b, __half *out, int *flags, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half x = a[i], y = b[i];
  out[i] = __hadd_rn(x, y);
  out[n + i] = __hmul_rn(x, y);
  out[2 * n + i] = __hsub_rn(y, x);
  out[3 * n + i] = fusedHalf(x, y, __float2half(0.375f));
  out[4 * n + i] = __float2half(__half2float(x) * 3.1f + 0.01f);
  out[5 * n + i] = __hneg(__habs(x));
  out[6 * n + i] = __int2half_rn(i * 37 - 1000);
  flags[i] = int(__hlt(x, y)) | int(__heq(x, x)) << 1 | int(__hge(x, __float2half(0))) << 2 | __half2int_rz(y) << 8;
}

extern "C" __global__ void halfPacked(const __half2 *a, const __half2 *b, __half2 *out, __half2 scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __half2 x = a[i], y = b[i], sum = __float2half2_rn(0.0f);
  out[i] = __hadd2_rn(x, y);
  out[n + i] = __hmul2_rn(x, scale);
  out[2 * n + i] = fusedHalf2(x, y, scale);
  for (int k = 0; k < 4; k++) sum = fusedHalf2(a[(i + k) % n], b[(i + 3 * k) % n], sum);
  out[3 * n + i] = sum;
  out[4 * n + i] = __lowhigh2highlow(__hsub2_rn(y, x));
  float2 f = __half22float2(x);
  out[5 * n + i] = __floats2half2_rn(f.y * 0.5f, f.x + 2.0f);
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<__half>(64, -16, 16), b = host.random<__half>(64, -16, 16);
  a[0] = __float2half(6e-8f);
  b[0] = __float2half(1.5f);
  a[1] = __float2half(65504);
  std::vector<__half> out(64 * 7);
  std::vector<int> flags(64);
  host.launch("", "halfScalar", halfScalar, 2, 32, 0, input("a", a), input("b", b), output("out", out), output("flags", flags), value(64));
  std::vector<__half2> p(48), q(48), packed(48 * 6);
  for (auto &v : p) v = __floats2half2_rn(float(host.random<float>(1, -4, 4)[0]), float(host.random<float>(1, -4, 4)[0]));
  for (auto &v : q) v = __floats2half2_rn(float(host.random<float>(1, -4, 4)[0]), float(host.random<float>(1, -4, 4)[0]));
  host.launch("packed", "halfPacked", halfPacked, 1, 48, 0, input("a", p), input("b", q), output("out", packed), value(__floats2half2_rn(0.3f, -1.7f)), value(48));
}
#endif
