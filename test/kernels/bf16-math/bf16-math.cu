// bfloat16: loads, conversion, arithmetic through f32, packed fused multiply-add
// needs sm_80
#include "../support/kernel.h"

#ifdef HOST
static __nv_bfloat16 fusedOne(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return __double2bfloat16(fma(double(__bfloat162float(a)), double(__bfloat162float(b)), double(__bfloat162float(c))));
}
static __nv_bfloat162 fused(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) {
  return __halves2bfloat162(fusedOne(__low2bfloat16(a), __low2bfloat16(b), __low2bfloat16(c)), fusedOne(__high2bfloat16(a), __high2bfloat16(b), __high2bfloat16(c)));
}
#else
#define fused __hfma2
#endif

extern "C" __global__ void bf16(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out, float *wide, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float x = __bfloat162float(a[i]), y = __bfloat162float(b[i]);
  wide[i] = fmaf(x, y, 1.0f);
  out[i] = __float2bfloat16(x + y);
  out[n + i] = __float2bfloat16_rz(x * y);
  out[2 * n + i] = __float2bfloat16_rn(x / (fabsf(y) + 1.0f));
}

extern "C" __global__ void bf16Packed(const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *out) {
  int i = threadIdx.x;
  __nv_bfloat162 x = a[i], y = b[i];
  __nv_bfloat162 s = fused(x, y, x);
  s = fused(s, y, __float2bfloat162_rn(-0.5f));
  out[i] = s;
}

#ifdef HOST
void launches(Host &host) {
  auto a = host.random<__nv_bfloat16>(64, -30, 30), b = host.random<__nv_bfloat16>(64, -30, 30);
  std::vector<__nv_bfloat16> out(192);
  std::vector<float> wide(64);
  host.launch("", "bf16", bf16, 2, 32, 0, input("a", a), input("b", b), output("out", out), output("wide", wide), value(64));
  std::vector<__nv_bfloat162> p(32), q(32), r(32);
  for (int i = 0; i < 32; i++) { p[i] = __halves2bfloat162(a[i], a[32 + i]); q[i] = __halves2bfloat162(b[i], b[32 + i]); }
  host.launch("packed", "bf16Packed", bf16Packed, 1, 32, 0, input("a", p), input("b", q), output("out", r));
}
#endif
